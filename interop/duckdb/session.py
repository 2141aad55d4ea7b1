"""The session of run.sh."""

import json
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import duckdb

connection = duckdb.connect()
for extension in ("httpfs", "tpch"):
    package = Path(find_spec(f"duckdb_extension_{extension}").origin).parent
    connection.load_extension(str(next(package.glob(f"extensions/*/{extension}.duckdb_extension"))))


def timed(query):
    start, cpu = time.perf_counter(), time.process_time()
    for _batch in connection.sql(query).to_arrow_reader(100_000):
        pass
    return [{"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}]


def run(statement):
    try:
        if statement.startswith("time "):
            return {"ok": True, "rows": timed(statement.removeprefix("time "))}
        found = connection.execute(statement)
        names = [column[0] for column in found.description or []]
        return {"ok": True, "rows": [dict(zip(names, row)) for row in found.fetchall()]}
    except Exception as error:  # whatever it is, the caller says whether it was expected
        return {"ok": False, "error": str(error)}


answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    print(json.dumps(run(json.loads(line)), default=str), file=answers, flush=True)
