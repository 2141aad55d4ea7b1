#!/bin/bash
# Gets what interop/spark and interop/hive run on, and prints the folder that it is in: PySpark (pip), whose jars hold a
# Hive metastore as well, Iceberg's Spark runtime and AWS bundle (Maven) and the test classes of this folder. The first time
# takes minutes and 1 GB; afterwards nothing is fetched.
#
# Built once per state of the sources, in ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
# Needs Python 3.10 or newer with venv, a JDK 17 and Maven.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}
spark=$build/spark-$(cd "$here" && find . -name '*.txt' -o -name '*.java' -o -name setup.sh | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)
# The large part is shared by all states that want the same version.
python=$build/pyspark-$(sha256sum <"$here/requirements.txt" | cut -c1-16)

fetch() { # group:artifact:version
  local name=${1#*:}
  mvn -B -q -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    -Dartifact="$1" -DoutputDirectory="$spark.new/jars" >&2
  [ -s "$spark.new/jars/${name/:/-}.jar" ]
}

mkdir -p "$build"
exec 9>"$build/spark-lock"
flock 9
if [ ! -d "$python" ]; then
  echo "interop/spark: fetching PySpark into $python, 430 MB" >&2
  rm -rf "$python.new"
  python3 -m venv "$python.new"
  "$python.new/bin/python" -m pip install -q --disable-pip-version-check -r "$here/requirements.txt" >&2
  mv "$python.new" "$python"
fi
if [ ! -d "$spark" ]; then
  echo "interop/spark: fetching Iceberg's Spark runtime and compiling" >&2
  rm -rf "$spark.new"
  mkdir -p "$spark.new/jars" "$spark.new/hive" "$spark.new/classes"
  fetch org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
  fetch com.lmax:disruptor:3.4.4
  mv "$spark.new"/jars/disruptor-*.jar "$spark.new/hive/"
  fetch org.apache.iceberg:iceberg-aws-bundle:1.12.0
  mkdir "$spark.new/aws"
  mv "$spark.new"/jars/iceberg-aws-bundle-*.jar "$spark.new/aws/"
  pyspark=$(echo "$python"/lib/python*/site-packages/pyspark)
  javac -nowarn --release 17 -d "$spark.new/classes" -cp "$spark.new/jars/*:$pyspark/jars/*" "$here"/java/lakelock/judge/*.java >&2
  jar --create --file "$spark.new/jars/lakelock-judge.jar" -C "$spark.new/classes" .
  ln -s "$pyspark" "$spark.new/pyspark"
  ln -s "$python" "$spark.new/venv"
  mv "$spark.new" "$spark"
fi
echo "$spark"
