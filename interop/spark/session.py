"""The session of run.sh."""

import json
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

from pyspark.sql import SparkSession  # noqa: E402, after the environment

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


def timed(query):
    """What a query takes whose rows are thrown away."""
    system = session.sparkContext._jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
    start, cpu = time.perf_counter(), system.getProcessCpuTime()
    session.sql(query).write.format("noop").mode("overwrite").save()
    return [{"seconds": time.perf_counter() - start, "cpu_seconds": (system.getProcessCpuTime() - cpu) / 1e9}]


def run(statement):
    try:
        if statement.startswith("time "):
            return {"ok": True, "rows": timed(statement.removeprefix("time "))}
        if statement.startswith("parameters "):
            return {"ok": True, "rows": parameters(statement.removeprefix("parameters "))}
        rows = [row.asDict(recursive=True) for row in session.sql(statement).collect()]
        return {"ok": True, "rows": rows}
    except Exception as error:  # whatever it is, the test says whether it was expected
        return {"ok": False, "error": str(error).split("JVM stacktrace")[0].strip()}


answers = os.fdopen(os.dup(1), "w")
for line in sys.stdin:
    print(json.dumps(run(json.loads(line)), default=str), file=answers, flush=True)
session.stop()
