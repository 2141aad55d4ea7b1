#!/bin/bash
# Spark SQL with Iceberg over a Hive metastore, one session for many statements.
#
#   run.sh URI FOLDER [PROPERTIES]
#                        a JSON string of one statement per line of stdin, each answered with one line of stdout:
#                        {"ok":true,"rows":[...]}, with rows in the form of interop/java, or {"ok":false,"error":"..."}.
#                        Ends with stdin. The statement `parameters DB.TABLE` shows what the metastore keeps of a table;
#                        `time QUERY` answers with one row of its `seconds` and `cpu_seconds`, and the query's rows are
#                        thrown away.
#
# The metastore at URI is the catalog `locked`, which takes its locks, and `unlocked`, which does without. Both have the KMS of
# Iceberg's tests, with keyA and keyB, unless PROPERTIES, a JSON object of catalog properties, say otherwise: they come on top,
# with Iceberg's classes for AWS in reach. Those named `spark.` are settings of the session instead. The catalog `folder`
# has no metastore, and so no encryption. FOLDER is for Spark's own files. See setup.sh for what is fetched, and to where.
#
# tables/ holds scripts, each the history of a table, for the tests that read what Spark writes: {table} stands for the table,
# {name} for what it is called in its catalog, and {format} for the format of its data files. A query in them is put to both sides.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 2 ] || [ $# = 3 ] || { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
spark=$("$here/setup.sh")
exec "$spark/venv/bin/python" "$here/session.py" "$spark" "$@"
