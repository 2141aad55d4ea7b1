"""Lakes that DuckDB writes, read without DuckDB: `lakelock sql --ducklake` against DuckDB's own answer, table by table, at every
snapshot that is kept.
"""

import base64
import contextlib
import decimal
import functools
import json
import math
import os
import pathlib
import re
import sqlite3
import subprocess
import time

import duckdb

import lakes
import servers

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("lakelock", "sqlite", "duckdb", "postgres")


class Outside(lakes.Lake):
    """A lake, and how both sides reach it."""

    server = None

    @property
    def catalog(self):
        return f"postgres:{self.server}" if self.kind == "postgres" else super().catalog

    def connect(self, options=""):
        self.folder.mkdir(exist_ok=True)
        connection = lakes.connect()
        if self.kind == "postgres":
            connection.execute(f"LOAD '{lakes.extension_file('postgres_scanner')}'")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"ATTACH 'ducklake:{self.catalog}' AS lake (DATA_PATH '{self.data_path}'{options})")
        connection.execute("USE lake")
        return connection

    def run(self, *arguments, expect=0):
        """What the program prints, or complains of."""
        command = [os.environ["LAKELOCK"], *arguments]
        # Somewhere without a configuration.
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, env=environment())
        assert done.returncode == expect, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stderr if expect else done.stdout

    def sql(self, statement, *arguments, expect=0):
        arguments = ("--ducklake", f"ducklake:{self.catalog}", *arguments)
        return self.run("sql", *arguments, "--output", "json", "--quiet", statement, expect=expect)


def environment():
    return {**os.environ, "XDG_CONFIG_HOME": "/nonexistent", "DUCKDB_CLI": str(duckdb_client())}


def duckdb_client():
    return pathlib.Path(lakes.sysconfig.get_path("scripts")) / "duckdb"


TEMPORAL = ("date", "time", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone")
WHOLE = re.compile("u?(tiny|small|big|huge)int|u?integer")


def canonical(value, type_):
    """A value of either side in one form, by DuckDB's type of it."""
    if value is None:
        return None
    kind = type_.id
    if kind == "list":
        return [canonical(element, type_.child) for element in value]
    if kind == "map":
        of_key, of_value = (child for _, child in type_.children)
        pairs = value.items() if isinstance(value, dict) else value
        return sorted(([canonical(k, of_key), canonical(v, of_value)] for k, v in pairs), key=repr)
    if kind == "struct":
        return {name: canonical(value[name], child) for name, child in type_.children}
    if WHOLE.fullmatch(kind):
        return int(value)
    if kind in ("float", "double"):
        number = float(value)
        return "NaN" if math.isnan(number) else repr(number)
    if kind == "decimal":
        return str(decimal.Decimal(value).normalize())
    if kind == "blob":
        return value if isinstance(value, str) else value.hex()
    if kind in TEMPORAL:
        return moment(str(value))
    return value if isinstance(value, bool) else str(value)


def moment(text):
    """A date or time as ISO 8601 has it, without what is zero at its end."""
    if found := re.match(r"(\d+)-(\d+-\d+) \(BC\)(.*)", text):
        text = f"-{int(found[1]) - 1:04}-{found[2]}{found[3]}"
    text = re.sub(r"^\+(?=\d)|(\+00:00|\+00)$", "", text.replace("T", " "))
    return re.sub(r"\.?0+$", "", text) if "." in text else text


def answers_of_duckdb(connection, ask):
    """The rows of a table or a version of it, in one form."""
    types = connection.sql(f"FROM {ask}").types
    names = connection.sql(f"FROM {ask}").columns
    quoted = ('"' + name.replace('"', '""') + '"' for name in names)
    columns = [f"CAST({name} AS VARCHAR)" if type_.id in TEMPORAL else name for name, type_ in zip(quoted, types)]
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM {ask}").fetchall()
    return names, types, sorted(repr([canonical(v, t) for v, t in zip(row, types)]) for row in rows)


def versions(connection, every=1):
    """Every table at snapshots that are kept, and now: how DuckDB and how Lakelock is asked for it."""
    snapshots = [row[0] for row in connection.execute("SELECT snapshot_id FROM ducklake_snapshots('lake')").fetchall()]
    tables = """SELECT DISTINCT schema_name, table_name FROM __ducklake_metadata_lake.ducklake_table
                JOIN __ducklake_metadata_lake.ducklake_schema USING (schema_id)"""
    for schema, table in connection.execute(tables).fetchall():
        name = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table))
        for snapshot in [None, *snapshots[::every]]:
            if snapshot is None:
                yield name, name
            else:
                yield f"{name} AT (VERSION => {snapshot})", f"{name} VERSION AS OF {snapshot}"


def compare(lake, connection, least, every=1):
    """Asks both for everything, and raises what differs; at least so many answers must be equal."""
    expected = []
    for ask, ask_lakelock in versions(connection, every):
        try:
            expected.append((ask_lakelock, *answers_of_duckdb(connection, ask)))
        except duckdb.CatalogException:
            continue  # It is not there in this snapshot.
    # A DuckDB file can only be opened once nobody has it open to write.
    connection.close()
    statements = (f"SELECT {n} AS marker; SELECT * FROM {ask}" for n, (ask, *_) in enumerate(expected))
    found = [[] for _ in expected]
    at = None
    for line in lake.sql(";\n".join(statements)).splitlines():
        row = json.loads(line, parse_float=str)
        if list(row) == ["marker"]:
            at = row["marker"]
        else:
            found[at].append(row)
    differences = []
    for (ask, names, types, rows), answers in zip(expected, found):
        in_one_form = sorted(repr([canonical(row[n], t) for n, t in zip(names, types)]) for row in answers)
        if in_one_form != rows:
            missing = [row for row in rows if row not in in_one_form][:5]
            more = [row for row in in_one_form if row not in rows][:5]
            differences.append(f"{ask}: {len(rows)} rows, not {len(answers)}\n  missing {missing}\n  instead {more}")
    assert not differences, "answers differ\n" + "\n".join(differences)
    assert len(expected) >= least, f"only {len(expected)} answers were compared"


EVERYDAY = """
CREATE TABLE t (a INTEGER, b VARCHAR);
INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, '');
INSERT INTO t SELECT i, 'row ' || i FROM range(100, 400) r(i);
DELETE FROM t WHERE a = 2;
DELETE FROM t WHERE a % 7 = 0;
UPDATE t SET b = 'changed' WHERE a % 50 = 1;
INSERT INTO t SELECT i, repeat('x', i % 20) FROM range(1000, 1050) r(i);
DELETE FROM t WHERE a % 11 = 3;
CREATE TABLE empty (x DOUBLE);
CREATE TABLE gone AS SELECT 1 AS x;
DROP TABLE gone;
BEGIN;
INSERT INTO t VALUES (-1, 'in');
DELETE FROM t WHERE a > 1040;
COMMIT;
CREATE SCHEMA "Other one";
CREATE TABLE "Other one"."Mixed ""case" ("Column A" INTEGER, "b" DATE);
INSERT INTO "Other one"."Mixed ""case" VALUES (1, '2024-02-29');
"""

EVOLUTION = """
CREATE TABLE t (a TINYINT, b VARCHAR, s STRUCT(x INTEGER, y VARCHAR), l STRUCT(p SMALLINT)[], m MAP(VARCHAR, STRUCT(v INTEGER)));
INSERT INTO t VALUES (1, 'one', {x: 1, y: 'y1'}, [{p: 1}, NULL], MAP {'k': {v: 1}}), (2, NULL, NULL, NULL, NULL);
INSERT INTO t SELECT i, 'b' || i, {x: i, y: 'y' || i}, [{p: i}], MAP {'k' || i: {v: i}} FROM range(3, 60) r(i);
ALTER TABLE t RENAME COLUMN a TO aa;
ALTER TABLE t ALTER COLUMN aa TYPE INTEGER;
INSERT INTO t SELECT i * 1000, 'c', {x: i, y: NULL}, [], MAP {} FROM range(60, 90) r(i);
ALTER TABLE t ADD COLUMN s.z INTEGER DEFAULT 5;
ALTER TABLE t RENAME COLUMN s.x TO xx;
ALTER TABLE t DROP COLUMN s.y;
INSERT INTO t SELECT i * 1000, 'c', {xx: i, z: -i}, [NULL], NULL FROM range(90, 120) r(i);
ALTER TABLE t DROP COLUMN b;
ALTER TABLE t ADD COLUMN b DATE DEFAULT '2024-01-01';
ALTER TABLE t ADD COLUMN f FLOAT DEFAULT 1.5;
INSERT INTO t (aa) VALUES (7);
ALTER TABLE t ALTER COLUMN f TYPE DOUBLE;
ALTER TABLE t ALTER COLUMN aa TYPE BIGINT;
INSERT INTO t (aa, f) SELECT 10000000000 + i, i / 3 FROM range(40) r(i);
UPDATE t SET b = NULL WHERE aa % 3 = 0;
DELETE FROM t WHERE aa % 5 = 0;
ALTER TABLE t RENAME TO u;
"""

TYPES = """
CREATE TABLE t (bo BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INTEGER, i64 BIGINT, i128 HUGEINT, u8 UTINYINT, u16 USMALLINT,
    u32 UINTEGER, u64 UBIGINT, u128 UHUGEINT, f FLOAT, d DOUBLE, d4 DECIMAL(4, 1), d9 DECIMAL(9, 3), d18 DECIMAL(18, 2),
    d38 DECIMAL(38, 5), ti TIME, da DATE, ts TIMESTAMP, ts_s TIMESTAMP_S, ts_ms TIMESTAMP_MS, ts_ns TIMESTAMP_NS, tz TIMESTAMPTZ,
    v VARCHAR, bl BLOB, u UUID, js JSON);
INSERT INTO t VALUES (true, -128, -32768, -2147483648, -9223372036854775808, -1000000000000000000000, 255, 65535, 4294967295,
    18446744073709551615, 1180591620717411303424, 'nan', '-inf', -99.9, 123456.789, -1.23, 123456789012345678901234567890123.45678,
    '23:59:59.999999', '0044-03-15 (BC)', '2262-01-01 00:00:00.000001', '1969-12-31 23:59:59', '1999-01-01 00:00:00.123',
    '1999-01-01 00:00:00.123456789', '2024-06-01 12:00:00+02', 'text', '\\x00\\xFF''a'::BLOB, '303c37aa-0475-4a7b-bef6-c60856da42f4',
    '{"a": [1, null]}');
INSERT INTO t (i32) VALUES (1);
INSERT INTO t (f, d, da, ti, v, bl) VALUES ('-0.0', 1e-300, '9999-12-31', '00:00:00', '', ''::BLOB);
INSERT INTO t SELECT i % 2 = 0, i % 100, i, i, i, i * 10000000000, i % 200, i, i, i, i, i / 7, i / 7, i % 99, i, i, i, '01:02:03',
    DATE '2020-01-01' + i::INTEGER, TIMESTAMP '2020-01-01' + INTERVAL 1 SECOND * i, TIMESTAMP_S '2020-01-01 00:00:01',
    TIMESTAMP_MS '2020-01-01 00:00:00.001', TIMESTAMP_NS '2020-01-01 00:00:00.000000001', '2020-01-01 00:00:00+00', 'v' || i,
    encode('b' || i), '00000000-0000-0000-0000-00000000000' || (i % 10), '{}' FROM range(40) r(i);
CREATE TABLE n (s STRUCT(a VARCHAR, b STRUCT(c INTEGER, d VARCHAR[])), l VARCHAR[], m MAP(VARCHAR, VARCHAR[]), ll INTEGER[][],
    ld STRUCT(d DATE, bl BLOB, f DOUBLE)[]);
INSERT INTO n VALUES (NULL, NULL, NULL, NULL, NULL), ({a: NULL, b: NULL}, [], MAP {}, [[], NULL], [NULL]);
"""
NASTY = ("", "NULL", "null", "it''s", "a,b", "[x]", "{y}", "k=v", '"q"', " lead", "trail ", "a: b", "ünï☃", "tab\t", "(p)", "''")
TYPES += "".join(
    f"INSERT INTO n VALUES ({{a: 'x', b: {{c: 1, d: ['{text}', NULL]}}}}, ['{text}', 'x'], MAP {{'{text}': ['{text}']}}, "
    "[[1, NULL], []], [{d: '2020-01-01', bl: '\\x00a'::BLOB, f: 'nan'}]);\n"
    for text in NASTY
)

MAINTENANCE = """
CREATE TABLE t (a INTEGER, b VARCHAR);
INSERT INTO t SELECT i, 'a' FROM range(30) r(i);
INSERT INTO t SELECT i, 'b' FROM range(30, 60) r(i);
INSERT INTO t VALUES (1000, 'inlined');
DELETE FROM t WHERE a % 10 = 3;
DELETE FROM t WHERE a % 10 = 4;
INSERT INTO t VALUES (1001, 'inlined');
DELETE FROM t WHERE a = 1000;
CALL ducklake_flush_inlined_data('lake');
CREATE TABLE p (k INTEGER, v VARCHAR);
ALTER TABLE p SET PARTITIONED BY (k);
INSERT INTO p SELECT i % 3, 'v' || i FROM range(20) r(i);
INSERT INTO p SELECT i % 3, 'w' || i FROM range(20) r(i);
INSERT INTO p SELECT i % 3, 'x' || i FROM range(20) r(i);
CALL ducklake_merge_adjacent_files('lake');
DELETE FROM p WHERE v LIKE '%1';
CALL ducklake_rewrite_data_files('lake', delete_threshold => 0);
INSERT INTO t SELECT i, 'c' FROM range(100, 130) r(i);
CALL ducklake_merge_adjacent_files('lake');
"""

ADDED = """
COPY (SELECT i::SMALLINT AS a, 'x' || i AS b, {p: i, q: [i, NULL]} AS s, [{r: i}] AS l, MAP {'k': i} AS m, 1 AS more FROM range(9) r(i))
    TO '${FOLDER}/ext.parquet';
CREATE TABLE t (a INTEGER, b VARCHAR, s STRUCT(p BIGINT, q BIGINT[]), l STRUCT(r BIGINT)[], m MAP(VARCHAR, BIGINT));
CALL ducklake_add_data_files('lake', 't', '${FOLDER}/ext.parquet', ignore_extra_columns => true);
ALTER TABLE t RENAME COLUMN b TO bb;
ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 3;
DELETE FROM t WHERE a = 4;
INSERT INTO t (a) VALUES (100);
COPY (SELECT i AS v, i % 3 AS k, CASE i % 2 WHEN 0 THEN 'a/b c' END AS w FROM range(12) r(i))
    TO '${FOLDER}/hive' (FORMAT parquet, PARTITION_BY (k, w));
CREATE TABLE h (k INTEGER, w VARCHAR, v BIGINT);
CALL ducklake_add_data_files('lake', 'h', '${FOLDER}/hive/*/*/*.parquet', hive_partitioning => true);
INSERT INTO h VALUES (9, 'w', 9);
"""

VECTORS = """
CALL lake.set_option('write_deletion_vectors', true);
CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i);
DELETE FROM t WHERE a % 3 = 0;
DELETE FROM t WHERE a BETWEEN 100 AND 300;
"""

#: What is attached with, besides, and how many answers there are to compare at least.
SCENARIOS = {
    "everyday": (EVERYDAY, "", 25),
    "everyday_in_files": (EVERYDAY, ", DATA_INLINING_ROW_LIMIT 0", 25),
    "evolution": (EVOLUTION, "", 20),
    "evolution_in_files": (EVOLUTION, ", DATA_INLINING_ROW_LIMIT 0", 20),
    "types": (TYPES, "", 20),
    "types_in_files": (TYPES, ", DATA_INLINING_ROW_LIMIT 0", 20),
    "maintenance": (MAINTENANCE, "", 15),
    "maintenance_in_files": (MAINTENANCE, ", DATA_INLINING_ROW_LIMIT 0", 15),
    "added": (ADDED, "", 8),
    "vectors": (VECTORS, ", DATA_INLINING_ROW_LIMIT 0", 4),
}


def check(scenario, kind, encrypted, folder):
    sql, options, least = SCENARIOS[scenario]
    lake = Outside(kind, folder)
    with contextlib.ExitStack() as stack:
        if kind == "postgres":
            lake.server = stack.enter_context(servers.postgres(folder / "postgres"))
        connection = lake.connect(options + (", ENCRYPTED" if encrypted else ""))
        for statement in duckdb.extract_statements(lake.fill_in(sql)):
            connection.execute(statement.query)
        compare(lake, connection, least)


def test_outside_columns_without_a_form(folder):
    """What SQL elsewhere has no type for is an error where it is asked for, and only there."""
    lake = Outside("sqlite", folder)
    connection = lake.connect(", DATA_INLINING_ROW_LIMIT 0")
    types = {"iv": "INTERVAL", "tz": "TIMETZ", "vr": "VARIANT", "ge": "GEOMETRY", "st": "STRUCT(a INTEGER, b INTERVAL)"}
    columns = ", ".join(f"{name} {type_}" for name, type_ in types.items())
    connection.execute(f"CREATE TABLE t (a INTEGER, {columns}, z INTEGER)")
    values = "INTERVAL 1 MONTH, '12:00:00+02', 42::VARIANT, 'POINT(1 2)'::GEOMETRY, {a: 1, b: INTERVAL 1 DAY}"
    connection.execute(f"INSERT INTO t VALUES (1, {values}, 2)")
    connection.execute("CREATE VIEW v AS SELECT 1 AS one")
    connection.close()
    assert lake.sql("SELECT a, z FROM t WHERE z > 0") == '{"a":1,"z":2}\n'
    assert lake.sql("SELECT count(*) AS n FROM t") == '{"n":1}\n'
    for name in types:
        error = lake.sql(f"SELECT {name} FROM t", expect=1)
        assert f"column {name} of main.t has the type" in error, error
    assert "is a view" in lake.sql("SELECT * FROM v", expect=1)
    assert "only DuckDB writes" in lake.sql("INSERT INTO t (a) VALUES (1)", expect=1)


def test_outside_filters(folder):
    """Files and rows that a filter leaves out are those that it means to, whatever is known of them."""
    lake = Outside("lakelock", folder)
    connection = lake.connect(", ENCRYPTED, DATA_INLINING_ROW_LIMIT 0")
    connection.execute("CREATE TABLE t (a INTEGER, f DOUBLE, s VARCHAR, d DATE, n DECIMAL(9, 2))")
    for start in (0, 100, 200):
        connection.execute(
            f"""INSERT INTO t SELECT i, CASE WHEN i % 50 = 7 THEN 'nan'::DOUBLE ELSE i END, 's' || i,
                DATE '2024-01-01' + i::INTEGER, i / 4 FROM range({start}, {start + 100}) r(i)"""
        )
    connection.execute("ALTER TABLE t ALTER COLUMN a TYPE BIGINT")
    connection.execute("ALTER TABLE t ADD COLUMN later INTEGER DEFAULT 7")
    connection.execute("INSERT INTO t SELECT i, NULL, NULL, NULL, NULL, NULL FROM range(300, 400) r(i)")
    filters = (
        "a = 150", "a > 199", "a BETWEEN 90 AND 110", "a < 0", "f > 250", "f < 10", "s = 's42'", "s >= 's9'", "s IS NULL",
        "d < DATE '2024-02-01'", "n = 12.50", "later = 7 AND a < 5", "later IS NULL AND a < 305", "a IN (1, 299, 350)",
        "NOT (a > 20)", "a = 5 OR s = 's250'", "f IS NULL AND a > 390",
    )
    counts = [connection.execute(f"SELECT count(*), sum(a) FROM t WHERE {where}").fetchone() for where in filters]
    connection.close()
    for where, (count, total) in zip(filters, counts):
        answer = json.loads(lake.sql(f"SELECT count(*) AS n, sum(a) AS s FROM t WHERE {where}"))
        assert (answer["n"], answer["s"]) == (count, total), f"{where}: {answer}, not {count}, {total}"
    plan = lake.sql("EXPLAIN SELECT * FROM t WHERE a = 150")
    assert plan.count("parquet") and plan.count(".parquet") <= 2, plan


def test_outside_time_travel_and_moved_data(folder):
    lake = Outside("sqlite", folder)
    connection = lake.connect(", DATA_INLINING_ROW_LIMIT 0")
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    time.sleep(0.05)
    (between,) = connection.execute("SELECT CAST(now() AS VARCHAR)").fetchone()
    time.sleep(0.05)
    connection.execute("INSERT INTO t VALUES (2)")
    connection.close()
    assert lake.sql(f"SELECT sum(a) AS s FROM t TIMESTAMP AS OF '{between}'") == '{"s":1}\n'
    assert lake.sql("SELECT sum(a) AS s FROM T") == '{"s":3}\n'
    for version, expected in (("VERSION AS OF 99", "no snapshot 99"), ("TIMESTAMP AS OF '2001-01-01'", "no snapshot as old as")):
        error = lake.sql(f"SELECT * FROM t {version}", expect=1)
        assert expected in error and "from 0 to 2" in error, error
    with contextlib.closing(sqlite3.connect(folder / "catalog.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE ducklake_metadata SET value = 'data/' WHERE key = 'data_path'")
    assert lake.sql("SELECT sum(a) AS s FROM t") == '{"s":3}\n'
    (folder / "data").rename(folder / "moved")
    assert "cannot read data file" in lake.sql("SELECT * FROM t", expect=1)
    assert lake.sql("SELECT sum(a) AS s FROM t", "--data-path", f"{folder}/moved") == '{"s":3}\n'


def test_outside_damaged_catalogs(folder):
    """What makes no sense is an error that names it, never other rows, and shows no key."""
    lake = Outside("sqlite", folder)
    connection = lake.connect(", ENCRYPTED")
    connection.execute("CREATE TABLE t AS SELECT i AS a, 'v' || i AS b FROM range(100) r(i)")
    connection.execute("DELETE FROM t WHERE a < 5")
    connection.execute("INSERT INTO t VALUES (1000, 'inlined')")
    connection.execute("CREATE TABLE u AS SELECT i AS a FROM range(100) r(i)")
    connection.close()
    catalog = folder / "catalog.sqlite"
    good = catalog.read_bytes()
    with contextlib.closing(sqlite3.connect(catalog)) as database:
        keys = [key for (key,) in database.execute("SELECT encryption_key FROM ducklake_data_file")]
    other = base64.b64encode(b"0123456789abcdef").decode()
    first = "WHERE data_file_id = 0"
    for change, expected in (
        (f"UPDATE ducklake_data_file SET encryption_key = 'no key!' {first}", "key of data file"),
        (f"UPDATE ducklake_data_file SET encryption_key = 'c2hvcnQ=' {first}", "key of data file"),
        (f"UPDATE ducklake_data_file SET encryption_key = '{other}' {first}", "data file"),
        (f"UPDATE ducklake_data_file SET encryption_key = NULL {first}", "encrypted, and the catalog has no key"),
        (f"UPDATE ducklake_data_file SET path = 'nowhere.parquet' {first}", "nowhere.parquet"),
        (f"UPDATE ducklake_data_file SET record_count = -1 {first}", "record_count"),
        (f"UPDATE ducklake_data_file SET record_count = 9223372036854775807 {first}", "rows, but the catalog says"),
        (f"UPDATE ducklake_data_file SET file_size_bytes = -5 {first}", "file_size_bytes"),
        (f"UPDATE ducklake_data_file SET file_size_bytes = 9223372036854775807 {first}", "data file"),
        (f"UPDATE ducklake_data_file SET file_size_bytes = 20 {first}", "data file"),
        (f"UPDATE ducklake_data_file SET file_format = 'orc' {first}", "orc"),
        (f"UPDATE ducklake_data_file SET partial_max = 99 {first}", "rows of several snapshots"),
        (f"UPDATE ducklake_data_file SET mapping_id = 99 {first}", "no column mapping 99"),
        ("UPDATE ducklake_inlined_delete_1 SET row_id = 4000", "row 4000 of data file"),
        ("UPDATE ducklake_inlined_delete_1 SET row_id = -1", "row_id"),
        ("UPDATE ducklake_inlined_data_1_1 SET a = 'many'", "column a"),
        ("UPDATE ducklake_column SET column_type = 'mystery' WHERE column_name = 'a' AND table_id = 1", "the type mystery"),
        ("UPDATE ducklake_column SET column_type = 'decimal(99,2)' WHERE column_name = 'a'", "the type decimal(99,2)"),
        ("UPDATE ducklake_column SET column_type = 'int8' WHERE column_name = 'a' AND table_id = 1", "int8"),
        ("UPDATE ducklake_column SET parent_column = column_id WHERE table_id = 1", "nested in columns that are not there"),
        ("UPDATE ducklake_column SET column_id = 5000000000 WHERE column_name = 'a'", "no id of a column"),
        ("UPDATE ducklake_metadata SET value = '9.9' WHERE key = 'version'", "version 9.9"),
        ("DELETE FROM ducklake_metadata", "which version"),
        ("DELETE FROM ducklake_schema", "of schema 0, which is not there"),
        ("DELETE FROM ducklake_snapshot", "no snapshot"),
        ("DELETE FROM ducklake_schema_versions", "version 1 of the lake's schema"),
        ("DROP TABLE ducklake_column", "no table ducklake_column"),
    ):
        catalog.write_bytes(good)
        with contextlib.closing(sqlite3.connect(catalog, isolation_level=None)) as database:
            database.execute(change)
        error = lake.sql("SELECT * FROM t", expect=1)
        assert expected in error, f"{change}: {error}"
        assert not any(key in error for key in (*keys, other, "no key!")), f"{change}: {error}"
    catalog.write_bytes(good)
    assert lake.sql("SELECT count(*) AS n FROM t") == '{"n":96}\n'
    verbose = lake.run("sql", "--ducklake", f"sqlite:{catalog}", "-vv", "EXPLAIN VERBOSE SELECT * FROM t WHERE a > 1")
    assert not any(key in verbose for key in keys), verbose


def test_outside_swapped_delete_files(folder):
    """All files of a statement have one key, so that one in the place of another decrypts: it names its data file."""
    lake = Outside("sqlite", folder)
    connection = lake.connect(", ENCRYPTED, DATA_INLINING_ROW_LIMIT 0")
    connection.execute("CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)")
    connection.execute("INSERT INTO t SELECT i FROM range(1000, 2000) r(i)")
    connection.execute("DELETE FROM t WHERE a = 3 OR a = 1007")
    connection.close()
    assert lake.sql("SELECT count(*) AS n FROM t") == '{"n":1998}\n'
    one, other = sorted(folder.glob("data/**/*-delete.parquet"))
    assert one.stat().st_size == other.stat().st_size
    contents = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(contents)
    error = lake.sql("SELECT count(*) AS n FROM t", expect=1)
    assert "deletes rows of" in error and "-delete.parquet" in error, error


def test_outside_a_file_without_a_key(folder):
    """Neither side reads a plaintext file that was added to an encrypted lake."""
    lake = Outside("sqlite", folder)
    connection = lake.connect(", ENCRYPTED")
    file = folder / "added.parquet"
    connection.execute(f"COPY (SELECT 1 AS a) TO '{file}'")
    connection.execute("CREATE TABLE t (a INTEGER)")
    connection.execute(f"CALL ducklake_add_data_files('lake', 't', '{file}')")
    try:
        connection.execute("FROM t")
    except duckdb.Error as error:
        assert "does not have an encryption key" in str(error), error
    else:
        raise AssertionError("DuckDB reads it")
    connection.close()
    error = lake.sql("SELECT * FROM t", expect=1)
    assert "the catalog has no key of data file" in error and file.name in error, error


def test_outside_what_cannot_be_told(folder):
    """A name that may mean two things, and seconds that may have fractions, are errors and not guesses."""
    lake = Outside("sqlite", folder)
    connection = lake.connect()
    connection.execute("CREATE TABLE x AS SELECT 10 AS a")
    connection.execute('CREATE TABLE "x@version=1" AS SELECT 1 AS a')
    connection.execute('CREATE TABLE "y@version=1" AS SELECT 2 AS a')
    file = folder / "added.parquet"
    connection.execute(f"COPY (SELECT TIMESTAMP '2020-01-02 03:04:05.123456' AS v, 1 AS n) TO '{file}'")
    connection.execute("CREATE TABLE s (v TIMESTAMP_S, n INTEGER)")
    connection.execute(f"CALL ducklake_add_data_files('lake', 's', '{file}')")
    connection.close()
    assert "rename one" in lake.sql("SELECT * FROM x VERSION AS OF 1", expect=2)
    assert lake.sql("SELECT a FROM x") == '{"a":10}\n'
    assert lake.sql('SELECT a FROM "y@version=1"') == '{"a":2}\n'
    error = lake.sql("SELECT v FROM s", expect=1)
    assert "TIMESTAMP_S" in error and file.name in error, error
    assert lake.sql("SELECT n FROM s") == '{"n":1}\n'


def test_outside_export(folder):
    """The file is a lake of DuckLake: the same rows at every snapshot under the same keys, and it can be written to."""
    lake = Outside("lakelock", folder)
    connection = lake.connect(", ENCRYPTED")
    script = EVERYDAY.replace("TABLE t ", "TABLE e ").replace(" t ", " e ") + TYPES + MAINTENANCE.replace(" t ", " q ").replace(
        "TABLE t", "TABLE q"
    )
    for statement in duckdb.extract_statements(script):
        connection.execute(statement.query)
    columns = "path, encryption_key FROM __ducklake_metadata_lake"
    keys = f"SELECT {columns}.ducklake_data_file UNION ALL SELECT {columns}.ducklake_delete_file ORDER BY ALL"
    expected_keys = connection.execute(keys).fetchall()
    expected = [(ask, *answers_of_duckdb(connection, ask)) for ask, _ in versions(connection, 6) if exists(connection, ask)]
    connection.close()

    file = folder / "exported.sqlite"
    error = lake.run("ducklake", "export", "ducklake:lakelock:catalog", file.name, expect=1)
    assert "keys of data files" in error and "--with-keys" in error and not file.exists(), error
    lake.run("ducklake", "export", "catalog", file.name, "--with-keys")
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    assert "exists already" in lake.run("ducklake", "export", "catalog", file.name, "--with-keys", expect=1)
    assert file.read_bytes() == before

    # Its tables are those that DuckLake makes itself.
    own = Outside("sqlite", folder / "own")
    connection = own.connect(", ENCRYPTED")
    for statement in duckdb.extract_statements(script):
        connection.execute(statement.query)
    connection.close()
    ours, theirs = layout(file), layout(folder / "own" / "catalog.sqlite")
    assert ours == theirs, [(name, ours.get(name), theirs.get(name)) for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]

    moved = Outside("sqlite", folder)
    file.rename(folder / "catalog.sqlite")
    connection = moved.connect()
    for ask, names, _, rows in expected:
        found = answers_of_duckdb(connection, ask)
        assert (names, rows) == (found[0], found[2]), f"{ask}: {len(rows)} rows, {len(found[2])} exported"
    assert connection.execute(keys).fetchall() == expected_keys
    connection.execute("INSERT INTO e SELECT i, 'after' FROM range(5000, 5100) r(i)")
    connection.execute("DELETE FROM e WHERE a % 2 = 0")
    connection.execute("INSERT INTO n VALUES (NULL, ['after'], NULL, NULL, NULL)")
    connection.execute("CALL ducklake_flush_inlined_data('lake')")
    connection.execute("ALTER TABLE e ADD COLUMN c INTEGER DEFAULT 1")
    compare(moved, connection, 20, 6)


def exists(connection, ask):
    try:
        connection.sql(f"FROM {ask}")
    except duckdb.CatalogException:
        return False
    return True


def layout(file):
    """The tables of an SQLite file, with their columns."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        about = "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)"
        return {name: database.execute(about, [name]).fetchall() for name in sorted(names)}


for _scenario in SCENARIOS:
    for _kind in KINDS:
        # Every kind of catalog once with keys; plain ones where most are.
        for _encrypted in (False,) if _scenario == "added" else (True, False) if _kind == "sqlite" else (True,):
            _name = f"test_outside_{_scenario}_{_kind}{'' if _encrypted else '_plain'}"
            globals()[_name] = functools.partial(check, _scenario, _kind, _encrypted)
