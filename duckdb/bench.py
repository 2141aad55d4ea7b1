#!/usr/bin/env python3
"""Measures DuckLake on a Lakelock catalog and on those it has itself, all in one run:

    LAKELOCK_EXTENSION=OUT_DIR/lakelock.duckdb_extension duckdb/bench.py [--files 10,1000,100000] [--rounds 5] [--s3]

The extension must be a release build (duckdb/build.sh OUT_DIR). Prints tables in Markdown; docs/benchmarks.md says what is
measured, and how.
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tests"))

try:
    import duckdb
except ModuleNotFoundError:  # Of the Python that has DuckDB.
    home = subprocess.check_output([HERE.parent / "interop/duckdb/setup.sh"], text=True).strip()
    os.execv(f"{home}/bin/python", [f"{home}/bin/python", *sys.argv])

import lakes
import servers

ROWS_PER_FILE = 100
WRITERS = 4
#: What a round trip takes, in seconds, where the bucket is far away.
ROUND_TRIP = 0.02


def connect(kind):
    connection = lakes.connect()
    if kind == "postgres":
        connection.execute(f"LOAD '{lakes.extension_file('postgres_scanner')}'")
    return connection


def attach(connection, catalog, folder, options=""):
    connection.execute(f"ATTACH 'ducklake:{catalog}' AS lake (DATA_PATH '{folder}/data/', METADATA_CATALOG 'meta'{options})")


def timed(action):
    """How many milliseconds it takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def make(kind, catalog, folder, files):
    """A lake with a table of so many files. All but the first are rows in the catalog alone, put there by the same SQL for all."""
    connection = connect(kind)
    attach(connection, catalog, folder)
    connection.execute(f"CREATE TABLE lake.t AS SELECT i AS id, i::VARCHAR AS name FROM range({ROWS_PER_FILE}) r(i)")
    connection.execute("CREATE TABLE lake.few (i BIGINT)")
    (table,) = connection.execute("SELECT table_id FROM meta.ducklake_table WHERE table_name = 't'").fetchone()
    connection.execute("BEGIN")
    for name, replaced in (
        ("ducklake_data_file", f"f.i AS data_file_id, f.i * {ROWS_PER_FILE} AS row_id_start"),
        (
            "ducklake_file_column_stats",
            f"""f.i AS data_file_id,
            CASE column_id WHEN 1 THEN f.i * {ROWS_PER_FILE} ELSE 0 END::VARCHAR AS min_value,
            CASE column_id WHEN 1 THEN (f.i + 1) * {ROWS_PER_FILE} - 1 ELSE 99 END::VARCHAR AS max_value""",
        ),
    ):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE first AS FROM meta.{name} WHERE table_id = {table}")
        connection.execute(
            f"INSERT INTO meta.{name} SELECT first.* REPLACE ({replaced}) FROM first, range(1, {files}) f(i)"
        )
    rows = files * ROWS_PER_FILE
    newest = "(SELECT max(snapshot_id) FROM meta.ducklake_snapshot)"
    connection.execute(f"UPDATE meta.ducklake_snapshot SET next_file_id = {files} WHERE snapshot_id = {newest}")
    connection.execute(
        f"UPDATE meta.ducklake_table_stats SET record_count = {rows}, next_row_id = {rows} WHERE table_id = {table}"
    )
    connection.execute("COMMIT")
    connection.close()


def measure_opening(kind, catalog, folder):
    """Attaching and the first query, in a process that has not seen the catalog."""
    connection = connect(kind)
    answer = {"attach": timed(lambda: attach(connection, catalog, folder))}
    query = f"SELECT count(*) FROM lake.t WHERE id = {ROWS_PER_FILE - 1}"
    answer["query"] = timed(lambda: connection.execute(query).fetchall())
    answer["again"] = timed(lambda: connection.execute(query).fetchall())
    connection.close()
    return answer


def in_new_process(kind, catalog, folder):
    program = f"import bench, json; print(json.dumps(bench.measure_opening({kind!r}, {catalog!r}, {str(folder)!r})))"
    done = subprocess.run([sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def measure_commits(kind, catalog, folder, commits):
    """Milliseconds of each commit of one row, which DuckLake keeps in the catalog; and of the catalog's own least commit."""
    connection = connect(kind)
    attach(connection, catalog, folder)
    rows = [timed(lambda: connection.execute("INSERT INTO lake.few VALUES (1)")) for _ in range(commits + 5)][5:]
    own = "INSERT INTO meta.ducklake_tag VALUES (0, 0, NULL, 'bench', '')"
    least = [timed(lambda: connection.execute(own)) for _ in range(commits)]
    connection.close()
    return statistics.median(rows), max(rows), statistics.median(least)


def measure_writers(kind, catalog, folder, seconds):
    """Commits per second of one connection, and of several that write to tables of their own."""
    connection = connect(kind)
    attach(connection, catalog, folder)
    connection.execute("SET GLOBAL ducklake_max_retry_count = 1000")
    for writer in range(WRITERS):
        connection.execute(f"CREATE TABLE lake.of_{writer} (i BIGINT)")

    def write(writer):
        own = connection.cursor()
        count = failed = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                own.execute(f"INSERT INTO lake.of_{writer} VALUES (1)")
                count += 1
            except duckdb.Error:
                failed += 1
        own.close()
        return count, failed

    alone, _ = write(0)
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        together = list(pool.map(write, range(WRITERS)))
    connection.close()
    committed, failed = map(sum, zip(*together))
    return alone / seconds, committed / seconds, failed


def new_database(kind, number, folder, server):
    """What stands behind `ducklake:` for a new catalog."""
    match kind:
        case "lakelock":
            return f"lakelock:{folder}/catalog"
        case "sqlite":
            return f"sqlite:{folder}/catalog.sqlite"
        case "duckdb":
            return f"{folder}/catalog.duckdb"
        case "postgres":
            with connect(kind) as connection:
                connection.execute(f"ATTACH '{server}' AS pg (TYPE postgres)")
                connection.execute(f"CALL postgres_execute('pg', 'CREATE DATABASE lake{number}', use_transaction => false)")
            return f"postgres:{server.replace('dbname=postgres', f'dbname=lake{number}')}"


class FarAway(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the server at `url` after a while, and counts them: all, and those that commits wait for."""

    protocol_version = "HTTP/1.1"
    url = None
    waited_for = all = 0

    def pass_on(self):
        time.sleep(ROUND_TRIP)
        type(self).all += 1
        type(self).waited_for += self.command == "PUT" and "/wal/" in self.path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.url)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else len(content)
        self.send_header("Content-Length", length or 0)
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on

    def log_message(self, *_):
        pass


def measure_far_away(folder, commits):
    """Commits to a catalog in a bucket behind a slow line: milliseconds, the requests that each waits for, and those per second
    that go on beside them."""
    with servers.running("moto", folder) as url:
        FarAway.url = url.removeprefix("http://")
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FarAway)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        connection = connect("lakelock")
        options = f""", META_S3_ENDPOINT 'http://127.0.0.1:{proxy.server_port}', META_S3_PATH_STYLE_ACCESS true,
            META_S3_ACCESS_KEY_ID 'a', META_S3_SECRET_ACCESS_KEY 'b', META_CLIENT_REGION 'us-east-1'"""
        attach(connection, "lakelock:s3://lake/catalog", folder, options)
        connection.execute("CREATE TABLE lake.few (i BIGINT)")
        began, before, times = time.monotonic(), (FarAway.waited_for, FarAway.all), []
        for _ in range(commits):
            times.append(timed(lambda: connection.execute("INSERT INTO lake.few VALUES (1)")))
        waited_for, requests = FarAway.waited_for - before[0], FarAway.all - before[1]
        beside = (requests - waited_for) / (time.monotonic() - began)
        connection.close()
        proxy.shutdown()
    return statistics.median(times), waited_for / commits, beside


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", default="10,1000,100000", help="sizes of the table, in data files")
    parser.add_argument("--rounds", type=int, default=5, help="how often catalogs are opened; the median counts")
    parser.add_argument("--commits", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=5, help="how long writers write")
    parser.add_argument("--catalogs", default="lakelock,sqlite,postgres,duckdb")
    parser.add_argument("--s3", action="store_true", help="measure a bucket that is 20 ms away, too")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.files.split(",")]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root, servers.postgres(pathlib.Path(root) / "pg") as server:
        kinds = arguments.catalogs.split(",")
        print("| catalog | files | attach | first query | next query | commit of one row | slowest | least commit |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        made = {}
        for number, (kind, size) in enumerate((kind, size) for size in sizes for kind in kinds):
            folder = pathlib.Path(root) / f"{kind}-{size}"
            folder.mkdir()
            made[kind] = catalog, folder = new_database(kind, number, folder, server), folder
            make(kind, catalog, folder, size)
            opened = [in_new_process(kind, catalog, folder) for _ in range(arguments.rounds)]
            times = [statistics.median(one[what] for one in opened) for what in ("attach", "query", "again")]
            times += measure_commits(kind, catalog, folder, arguments.commits)
            print(f"| {kind} | {size} |", " | ".join(f"{time:.1f}" for time in times), "|", flush=True)
        print(f"\n| catalog | commits per second, 1 writer | {WRITERS} writers | failed |\n|---|---|---|---|")
        for kind, (catalog, folder) in made.items():
            alone, together, failed = measure_writers(kind, catalog, folder, arguments.seconds)
            print(f"| {kind} | {alone:.0f} | {together:.0f} | {failed} |", flush=True)
        if arguments.s3:
            folder = pathlib.Path(root) / "s3"
            folder.mkdir()
            milliseconds, requests, beside = measure_far_away(folder, arguments.commits)
            print(f"\nA commit to a bucket at {ROUND_TRIP * 1000:.0f} ms: {milliseconds:.1f} ms.", end=" ")
            print(f"It waits for {requests:.2f} requests; beside them there are {beside:.1f} per second.")


if __name__ == "__main__":
    main()
