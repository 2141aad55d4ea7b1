"""Runs each scenario on a lake of ours and on one whose catalog is a DuckDB file, and compares what every statement answers.

A scenario is SQL. In comments that stand alone, `-- connection NAME` goes on in another connection of the same process,
`-- restart` in a new process's place: all connections are closed, and a new DuckDB begins. `-- unordered` lets the rows of the
next statement come in any order, `-- differs` lets its answer differ: only whether it fails is compared.
"""

import pathlib
import re

import duckdb

from lakes import Lake, connect

SCENARIOS = pathlib.Path(__file__).parent / "scenarios"
DIRECTIVE = re.compile(r"^-- (connection \w+|restart|unordered|differs)$", re.MULTILINE)


def steps(text):
    """The directives and statements of a scenario, in order."""
    at = 0
    for directive in DIRECTIVE.finditer(text):
        yield from statements(text[at : directive.start()])
        yield "directive", directive.group(1)
        at = directive.end()
    yield from statements(text[at:])


def statements(text):
    for statement in duckdb.extract_statements(text):
        yield "statement", statement.query.strip()


class Run:
    """A scenario on one lake."""

    def __init__(self, lake):
        self.lake = lake
        self.connections = {}
        self.restart()

    def restart(self):
        self.close()
        self.connections = {"first": connect()}
        self.use("first")

    def use(self, name):
        if name not in self.connections:
            self.connections[name] = self.connections["first"].cursor()
        self.current = self.connections[name]

    def close(self):
        for connection in self.connections.values():
            connection.close()

    def answer(self, sql):
        """The rows, or the error."""
        try:
            result = self.current.execute(self.lake.fill_in(sql))
            return "rows", result.fetchall() if result else []
        except duckdb.Error as error:
            return "error", self.lake.hide_paths(str(error))


def compare(text, folder):
    """The statements whose answers differ, with the answers."""
    lakes = [Lake(kind, folder / kind) for kind in ("lakelock", "duckdb")]
    for lake in lakes:
        lake.folder.mkdir()
    runs = [Run(lake) for lake in lakes]
    modifiers = set()
    count = 0
    for kind, step in steps(text):
        if kind == "directive":
            for run in runs:
                if step == "restart":
                    run.restart()
                elif step.startswith("connection "):
                    run.use(step.removeprefix("connection "))
                else:
                    modifiers.add(step)
            continue
        ours, theirs = (run.answer(step) for run in runs)
        if "differs" in modifiers:
            ours, theirs = ours[0], theirs[0]
        elif "unordered" in modifiers:
            ours, theirs = ((what, sorted(map(repr, answer))) for what, answer in (ours, theirs))
        # By their texts, as NaN is no equal of itself.
        if repr(ours) != repr(theirs):
            yield step, ours, theirs
        modifiers.clear()
        count += 1
    for run in runs:
        run.close()
    if count == 0:
        yield "(no statements)", None, None


def check(path, folder):
    """Raises what differs in a scenario."""
    differences = list(compare(path.read_text(), folder))
    texts = (f"{statement}\n  lakelock: {ours}\n  duckdb:   {theirs}" for statement, ours, theirs in differences)
    assert not differences, "answers differ\n" + "\n".join(texts)
