"""Reads sqllogictest files, in the dialect of DuckDB's own tests: https://duckdb.org/docs/stable/dev/sqllogictest/intro."""

import dataclasses
import re

LOOPS = {"loop", "foreach", "concurrentloop", "concurrentforeach"}
FOREACH_GROUPS = {
    "<compression>": ["none", "uncompressed", "rle", "bitpacking", "dictionary", "fsst", "alp", "alprd"],
    "<integral>": ["bool", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint"],
    "<signed>": ["tinyint", "smallint", "integer", "bigint", "hugeint"],
    "<unsigned>": ["utinyint", "usmallint", "uinteger", "ubigint"],
    "<numeric>": [
        "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "float", "double",
    ],
}  # fmt: skip


@dataclasses.dataclass
class Command:
    """A command of a file: its words, the SQL below, and the lines below `----`, which are None without one."""

    line: int
    words: list
    sql: str = ""
    expected: list | None = None
    conditions: list = dataclasses.field(default_factory=list)
    #: What a loop repeats.
    body: list = dataclasses.field(default_factory=list)


def parse(text):
    """The commands of a file; those of loops within the loop."""
    lines = text.splitlines()
    stack = [Command(0, ["loop"])]
    conditions = []
    at = 0
    while at < len(lines):
        words = lines[at].split()
        at += 1
        if not words or words[0].startswith("#"):
            continue
        if words[0] in ("skipif", "onlyif"):
            conditions.append(words)
            continue
        command = Command(at, words, conditions=conditions)
        conditions = []
        if words[0] in ("statement", "query"):
            at = read_sql(lines, at, command)
        if words[0] == "endloop":
            stack.pop()
            continue
        stack[-1].body.append(command)
        if words[0] in LOOPS:
            stack.append(command)
    if len(stack) != 1:
        raise ValueError(f"the loop of line {stack[-1].line} has no end")
    return stack[0].body


def read_sql(lines, at, command):
    """Reads what belongs to a statement or a query, and returns the line behind it."""
    sql = []
    while at < len(lines) and lines[at].strip() and lines[at].strip() != "----":
        sql.append(lines[at])
        at += 1
    command.sql = "\n".join(sql)
    if at < len(lines) and lines[at].strip() == "----":
        at += 1
        command.expected = []
        # Messages may have empty lines in them; they end with the next command.
        while at < len(lines) and lines[at] != "":
            command.expected.append(lines[at])
            at += 1
    return at


def values_of_loop(words):
    """The values that a loop's variable takes."""
    if words[0] in ("loop", "concurrentloop"):
        return [str(value) for value in range(int(words[2]), int(words[3]))]
    values = []
    for word in words[2:]:
        if word.startswith("!"):
            values.remove(word[1:])
        else:
            values.extend(FOREACH_GROUPS.get(word.lower(), [word]))
    return values


def substitute(text, variables):
    """Puts variables in: `${name}`, `{name}`, and DuckDB's `__TEST_DIR__`."""
    for name, value in variables.items():
        text = text.replace("${" + name + "}", value).replace("{" + name + "}", value)
    return re.sub("__TEST_DIR__", lambda _: variables["TEST_DIR"], text)
