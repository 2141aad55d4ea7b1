"""How results are written down in sqllogictest files, and compared with what is written there."""

import hashlib
import math
import re

import duckdb

#: Types whose values Python writes as DuckDB does.
PLAIN_TYPES = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "VARCHAR",
    "BOOLEAN",
}  # fmt: skip


def fetch(connection):
    """The rows of the last statement, each value as DuckDB's text of it, and the names of the types."""
    types = [str(column[1]) for column in connection.description or []]
    if all(name in PLAIN_TYPES for name in types):
        return [[text_of(value) for value in row] for row in connection.fetchall()], types
    result = connection.to_arrow_table()
    names = [f"c{number}" for number in range(len(types))]
    result = result.rename_columns(names)
    with duckdb.connect() as other:
        other.execute("SET threads = 1")
        other.register("result", result)
        columns = ", ".join(f"CAST({name} AS VARCHAR)" for name in names)
        rows = other.execute(f"SELECT {columns} FROM result").fetchall()
    return [[text_of(value) for value in row] for row in rows], types


def text_of(value):
    if value is None:
        return "NULL"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.replace("\0", "\\0") or "(empty)"


def difference(rows, types, command, labels):
    """What differs from what is expected; None if nothing does."""
    words = command.words[2:]
    order = words[0] if words else "nosort"
    label = words[1] if len(words) > 1 else None
    if len(command.words) > 1 and len(command.words[1]) != len(types):
        return f"{len(types)} columns, not {len(command.words[1])}"
    expected = [line.rstrip("\r") for line in command.expected or []]
    if order == "rowsort":
        rows = sorted(rows)
    elif order == "valuesort":
        rows = [[value] for value in sorted(value for row in rows for value in row)]
    if label is not None:
        digest = digest_of(rows)
        if labels.setdefault(label, digest) != digest:
            return f"another answer than before for the label {label}"
    if command.expected is None:
        return None
    hashed = re.fullmatch(r"(\d+) values hashing to (\w+)", expected[0]) if len(expected) == 1 else None
    if hashed:
        count = sum(map(len, rows))
        same = (str(count), digest_of(rows)) == hashed.groups()
        return None if same else f"{count} values hashing to {digest_of(rows)}, not {expected[0]}"
    if order == "valuesort":
        wanted = [[value] for line in expected for value in line.split("\t")]
        types = [None]
    elif len(types) > 1 and expected and all(len(line.split("\t")) == 1 for line in expected):
        wanted = [expected[at : at + len(types)] for at in range(0, len(expected), len(types))]
    elif len(types) == 1:
        wanted = [[line] for line in expected]
    else:
        wanted = [line.split("\t") for line in expected]
    if order == "rowsort":
        wanted.sort()
    same = len(rows) == len(wanted) and all(
        len(row) == len(want) and all(map(equal, row, want, types)) for row, want in zip(rows, wanted)
    )
    if same:
        return None
    return f"expected {len(wanted)} rows:\n{show(wanted)}\nthere are {len(rows)}:\n{show(rows)}"


def digest_of(rows):
    return hashlib.md5("".join(value + "\n" for row in rows for value in row).encode()).hexdigest()


def show(rows):
    return "\n".join("    " + "\t".join(row) for row in rows[:40])


def matches(text, pattern):
    """Whether a text is what a pattern says; None if the pattern is none."""
    for prefix, wanted in (("<REGEX>:", True), ("<!REGEX>:", False)):
        if pattern.startswith(prefix):
            return bool(re.search(pattern.removeprefix(prefix), text, re.DOTALL)) == wanted
    return None


def equal(value, want, type_name):
    by_pattern = matches(value, want)
    if by_pattern is not None:
        return by_pattern
    if value == want:
        return True
    if type_name == "BOOLEAN":
        return {"true": "1", "false": "0"}.get(value, value) == {"true": "1", "false": "0"}.get(want.lower(), want)
    try:
        left, right = float(value), float(want)
    except ValueError:
        return False
    if type_name in ("FLOAT", "DOUBLE"):
        return math.isclose(left, right, rel_tol=0.01) or (math.isnan(left) and math.isnan(right))
    return left == right and (type_name or "").split("(")[0] in PLAIN_TYPES | {"DECIMAL"} - {"VARCHAR"}
