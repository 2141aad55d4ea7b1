#!/bin/bash
# Gets DuckDB and its extensions from PyPI, and prints the folder of the Python that has them. The first time takes a
# minute and 300 MB; afterwards nothing is fetched.
#
# Built once per state of the list, in ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
# Needs Python 3.10 or newer with venv.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
duckdb=$build/duckdb-python-$(sha256sum <"$here/requirements.txt" | cut -c1-16)

mkdir -p "$build"
exec 9>"$build/duckdb-python-lock"
flock 9
if [ ! -d "$duckdb" ]; then
  echo "interop/duckdb: fetching DuckDB from PyPI into $duckdb" >&2
  rm -rf "$duckdb.new"
  python3 -m venv "$duckdb.new"
  "$duckdb.new/bin/python" -m pip install -q --disable-pip-version-check -r "$here/requirements.txt" >&2
  mv "$duckdb.new" "$duckdb"
fi
echo "$duckdb"
