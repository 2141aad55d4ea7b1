#!/bin/bash
# Builds the DuckDB extension: duckdb/build.sh [--debug] OUT_DIR
#
# OUT_DIR gets lakelock.duckdb_extension and, beside it, the libduckdb.so that it is linked with. DuckDB itself is not built:
# its headers come from the source archive in the crate that headers/Cargo.lock names, its library from npm. Both are fetched
# once, into ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
#
# Needs Linux on x86-64, the Rust toolchain, g++ 12 or newer, Python 3 and npm.
set -euo pipefail

duckdb_version=v1.5.5
duckdb_platform=linux_amd64
duckdb_library=@duckdb/node-bindings-linux-x64@1.5.5-r.5

usage() {
  echo "usage: duckdb/build.sh [--debug] OUT_DIR" >&2
  exit 2
}
profile=release
if [ "${1:-}" = --debug ]; then
  profile=debug
  shift
fi
[ $# -eq 1 ] || usage
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "duckdb/build.sh: builds on Linux on x86-64 alone, this is $(uname -sm)" >&2
  exit 1
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
target=${CARGO_TARGET_DIR:-${TMPDIR:-/tmp}/lakelock-target}
duckdb=$build/duckdb-$(cat "$here/headers/Cargo.lock" "$here/build.sh" | sha256sum | cut -c1-16)

mkdir -p "$build"
exec 9>"$build/duckdb-lock"
flock 9
if [ ! -d "$duckdb" ]; then
  echo "duckdb/build.sh: fetching DuckDB's headers and library into $duckdb" >&2
  rm -rf "$duckdb.new"
  mkdir -p "$duckdb.new"
  crate=$(cargo metadata --locked --format-version 1 --manifest-path "$here/headers/Cargo.toml" | python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(*(os.path.dirname(package["manifest_path"]) for package in packages if package["name"] == "libduckdb-sys"))')
  tar -xzf "$crate/duckdb.tar.gz" -C "$duckdb.new" --strip-components=2 duckdb/src/include
  (cd "$duckdb.new" && tar -xzf "$(npm pack --silent "$duckdb_library")" --strip-components=1 package/libduckdb.so)
  mv "$duckdb.new" "$duckdb"
fi
flock -u 9

cargo_flags=(--locked --package lakelock-ducklake-c --manifest-path "$here/../Cargo.toml")
cxx_flags=(-std=c++20 -fPIC -fvisibility=hidden -DDUCKDB_BUILD_LOADABLE_EXTENSION -Wall -Wextra -Werror)
if [ "$profile" = release ]; then
  cargo_flags+=(--release)
  cxx_flags+=(-O2)
fi
CARGO_TARGET_DIR=$target cargo build "${cargo_flags[@]}" >&2

work=$(mktemp -d "$out/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
# One translation unit: nearly all the time goes into DuckDB's headers.
printf '#include "%s"\n' "$here"/src/*.cpp >"$work/lakelock.cpp"
g++ "${cxx_flags[@]}" -isystem "$duckdb/include" -I "$here/src" -c "$work/lakelock.cpp" -o "$work/lakelock.o"
g++ -shared -s -o "$work/lakelock.duckdb_extension" "$work/lakelock.o" \
  "$target/$profile/liblakelock_ducklake_c.a" "$duckdb/libduckdb.so" \
  -Wl,-rpath,'$ORIGIN' -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,--no-undefined -lpthread -ldl -lm

# What DuckDB reads of a file before it loads it: a custom section of Wasm, with eight fields in reverse and a signature, which
# is empty here.
version=$(cargo metadata --locked --no-deps --format-version 1 --manifest-path "$here/../Cargo.toml" | python3 -c '
import json, sys
print(*(package["version"] for package in json.load(sys.stdin)["packages"] if package["name"] == "lakelock-ducklake-c"))')
field() {
  printf '%s' "$1"
  head -c $((32 - ${#1})) /dev/zero
}
{
  printf '\x00\x93\x04\x10duckdb_signature\x80\x04'
  for value in '' '' '' CPP "v$version" "$duckdb_version" "$duckdb_platform" 4; do
    field "$value"
  done
  head -c 256 /dev/zero
} >>"$work/lakelock.duckdb_extension"

cp "$duckdb/libduckdb.so" "$work/libduckdb.so"
mv "$work/libduckdb.so" "$work/lakelock.duckdb_extension" "$out/"
echo "$out/lakelock.duckdb_extension"
