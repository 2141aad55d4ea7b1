"""The session of run.sh."""

import datetime
import json
import math
import os
import sys
import time
from pathlib import Path

spark_folder, uri, folder = sys.argv[1:4]
properties = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
session_settings = {key: properties.pop(key) for key in list(properties) if key.startswith("spark.")}
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# The client of AWS KMS has no properties for them, and the server believes any.
os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
# PySpark gives timestamps in the zone of this process.
os.environ["TZ"] = "UTC"
time.tzset()

from pyspark.sql import SparkSession  # noqa: E402, after the environment
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType  # noqa: E402

folders = ["jars", "aws"] if properties else ["jars"]
jars = ":".join(str(jar) for of in folders for jar in sorted(Path(spark_folder, of).glob("*.jar")))
settings = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraClassPath": jars,
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dderby.stream.error.file={folder}/derby.log",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.warehouse.dir": f"{folder}/spark",
    "spark.sql.showMetastoreWarning": "false",
}
for name, locks in (("locked", "true"), ("unlocked", "false")):
    catalog = f"spark.sql.catalog.{name}"
    kms = {} if "encryption.kms-type" in properties else {"encryption.kms-impl": "lakelock.judge.FixedKms"}
    settings |= {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hive",
        f"{catalog}.uri": uri,
        f"{catalog}.warehouse": f"{folder}/warehouse",
        f"{catalog}.cache-enabled": "false",
        f"{catalog}.hadoop.iceberg.engine.hive.lock-enabled": locks,
    }
    settings |= {f"{catalog}.{key}": value for key, value in (kms | properties).items()}
settings |= session_settings

# A metastore does not know all types of columns.
settings |= {
    "spark.sql.catalog.folder": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.folder.type": "hadoop",
    "spark.sql.catalog.folder.warehouse": f"{folder}/folder",
    "spark.sql.catalog.folder.cache-enabled": "false",
}

builder = SparkSession.builder
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")


def parameters(table):
    """The parameters and columns of a table in the metastore."""
    jvm = session.sparkContext._jvm
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    conf.set("hive.metastore.uris", uri)
    client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)
    try:
        found = client.getTable(*table.split("."))
        columns = [[c.getName(), c.getType(), c.getComment()] for c in found.getSd().getCols()]
        storage = [found.getSd().getInputFormat(), found.getSd().getSerdeInfo().getSerializationLib(), found.getTableType()]
        return [{"parameters": dict(found.getParameters()), "columns": columns, "storage": storage}]
    finally:
        client.close()


def cpu_seconds():
    """The CPU time that the engine's process has had so far."""
    pid = session.sparkContext._gateway.proc.pid
    # The name of the program, in parentheses, may have anything in it; the times are the 14th and 15th fields.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(query):
    """What a query takes whose rows are thrown away."""
    start, cpu = time.perf_counter(), cpu_seconds()
    session.sql(query).write.format("noop").mode("overwrite").save()
    return [{"seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds() - cpu}]


def cell(value, kind):
    """A value in the form that interop/java prints rows in."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        return {field.name: cell(value[at], field.dataType) for at, field in enumerate(kind.fields)}
    if isinstance(kind, ArrayType):
        return [cell(element, kind.elementType) for element in value]
    if isinstance(kind, MapType):
        pairs = [[cell(key, kind.keyType), cell(of_key, kind.valueType)] for key, of_key in value.items()]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0], ensure_ascii=False))
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="microseconds") + ("+00:00" if isinstance(kind, TimestampType) else "")
    return f"{value:f}" if hasattr(value, "as_tuple") else str(value)


def run(statement):
    try:
        if statement.startswith("time "):
            return {"ok": True, "rows": timed(statement.removeprefix("time "))}
        if statement.startswith("parameters "):
            return {"ok": True, "rows": parameters(statement.removeprefix("parameters "))}
        answer = session.sql(statement)
        return {"ok": True, "rows": [cell(row, answer.schema) for row in answer.collect()]}
    except Exception as error:  # whatever it is, the test says whether it was expected
        return {"ok": False, "error": str(error).split("JVM stacktrace")[0].strip()}


answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), file=answers, flush=True)
session.stop()
