#!/usr/bin/env bash
# Every check of this repository, from a clean checkout: format, lints, docs, and all tests with Java as the judge.
# Needs a Rust toolchain, a C and a C++ compiler, a JDK 17, Maven, npm, Python 3.10 with venv, and apt-get or SoftHSM; jars, crates and
# the servers that tests run against come from their registries.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in cargo cc g++ java javac jar mvn node npm python3 flock; do
  command -v "$tool" >/dev/null || { echo "test.sh: $tool is needed and was not found" >&2; exit 1; }
done
command -v softhsm2-util >/dev/null || command -v apt-get >/dev/null || {
  echo "test.sh: SoftHSM is needed (softhsm2-util) where there is no apt-get to fetch it" >&2
  exit 1
}

# Outside the checkout, so that a fresh clone starts warm.
# What a checkout elsewhere has left of half-compiled crates is no help to this one.
export CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${TMPDIR:-/tmp}/lakelock-target}"

echo "== the Java judge"
interop/java/run.sh keymeta 0120000102030405060708090a0b0c0d0e0f00 >/dev/null
# The judge's own tests: that it finds what is wrong.
mvn -B -q -Dstyle.color=never -f interop/java/pom.xml test

echo "== Spark and the Hive metastore (fetched the first time, and kept outside the checkout)"
interop/spark/setup.sh >/dev/null

echo "== cloud servers for tests (fetched the first time, and kept outside the checkout)"
interop/servers/setup.sh >/dev/null

echo "== DuckDB (fetched the first time, and kept outside the checkout)"
interop/duckdb/setup.sh >/dev/null

echo "== format"
cargo fmt --all --check

echo "== lints"
cargo clippy --workspace --all-targets --locked -- -D warnings
# The program without any cloud.
cargo clippy -p lakelock --no-default-features --locked -- -D warnings

echo "== documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

echo "== tests"
cargo test --workspace --locked --no-fail-fast

echo "== DuckDB and DuckLake"
duckdb/test.sh
