#!/usr/bin/env python3
"""Runs sqllogictest files, such as DuckLake's own, on a catalog of one of several kinds.

    duckdb/tests/sqllogic.py --catalog lakelock FOLDER

FOLDER has `*.test` files, in folders of its own or not. What they attach from the environment variable DUCKLAKE_CONNECTION, or
by a path, becomes a catalog of the chosen kind; each file has a folder of its own for it. LAKELOCK_EXTENSION names the built
extension. Ends with `N passed, N failed, N skipped`; skipped is what needs an extension or files that are not here.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

try:
    import duckdb
except ModuleNotFoundError:  # Of the Python that has DuckDB.
    home = subprocess.check_output([pathlib.Path(__file__).parents[2] / "interop/duckdb/setup.sh"], text=True).strip()
    os.execv(f"{home}/bin/python", [f"{home}/bin/python", *sys.argv])

import logic_file
import logic_values
from lakes import connect

#: What `require` may ask for without anything to be done.
PRESENT = {
    "ducklake", "parquet", "icu", "json", "httpfs", "core_functions", "lakelock", "notwindows", "notmingw", "skip_reload", "64bit",
    "notmusl", "no_extension_autoloading", "noforcestorage", "allow_unsigned_extensions", "noalternativeverify", "longdouble",
}  # fmt: skip
#: A path or file name behind `ducklake:`, not another catalog's type.
ATTACHED_PATH = re.compile(r"'ducklake:(?!\w+:)(?=[^']*[./])", re.IGNORECASE)


class Skip(Exception):
    """The file asks for what is not here."""


class Failure(Exception):
    """A command has not answered what is expected."""


class Database:
    """One DuckDB at a time, and the connections that the file names."""

    def __init__(self):
        self.connections = {}
        self.path = ":memory:"
        self.restart()

    def restart(self):
        self.close()
        self.main = connect(self.path)

    def close(self):
        for connection in self.connections.values():
            connection.close()
        self.connections = {}
        with contextlib.suppress(AttributeError):
            self.main.close()

    def connection(self, name):
        if name is None:
            return self.main
        if name not in self.connections:
            self.connections[name] = self.main.cursor()
        return self.connections[name]


class Run:
    """A file on one kind of catalog."""

    def __init__(self, path, kind, folder):
        self.kind = kind
        self.variables = {
            "TEST_DIR": str(folder),
            "BASE_TEST_NAME": path.with_suffix("").name,
            "TEST_NAME": path.with_suffix("").name,
            "UUID": uuid.uuid4().hex,
        }
        catalog = f"{folder}/{path.stem}.db"
        self.variables["DUCKLAKE_CONNECTION"] = {
            "duckdb": catalog,
            "lakelock": f"lakelock:{catalog}",
            "sqlite": f"sqlite:{catalog}",
            "postgres": f"postgres:{os.environ.get('LAKELOCK_POSTGRES', '')}",
        }[kind]
        self.database = Database()
        self.labels = {}
        self.skipping = False

    def run(self, commands, variables, own=None):
        """Runs commands; `own` is the connection of a loop's thread."""
        for command in commands:
            try:
                if not self.left_out(command):
                    self.step(command, variables, own)
            except (Failure, duckdb.Error, ValueError) as error:
                if isinstance(error, Failure) and error.args[0].startswith("line "):
                    raise
                raise Failure(f"line {command.line}: {' '.join(command.words)}\n{command.sql}\n{error}") from None

    def left_out(self, command):
        word = command.words[0]
        if word == "mode":
            self.skipping = {"skip": True, "unskip": False}.get(command.words[1], self.skipping)
            return True
        # Those of other kinds are about a loop's variable.
        systems = [condition for condition in command.conditions if "=" not in condition[1]]
        return self.skipping or not all((word == "onlyif") == (system == "duckdb") for word, system, *_ in systems)

    def step(self, command, variables, own):
        words = [logic_file.substitute(word, variables) for word in command.words]
        match words[0]:
            case "statement" | "query":
                self.execute(command, words, variables, own)
            case "loop" | "foreach":
                for value in logic_file.values_of_loop(words):
                    self.run(command.body, variables | {words[1]: value}, own)
            case "concurrentloop" | "concurrentforeach":
                self.run_beside(command, words, variables)
            case "require":
                self.require(words)
            case "require-env" | "test-env":
                self.environment(words, variables)
            case "load":
                self.database.path = words[1] if len(words) > 1 else ":memory:"
                self.database.restart()
            case "restart":
                self.database.restart()
            case "reconnect":
                self.database.main = self.database.main.cursor()
            case "sleep":
                unit = {"milliseconds": 0.001, "millisecond": 0.001, "seconds": 1, "second": 1}[words[2]]
                time.sleep(int(words[1]) * unit)
            case "unzip" | "template" | "include":
                raise Skip(f"{words[0]} needs files that are not here")
            case "halt":
                raise Skip("halted")
            case "set" | "hash-threshold" | "tags" | "continue" | "reset":
                pass
            case other:
                raise Failure(f"no command {other}")

    def require(self, words):
        if words[1] == "notsqlite":
            if self.kind == "sqlite":
                raise Skip("not for SQLite")
        elif words[1] == "vector_size":
            pass
        elif words[1] not in PRESENT:
            raise Skip(f"needs {words[1]}")

    def environment(self, words, variables):
        name = words[1]
        if words[0] == "require-env" and name not in variables:
            raise Skip(f"needs the variable {name}")
        if name not in self.variables and len(words) > 2:
            value = logic_file.substitute(" ".join(words[2:]), variables)
            self.variables[name] = variables[name] = value

    def run_beside(self, command, words, variables):
        """A loop whose turns run at the same time, each in a connection of its own."""
        values = logic_file.values_of_loop(words)
        start = threading.Barrier(len(values))

        def turn(value):
            own = self.database.main.cursor()
            start.wait()
            try:
                self.run(command.body, variables | {words[1]: value}, own)
            finally:
                own.close()

        with concurrent.futures.ThreadPoolExecutor(len(values)) as pool:
            for done in [pool.submit(turn, value) for value in values]:
                done.result()

    def execute(self, command, words, variables, own):
        sql = logic_file.substitute(command.sql, variables)
        if self.kind != "duckdb":
            sql = ATTACHED_PATH.sub(f"'ducklake:{self.kind}:", sql)
        expected = command.expected and [logic_file.substitute(line, variables) for line in command.expected]
        if words[0] == "statement":
            name = words[2] if len(words) > 2 else None
        else:
            name = words[3] if len(words) > 3 else None
            if len(words) > 2 and words[2] not in ("nosort", "rowsort", "valuesort"):
                name = words[2]
        connection = own if own is not None and name is None else self.database.connection(name)
        rows = types = failure = None
        try:
            for statement in connection.extract_statements(sql):
                connection.execute(statement)
                if words[0] == "query":
                    rows, types = logic_values.fetch(connection)
                elif connection.description:
                    connection.fetchall()
        except duckdb.Error as error:
            failure = str(error)
        if words[0] == "query":
            if failure is not None:
                raise Failure(failure)
            adjusted = logic_file.Command(command.line, [word for word in words if word != name], sql, expected)
            different = logic_values.difference(rows, types, adjusted, self.labels)
            if different:
                raise Failure(different)
        else:
            self.check_statement(words[1], failure, expected)

    def check_statement(self, outcome, failure, expected):
        if outcome == "ok":
            if failure is not None:
                raise Failure(failure)
            return
        if failure is None:
            if outcome == "error":
                raise Failure("it did not fail")
            return
        message = "\n".join(expected or []).strip()
        by_pattern = logic_values.matches(failure, message)
        if not (message in failure if by_pattern is None else by_pattern):
            raise Failure(f"another error than expected:\n{failure}")


def run_file(path, kind):
    """`passed`, `failed` or `skipped`, and why."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run = None
        here = os.getcwd()
        try:
            # Some files name others without a folder.
            os.chdir(folder)
            run = Run(path, kind, pathlib.Path(folder))
            run.run(logic_file.parse(path.read_text()), run.variables)
        except Skip as skip:
            return "skipped", str(skip)
        except Failure as failure:
            return "failed", str(failure)
        except Exception:  # Whatever it is, the other files run.
            return "failed", traceback.format_exc()
        finally:
            os.chdir(here)
            if run:
                run.database.close()
    return "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", choices=["lakelock", "sqlite", "duckdb", "postgres"], default="lakelock")
    parser.add_argument("--verbose", action="store_true", help="say why, also of what is skipped")
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="FOLDER", help="a folder of tests, or a test")
    arguments = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for root in arguments.paths:
        for path in sorted(root.rglob("*.test*")) if root.is_dir() else [root]:
            began = time.monotonic()
            outcome, why = run_file(path.resolve(), arguments.catalog)
            counts[outcome] += 1
            print(f"{outcome} {path} ({time.monotonic() - began:.1f} s)", flush=True)
            if why and (outcome == "failed" or arguments.verbose):
                print("\n".join("  " + line for line in why.splitlines()), flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
