"""What holds of our catalog whatever another one answers."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import duckdb

from lakes import EXTENSIONS, Lake, connect, extension_file
from servers import running, secret


def attach(folder, options=""):
    """A DuckDB with a lake attached, and the lake."""
    lake = Lake("lakelock", folder)
    connection = connect()
    connection.execute(lake.fill_in(f"ATTACH 'ducklake:${{CATALOG}}' AS lake (DATA_PATH '${{DATA_PATH}}'{options})"))
    connection.execute("USE lake")
    return connection


def error_of(connection, sql):
    """What a statement that must fail says."""
    try:
        connection.execute(sql)
    except duckdb.Error as error:
        return str(error)
    raise AssertionError(f"{sql} did not fail")


def file_keys(connection):
    """The keys of all data files and delete files, by path."""
    return dict(
        connection.execute(
            """SELECT path, encryption_key FROM __ducklake_metadata_lake.ducklake_data_file
               UNION ALL SELECT path, encryption_key FROM __ducklake_metadata_lake.ducklake_delete_file"""
        ).fetchall()
    )


def test_keys_stay_as_they_are(folder):
    """Every file keeps the key it was written under, which opens it from outside of the lake."""
    options = ", ENCRYPTED, DATA_INLINING_ROW_LIMIT 0"
    connection = attach(folder, options)
    keys = {}

    def step(sql):
        nonlocal connection
        if sql is None:
            connection.close()
            connection = attach(folder, options)
        else:
            connection.execute(sql).fetchall()
        now = file_keys(connection)
        for path, key in now.items():
            assert key and keys.setdefault(path, key) == key, path

    for sql in (
        "CREATE TABLE t AS SELECT i AS a FROM range(1000) r(i)",
        "INSERT INTO t SELECT i FROM range(1000, 1100) r(i)",
        "DELETE FROM t WHERE a % 7 = 0",
        "UPDATE t SET a = -a WHERE a % 11 = 0",
        None,
        "CALL ducklake_merge_adjacent_files('lake')",
        "CALL ducklake_rewrite_data_files('lake', 't', delete_threshold => 0)",
        "CALL ducklake_expire_snapshots('lake', older_than => now() + INTERVAL 1 DAY)",
        "INSERT INTO t VALUES (5)",
        None,
    ):
        step(sql)
    assert len(set(keys.values())) >= 4, keys
    files = connection.execute("SELECT data_file FROM ducklake_list_files('lake', 't')").fetchall()
    total = 0
    for (file,) in files:
        key = keys[pathlib.Path(file).name]
        (count,) = connection.execute(
            f"SELECT count(*) FROM read_parquet('{file}', "
            f"encryption_config = {{footer_key_value: from_base64('{key}')}})"
        ).fetchone()
        total += count
    assert (total,) == connection.execute("SELECT count(*) FROM t").fetchone()


def test_threads_of_one_process_write_together(folder):
    """No commit is lost and none fails, as DuckLake tries again what conflicts."""
    connection = attach(folder)
    connection.execute("SET GLOBAL ducklake_max_retry_count = 100")
    connection.execute("CREATE TABLE shared (i BIGINT)")

    def work(number):
        own = connection.cursor()
        own.execute("USE lake")
        for i in range(4):
            own.execute(f"INSERT INTO shared VALUES ({number} * 100 + {i})")
        own.execute(f"CREATE TABLE own_{number} AS SELECT {number} AS n")

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, number) for number in range(6)]:
            done.result()
    assert connection.execute("SELECT count(*), count(DISTINCT i) FROM shared").fetchone() == (24, 24)
    (tables,) = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'own%'").fetchone()
    assert tables == 6


def in_other_process(folder, sql):
    """The rows of a statement that another process runs, as text."""
    program = f"""
import pathlib, properties
print(properties.attach(pathlib.Path({str(folder)!r})).execute({sql!r}).fetchall())
"""
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_takes_over(folder):
    """The first one's next commit fails at once, and says why; attached again, it goes on."""
    connection = attach(folder)
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert in_other_process(folder, "INSERT INTO t VALUES (2)") == "[(1,)]"
    message = error_of(connection, "INSERT INTO t VALUES (3)")
    assert "took" in message or "taken" in message, message
    assert not any(word in message.lower() for word in ("conflict", "concurrent", "unique")), message
    connection.close()
    connection = attach(folder)
    connection.execute("INSERT INTO t VALUES (3)")
    assert connection.execute("FROM t ORDER BY a").fetchall() == [(1,), (2,), (3,)]


def test_readers_see_what_a_writer_commits(folder):
    """A read-only attach in another process sees every commit, and its transactions stay as they began."""
    writer = attach(folder)
    writer.execute("CREATE TABLE t AS SELECT 1 AS a")
    program = f"""
import pathlib, sys, properties
connection = properties.attach(pathlib.Path({str(folder)!r}), ", READ_ONLY")
for line in sys.stdin:
    print(connection.execute(line).fetchall(), flush=True)
"""
    here = pathlib.Path(__file__).parent
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], cwd=here, **pipes) as reader:

        def read(sql):
            print(sql, file=reader.stdin, flush=True)
            return reader.stdout.readline().strip()

        assert read("SELECT count(*) FROM t") == "[(1,)]"
        writer.execute("INSERT INTO t VALUES (2)")
        assert read("SELECT count(*) FROM t") == "[(2,)]"
        read("BEGIN")
        assert read("SELECT count(*) FROM t") == "[(2,)]"
        writer.execute("INSERT INTO t VALUES (3)")
        assert read("SELECT count(*) FROM t") == "[(2,)]"
        read("COMMIT")
        assert read("SELECT count(*) FROM t") == "[(3,)]"
        reader.stdin.close()


def test_a_bucket_holds_catalog_and_data(folder):
    """The catalog is reached by DuckDB's secret or by properties, and refuses a bucket that is not there."""
    with running("seaweedfs", folder) as url:
        location = "ducklake:lakelock:s3://lake/catalog"
        writer = connect()
        writer.execute(secret(url))
        writer.execute(f"ATTACH '{location}' AS lake (DATA_PATH 's3://lake/data/', ENCRYPTED)")
        writer.execute("CREATE TABLE lake.t AS SELECT i FROM range(1000) r(i)")
        reader = connect()
        reader.execute(secret(url))
        reader.execute(f"ATTACH '{location}' AS lake (READ_ONLY)")
        for i in range(3):
            writer.execute("INSERT INTO lake.t VALUES (0)")
            assert reader.execute("SELECT count(*) FROM lake.t").fetchone() == (1001 + i,)
        writer.close()
        reader.close()

        other = connect()
        properties = f"""META_S3_ENDPOINT '{url}', META_S3_PATH_STYLE_ACCESS true, META_S3_ACCESS_KEY_ID 'lakelock',
            META_S3_SECRET_ACCESS_KEY 'lakelock-secret', META_CLIENT_REGION 'us-east-1'"""
        other.execute(f"ATTACH '{location}' AS lake ({properties})")
        assert other.execute("SELECT count(*) FROM ducklake_snapshots('lake')").fetchone() == (5,)
        nowhere = f"ATTACH 'ducklake:lakelock:s3://nowhere/catalog' AS other (DATA_PATH '{folder}', {properties})"
        message = error_of(other, nowhere)
        assert "s3://nowhere/catalog" in message, message


def test_the_command_line_program_loads_it(folder):
    lake = Lake("lakelock", folder)
    loads = "".join(f"LOAD '{extension_file(name)}';" for name in EXTENSIONS)
    script = loads + lake.fill_in(
        f"""LOAD '{os.environ["LAKELOCK_EXTENSION"]}';
        ATTACH 'ducklake:${{CATALOG}}' AS lake (DATA_PATH '${{DATA_PATH}}');
        CREATE TABLE lake.t AS SELECT 42 AS a;
        SELECT a FROM lake.t;"""
    )
    command = ["duckdb", "-unsigned", "-csv", "-noheader", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["42"]), done


def test_errors_say_what_to_do(folder):
    lake = Lake("lakelock", folder)
    connection = connect()
    for options, words in (
        ("READ_ONLY", ["does not exist", "creating a new DuckLake is explicitly disabled"]),
        ("META_NONSENSE 1", ["nonsense", "ENCRYPTED"]),
    ):
        sql = f"ATTACH 'ducklake:${{CATALOG}}' AS lake (DATA_PATH '${{DATA_PATH}}', {options})"
        message = error_of(connection, lake.fill_in(sql))
        assert all(word in message for word in words), message
    # None of these left anything behind.
    assert not (folder / "catalog").exists()
    connection = attach(folder)
    table = "__ducklake_metadata_lake.ducklake_table"
    for sql, word in (
        ("CREATE VIEW __ducklake_metadata_lake.v AS SELECT 1", "views"),
        ("CREATE SEQUENCE __ducklake_metadata_lake.s", "sequences"),
        ("CREATE MACRO __ducklake_metadata_lake.m(a) AS a", "functions"),
        ("CREATE TYPE __ducklake_metadata_lake.e AS ENUM ('a')", "types"),
        (f"CREATE INDEX i ON {table}(table_id)", "indexes"),
        (f"CREATE UNIQUE INDEX i ON {table}(table_id)", "indexes"),
        (f"ALTER TABLE {table} ADD PRIMARY KEY (table_id)", "support"),
        (f"DELETE FROM {table} RETURNING *", "RETURNING"),
    ):
        message = error_of(connection, sql)
        assert word in message, message
    # These do nothing to a catalog that is not DuckDB's own.
    for sql in (f"VACUUM {table}", f"ANALYZE {table}", f"SUMMARIZE {table}", "CHECKPOINT __ducklake_metadata_lake"):
        try:
            connection.execute(sql)
        except duckdb.Error as error:
            assert "INTERNAL" not in str(error), error
    assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_the_encrypted_mark_stays(folder):
    """What a catalog was made for is fixed, in the store as well as in DuckLake's own row."""
    attach(folder, ", ENCRYPTED, META_ENCRYPTED true").close()
    connection = connect()
    lake = Lake("lakelock", folder)
    message = error_of(connection, lake.fill_in("ATTACH 'ducklake:${CATALOG}' AS lake (META_ENCRYPTED false)"))
    assert "encrypted" in message, message
    connection.execute(lake.fill_in("ATTACH 'ducklake:${CATALOG}' AS lake (META_ENCRYPTED true)"))
