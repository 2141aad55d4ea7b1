#!/bin/bash
# Runs a server for tests on a free port of this machine.
#
#   run.sh SERVER FOLDER    prints its URL on a line once it answers, and ends when its input ends
#
# SERVER is moto, seaweedfs or azurite, which have a bucket (container) `lake`, openbao, postgres, or clouds (the KMS of Google
# and Azure); FOLDER is for its files. See setup.sh for what is fetched, and to where.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 2 ] || { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
servers=$("$here/setup.sh")
exec "$servers/venv/bin/python" "$here/serve.py" "$servers" "$1" "$2"
