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
# The programs in it name their folder, so it is made where it stays.
if [ ! -e "$duckdb/complete" ]; then
  echo "interop/duckdb: fetching DuckDB from PyPI into $duckdb" >&2
  rm -rf "$duckdb"
  python3 -m venv "$duckdb"
  "$duckdb/bin/python" -m pip install -q --disable-pip-version-check -r "$here/requirements.txt" >&2
  touch "$duckdb/complete"
fi
echo "$duckdb"
