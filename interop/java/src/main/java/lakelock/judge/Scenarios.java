package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** The tables that {@code write SCENARIO DIR} makes, each a history of a few commits. */
final class Scenarios {
  private static final long DAY_MS = 24L * 60 * 60 * 1000;

  static final Schema SMALL =
      new Schema(required(1, "id", Types.LongType.get()), optional(2, "name", Types.StringType.get()));

  private static final Schema TIMES =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "name", Types.StringType.get()),
          optional(3, "day", Types.DateType.get()),
          optional(4, "at", Types.TimestampType.withoutZone()),
          optional(5, "at_utc", Types.TimestampType.withZone()),
          optional(6, "at_nanos", Types.TimestampNanoType.withoutZone()));

  private static final Map<String, Scenario> ALL = new TreeMap<>();

  static {
    ALL.put("types", Scenarios::types);
    ALL.put("empty", maker -> maker.table(SMALL, PartitionSpec.unpartitioned()));
    ALL.put("empty-snapshot", Scenarios::emptySnapshot);
    ALL.put("unpartitioned", maker -> appends(maker.table(SMALL, PartitionSpec.unpartitioned()), 3));
    ALL.put("plaintext", maker -> appends(maker.plaintext(SMALL, PartitionSpec.unpartitioned()), 3));
    ALL.put("partitioned-identity", maker -> appends(maker.table(TIMES, spec(TIMES).identity("name").build()), 2));
    ALL.put("partitioned-identity-types", Scenarios::identityTypes);
    ALL.put("partitioned-identity-fixed", Scenarios::identityFixed);
    ALL.put("partitioned-bucket", maker -> appends(maker.table(TIMES, spec(TIMES).bucket("id", 4).build()), 2));
    ALL.put("partitioned-truncate", maker -> appends(maker.table(TIMES, spec(TIMES).truncate("name", 2).truncate("id", 10).build()), 2));
    ALL.put("partitioned-year", maker -> appends(maker.table(TIMES, spec(TIMES).year("day").build()), 2));
    ALL.put("partitioned-month", maker -> appends(maker.table(TIMES, spec(TIMES).month("at").build()), 2));
    ALL.put("partitioned-day", maker -> appends(maker.table(TIMES, spec(TIMES).day("at_utc").build()), 2));
    ALL.put("partitioned-hour", maker -> appends(maker.table(TIMES, spec(TIMES).hour("at_nanos").build()), 2));
    ALL.put("partition-evolved", Scenarios::partitionEvolved);
    ALL.put("partition-summaries", Scenarios::partitionSummaries);
    ALL.put("evolved", Scenarios::evolved);
    ALL.put("gzip-metadata", maker -> appends(maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(TableProperties.METADATA_COMPRESSION, "gzip")), 2));
    ALL.put("many-manifests", maker -> appends(maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(TableProperties.MANIFEST_MIN_MERGE_COUNT, "3")), 10));
    ALL.put("metrics-modes", Scenarios::metricsModes);
    ALL.put("key24", maker -> appends(maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(TableProperties.ENCRYPTION_DEK_LENGTH, "24")), 2));
    ALL.put("key32", maker -> appends(maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(TableProperties.ENCRYPTION_DEK_LENGTH, "32")), 2));
    ALL.put("bloom-filters", maker -> bloomFilters(maker, "16"));
    ALL.put("bloom-filters-key24", maker -> bloomFilters(maker, "24"));
    ALL.put("several-keks", Scenarios::severalKeks);
    ALL.putAll(DeleteScenarios.ALL);
    ALL.putAll(AvroScenarios.ALL);
    ALL.put("compacted", Scenarios::compacted);
    ALL.put("branches", Scenarios::branches);
    ALL.put("versions", Scenarios::versions);
  }

  private Scenarios() {}

  /** Makes a table's history. */
  interface Scenario {
    FolderTable write(TableMaker maker) throws IOException;
  }

  static Set<String> names() {
    return ALL.keySet();
  }

  static FolderTable write(String name, TableMaker maker) throws IOException {
    Scenario scenario = ALL.get(name);
    for (String format : List.of("avro", "mixed")) {
      // The same history with data and delete files in Avro, all or every other one.
      if (scenario == null && name.startsWith(format + "-")) {
        Scenario inParquet = ALL.get(name.substring(format.length() + 1));
        scenario = inParquet == null ? null : made -> inParquet.write(made.with(FileMaker.FORMAT, format));
      }
    }
    if (scenario == null) {
      throw new Arguments.Usage("unknown scenario " + name + "; there are " + String.join(", ", names()));
    }
    return scenario.write(maker);
  }

  static PartitionSpec.Builder spec(Schema schema) {
    return PartitionSpec.builderFor(schema);
  }

  /** As many commits of 14 rows, the first rows of each with nulls, extremes and odd values. */
  static FolderTable appends(FolderTable table, int commits) {
    for (int i = 0; i < commits; i++) {
      table.append(FileFormat.PARQUET, RowMaker.rows(table.table.schema(), 14, 100L * i, i, true));
    }
    return table;
  }

  static List<Record> plainRows(FolderTable table, int rows, long first) {
    return RowMaker.rows(table.table.schema(), rows, first, first, false);
  }

  private static FolderTable types(TableMaker maker) {
    FolderTable table = maker.table(AllTypes.SCHEMA, PartitionSpec.unpartitioned());
    table.append(FileFormat.PARQUET, RowMaker.rows(AllTypes.SCHEMA, 24, 0, 1, true));
    table.append(FileFormat.PARQUET, RowMaker.rows(AllTypes.SCHEMA, 40, 1000, 2, false));
    return table;
  }

  private static FolderTable emptySnapshot(TableMaker maker) {
    FolderTable table = maker.table(SMALL, PartitionSpec.unpartitioned());
    table.table.newAppend().commit();
    return table;
  }

  private static FolderTable identityTypes(TableMaker maker) {
    PartitionSpec.Builder spec = spec(AllTypes.PRIMITIVES);
    for (Types.NestedField column : AllTypes.PRIMITIVES.columns()) {
      if (column.type().typeId() != Type.TypeID.FIXED) {
        spec.identity(column.name());
      }
    }
    FolderTable table = maker.table(AllTypes.PRIMITIVES, spec.build());
    table.append(FileFormat.PARQUET, RowMaker.rows(AllTypes.PRIMITIVES, 8, 0, 3, true));
    return table;
  }

  /** Iceberg 1.12.0 puts a length before a fixed partition value, so that no other Avro reader can read the manifest. */
  private static FolderTable identityFixed(TableMaker maker) {
    FolderTable table = maker.table(AllTypes.PRIMITIVES, spec(AllTypes.PRIMITIVES).identity("bytes16").build());
    table.append(FileFormat.PARQUET, RowMaker.rows(AllTypes.PRIMITIVES, 4, 0, 3, true));
    return table;
  }

  private static FolderTable partitionEvolved(TableMaker maker) {
    FolderTable table = appends(maker.table(TIMES, PartitionSpec.unpartitioned()), 1);
    table.table.updateSpec().addField(Expressions.month("day")).commit();
    appends(table, 1);
    table.table.updateSpec().addField("id_bucket", Expressions.bucket("id", 4)).removeField("day_month").commit();
    return appends(table, 1);
  }

  /** No name and the name "null" share a folder, and with it a summary; three folders are too many to have any. */
  private static FolderTable partitionSummaries(TableMaker maker) {
    FolderTable table = maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(TableProperties.WRITE_PARTITION_SUMMARY_LIMIT, "2"));
    named(table, "a");
    table.table.updateSpec().addField("name").commit();
    named(table, null, "null", "x/y z", null);
    named(table, "a", "b", "c");
    return table;
  }

  private static void named(FolderTable table, String... names) {
    List<Record> rows = new ArrayList<>();
    for (String name : names) {
      Record row = GenericRecord.create(table.table.schema());
      row.setField("id", (long) rows.size());
      row.setField("name", name);
      rows.add(row);
    }
    table.append(FileFormat.PARQUET, rows);
  }

  private static FolderTable evolved(TableMaker maker) {
    Schema first =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "small", Types.IntegerType.get()),
            optional(3, "ratio", Types.FloatType.get()),
            optional(4, "price", Types.DecimalType.of(9, 2)),
            optional(5, "name", Types.StringType.get()),
            optional(6, "gone", Types.StringType.get()),
            optional(7, "point", Types.StructType.of(
                optional(8, "x", Types.IntegerType.get()), optional(9, "y", Types.IntegerType.get()))));
    FolderTable table = appends(maker.table(first, PartitionSpec.unpartitioned()), 1);
    table.table.updateSchema().renameColumn("name", "title").deleteColumn("gone").commit();
    appends(table, 1);
    table.table.updateSchema()
        .updateColumn("small", Types.LongType.get())
        .updateColumn("ratio", Types.DoubleType.get())
        .updateColumn("price", Types.DecimalType.of(18, 2))
        .updateColumn("point.x", Types.LongType.get())
        .commit();
    table.table.updateSchema()
        .addColumn("country", Types.StringType.get(), Literal.of("unknown"))
        .addRequiredColumn("level", Types.IntegerType.get(), Literal.of(7))
        .addColumn("note", Types.StringType.get())
        .addColumn("point", "z", Types.IntegerType.get(), Literal.of(-1))
        .commit();
    appends(table, 1);
    table.table.updateSchema().moveFirst("note").moveAfter("id", "title").addColumn("gone", Types.LongType.get()).commit();
    return appends(table, 1);
  }

  private static FolderTable metricsModes(TableMaker maker) {
    String column = TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX;
    FolderTable table = maker.table(AllTypes.SCHEMA, PartitionSpec.unpartitioned(), Map.of(
        TableProperties.DEFAULT_WRITE_METRICS_MODE, "counts",
        column + "text", "truncate(3)",
        column + "raw", "full",
        column + "bytes16", "truncate(2)",
        column + "f64", "full",
        column + "i32", "none",
        column + "nested.inner", "full"));
    return appends(table, 1);
  }

  /** A file of row groups with ids that are multiples of three in no order, so that statistics cannot tell what is not there. */
  private static FolderTable bloomFilters(TableMaker maker, String keyLength) {
    FolderTable table = maker.table(SMALL, PartitionSpec.unpartitioned(), Map.of(
        TableProperties.ENCRYPTION_DEK_LENGTH, keyLength,
        TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, "2048",
        TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT, "200",
        TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT, "200",
        TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES, "4096",
        TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX + "id", "true",
        TableProperties.PARQUET_BLOOM_FILTER_COLUMN_ENABLED_PREFIX + "name", "true"));
    List<Record> rows = new ArrayList<>();
    for (long i = 0; i < 1000; i++) {
      Record row = GenericRecord.create(table.table.schema());
      long id = 3 * (i * 617 % 1000);
      row.setField("id", id);
      row.setField("name", "name " + id);
      rows.add(row);
    }
    table.append(FileFormat.PARQUET, rows);
    return table;
  }

  /** Three commits, each a KEK's lifespan after the one before. */
  private static FolderTable severalKeks(TableMaker maker) {
    FolderTable table = appends(maker.table(SMALL, PartitionSpec.unpartitioned()), 1);
    table.ops.setTimeShift(731 * DAY_MS);
    appends(table, 1);
    table.ops.setTimeShift(2 * 731 * DAY_MS);
    return appends(table, 1);
  }

  /** After compaction the data file carries its rows' ids and sequence numbers as columns. */
  private static FolderTable compacted(TableMaker maker) throws IOException {
    FolderTable table = appends(maker.table(SMALL, PartitionSpec.unpartitioned()), 3);
    Compaction.run(table, FileFormat.PARQUET);
    return appends(table, 1);
  }

  private static FolderTable branches(TableMaker maker) {
    FolderTable table = appends(maker.table(SMALL, PartitionSpec.unpartitioned()), 1);
    long base = table.table.currentSnapshot().snapshotId();
    table.table.manageSnapshots().createBranch("side", base).createTag("first", base).commit();
    var toSide = table.table.newAppend().toBranch("side");
    table.files.data(FileFormat.PARQUET, plainRows(table, 5, 500)).forEach(toSide::appendFile);
    toSide.commit();
    return appends(table, 1);
  }

  /** Branches and tags on both sides of changes to the schema, a rollback, files removed and a merged manifest. */
  private static FolderTable versions(TableMaker maker) {
    Map<String, String> properties = Map.of(TableProperties.MANIFEST_MIN_MERGE_COUNT, "2");
    FolderTable table = appends(maker.table(SMALL, spec(SMALL).bucket("id", 2).build(), properties), 1);
    long first = table.table.currentSnapshot().snapshotId();
    table.table.manageSnapshots()
        .createTag("v1", first)
        .setMaxRefAgeMs("v1", 1000 * DAY_MS)
        .createBranch("audit", first)
        .setMinSnapshotsToKeep("audit", 3)
        .setMaxSnapshotAgeMs("audit", 7 * DAY_MS)
        .commit();
    table.table.updateSchema().renameColumn("name", "title").addColumn("level", Types.IntegerType.get()).commit();
    var toAudit = table.table.newAppend().toBranch("audit");
    table.files.data(FileFormat.PARQUET, plainRows(table, 5, 500)).forEach(toAudit::appendFile);
    toAudit.commit();
    appends(table, 2);
    long third = table.table.currentSnapshot().snapshotId();
    table.table.newDelete().deleteFromRowFilter(Expressions.alwaysTrue()).commit();
    table.table.manageSnapshots().rollbackTo(third).commit();
    table.table.updateSchema().deleteColumn("level").commit();
    table.table.manageSnapshots().createTag("2026/q1", table.table.currentSnapshot().snapshotId()).commit();
    return appends(table, 1);
  }
}
