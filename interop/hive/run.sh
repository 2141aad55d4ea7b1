#!/bin/bash
# A real Hive metastore, over an embedded database in a folder, with the tables that locks need.
#
#   run.sh FOLDER    prints its URI once it answers, and ends when its input ends
#
# The jars are those that come with PySpark: see interop/spark/setup.sh for what is fetched, and to where.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?usage: run.sh FOLDER}
mkdir -p "$folder"
spark=$("$here/../spark/setup.sh")

# Hive looks into classes that Java 17 closes.
open=()
for package in java.lang java.net java.util java.util.concurrent; do
  open+=("--add-opens=java.base/$package=ALL-UNNAMED")
done
exec java -Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "${open[@]}" \
  -cp "$spark/hive/*:$spark/jars/lakelock-judge.jar:$spark/pyspark/jars/*" lakelock.judge.Metastore "$folder"
