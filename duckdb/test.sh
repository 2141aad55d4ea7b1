#!/bin/bash
# Tests the DuckDB extension with the released DuckDB and the released DuckLake: duckdb/test.sh [SCENARIO...]
#
# LAKELOCK_EXTENSION names a built extension and LAKELOCK the program; without them, they are built. The last line is
# `N passed, N failed`.
# See interop/duckdb/setup.sh for where DuckDB comes from.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$("$here/../interop/duckdb/setup.sh")

if [ -z "${LAKELOCK_EXTENSION:-}" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  LAKELOCK_EXTENSION=$("$here/build.sh" --debug "$out")
fi
if [ -z "${LAKELOCK:-}" ]; then
  target=${CARGO_TARGET_DIR:-${TMPDIR:-/tmp}/lakelock-target}
  # With the features that the tests of the workspace have, which have built it already.
  CARGO_TARGET_DIR=$target cargo test --no-run --locked --workspace --manifest-path "$here/../Cargo.toml" >&2
  LAKELOCK=$target/debug/lakelock
fi
export LAKELOCK LAKELOCK_EXTENSION PYTHONDONTWRITEBYTECODE=1
export PATH="$python/bin:$PATH"
"$python/bin/python" "$here/tests/run.py" "$@"
