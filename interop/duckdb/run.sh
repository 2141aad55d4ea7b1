#!/bin/bash
# One session of DuckDB, in memory, for many statements.
#
#   run.sh    a JSON string of one statement per line of stdin, each answered with one line of stdout:
#             {"ok":true,"rows":[...]} or {"ok":false,"error":"..."}. Ends with stdin. The statement
#             `time QUERY` answers with one row of its `seconds` and `cpu_seconds`; the query's rows, as batches of Arrow, are
#             thrown away.
#
# The extensions httpfs and tpch are loaded. See setup.sh for what is fetched, and to where.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 0 ] || { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
exec "$("$here/setup.sh")/bin/python" "$here/session.py"
