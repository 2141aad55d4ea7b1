#!/bin/bash
# Tests the DuckDB extension with the released DuckDB and the released DuckLake: duckdb/test.sh [SCENARIO...]
#
# LAKELOCK_EXTENSION names a built extension; without it, one is built. The last line is `N passed, N failed`.
# DuckDB comes from PyPI, once, into ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
python=$build/duckdb-python-$(sha256sum <"$here/tests/requirements.txt" | cut -c1-16)

mkdir -p "$build"
exec 9>"$build/duckdb-python-lock"
flock 9
if [ ! -d "$python" ]; then
  echo "duckdb/test.sh: fetching DuckDB from PyPI into $python" >&2
  rm -rf "$python.new"
  python3 -m venv "$python.new"
  "$python.new/bin/python" -m pip install -q --disable-pip-version-check -r "$here/tests/requirements.txt" >&2
  mv "$python.new" "$python"
fi
flock -u 9

if [ -z "${LAKELOCK_EXTENSION:-}" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  LAKELOCK_EXTENSION=$("$here/build.sh" --debug "$out")
fi
export LAKELOCK_EXTENSION PYTHONDONTWRITEBYTECODE=1
export PATH="$python/bin:$PATH"
"$python/bin/python" "$here/tests/run.py" "$@"
