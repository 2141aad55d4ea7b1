#!/bin/bash
# The Java judge of Lakelock: Apache Iceberg's own classes reading, checking and writing encrypted tables.
#
#   run.sh read METADATA [--snapshot ID | --ref NAME | --as-of MILLIS]
#                                                      rows as sorted JSON lines, with _row_id and _last_updated_sequence_number
#   run.sh appends METADATA [--from ID] --snapshot ID  rows that appends added after the one snapshot up to the other, likewise
#   run.sh metadata-table METADATA NAME [--snapshot ID]
#                                                      a metadata table's rows as sorted JSON lines, keys replaced
#   run.sh metadata-columns METADATA NAME              its columns and their types
#   run.sh dump METADATA                               keys, manifest lists, manifests and files, all decrypted, as JSON
#   run.sh check METADATA                              reads the snapshots and checks what a good encrypted table keeps; lists what differs
#   run.sh hash METADATA                               Hive's metadata_hash: base64(SHA-256(compact JSON of the parsed metadata))
#   run.sh keymeta HEX                                 StandardKeyMetadata decoded
#   run.sh wrap KEY HEX                                the key HEX, wrapped by the KMS with its key KEY; in hexadecimal
#   run.sh unwrap KEY HEX                              and back
#   run.sh continue METADATA [--format parquet|avro]   append 3 rows, delete one by DV, compact; prints the new metadata location, then the rows
#   run.sh append METADATA [--rows N] [--format F]     append N rows (3 unless told); prints the new metadata location
#   run.sh jdbc FILE NAME WAREHOUSE                    opens an SQLite file as JdbcCatalog of that name, makes made.by_java, sets a property of
#                                                      every table; prints each with its new metadata location
#   run.sh write SCENARIO DIR                          makes a table at DIR (a path or a URI); prints its metadata location, its keys and
#                                                      the rows of every snapshot, as JSON
#   run.sh scenarios                                   the names of the scenarios
#   run.sh fixtures DIR                                writes the vectors of interop/fixtures anew
#   run.sh make-snapshots DIR N                        makes an encrypted table of N snapshots, a tiny file each; prints its metadata location
#   run.sh make-manifests DIR MANIFESTS FILES          makes an encrypted table of so many manifests of so many entries each, whose data
#                                                      files do not exist; prints its metadata location
#   run.sh bench-ags1 [MIB]                            Java's AES GCM streams in memory, AES-128, one thread: write and read in GB/s
#   run.sh bench-commit METADATA N                     N commits of one small file each: each in ms, and the median
#   run.sh bench-plan METADATA ROUNDS SCAN...          plans scans of such a table on one thread: files found, and CPU seconds at best. A
#                                                      SCAN is all, id:FROM:TO, name:ID or part:VALUE
#   run.sh batch                                       one command line per line of stdin, each answered with one line of stdout:
#                                                      {"ok":true|false,"out":"...","err":"..."}. Words are split at blanks, or the line is
#                                                      a JSON array of strings. Ends with stdin.
#
# Options: --key ID=HEX       adds a master key to the in-memory KMS (keyA and keyB of Iceberg's tests are there)
#          --key-id ID        the master key of what `write` makes, instead of keyA
#          --no-kms           no KMS client at all
#          --prop NAME=VALUE  a catalog property: encryption.kms-type=aws, kms.endpoint=..., io=s3, s3.endpoint=...
#          --root URI=FOLDER  locations under URI are files under FOLDER
#          --trace            stack traces on stderr
#
# Exit status: 0 fine, 1 failed (check: something differs), 2 usage.
# Built once per state of the sources, in ${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}.
# LAKELOCK_JUDGE_JAVA_OPTS replaces the options of the JVM.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${LAKELOCK_JUDGE_BUILD:-${TMPDIR:-/tmp}/lakelock-judge-build}

usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
case ${1:-} in
  '') usage >&2; exit 2 ;;
  -h | --help | help) usage; exit 0 ;;
esac

# Checkouts share the folder: what is built carries the hash of what it was built from.
dependencies=$build/classpath-$(sha256sum <"$here/pom.xml" | cut -c1-16)
judge=$build/judge-$(cd "$here" && find pom.xml src/main -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16)

compile() {
  rm -rf "$judge.new"
  mkdir "$judge.new"
  find "$here/src/main/java" -name '*.java' -print0 |
    xargs -0 javac -nowarn --release 17 -d "$judge.new/classes" -cp "$(cat "$dependencies")" >&2
  jar --create --file "$judge.new/judge.jar" -C "$judge.new/classes" .
  rm -rf "$judge.new/classes"
  mv "$judge.new" "$judge"
}

# Loading Iceberg's and Parquet's classes takes most of a short run: an archive of them halves it.
archive() {
  local fixtures=$here/../fixtures metadata
  metadata=$(sed -n 's/^ *"metadata" : "\(.*\)".*/\1/p' "$fixtures/manifest.json")
  printf '["write","types","%s"]\n["check","%s","--root","file:/lakelock-fixture=%s"]\n' "$judge/sample" "$metadata" "$fixtures" |
    java -XX:+UseSerialGC -XX:ArchiveClassesAtExit="$judge/classes.new" -cp "$judge/judge.jar:$(cat "$dependencies")" \
      lakelock.judge.Main batch >/dev/null 2>&1
  mv "$judge/classes.new" "$judge/classes.jsa"
  rm -rf "$judge/sample"
}

if [ ! -s "$dependencies" ] || [ ! -d "$judge" ]; then
  mkdir -p "$build"
  exec 9>"$build/lock"
  flock 9
  if [ ! -s "$dependencies" ]; then
    mvn -B -q -Dstyle.color=never -f "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath \
      -Dmdep.includeScope=runtime -Dmdep.outputFile="$dependencies.new" >&2
    mv "$dependencies.new" "$dependencies"
  fi
  if [ ! -d "$judge" ]; then
    compile
    archive || true
  fi
  exec 9>&-
fi

# The quick compiler suits short runs; what is measured gets the good one.
case $1 in
  bench-*) default='-Xmx4g' ;;
  *) default='-Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1' ;;
esac
[ ! -e "$judge/classes.jsa" ] || default+=" -XX:SharedArchiveFile=$judge/classes.jsa"
read -ra options <<<"${LAKELOCK_JUDGE_JAVA_OPTS:-$default}"
exec java "${options[@]}" -cp "$judge/judge.jar:$(cat "$dependencies")" lakelock.judge.Main "$@"
