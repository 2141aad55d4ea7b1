package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Types;

/** Those of the {@link Scenarios} that are about Avro data files alone. */
final class AvroScenarios {
  static final Map<String, Scenarios.Scenario> ALL = new TreeMap<>();

  private static final Schema MAPS =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "by_long", Types.MapType.ofOptional(3, 4, Types.LongType.get(), Types.StringType.get())),
          required(5, "by_day", Types.MapType.ofRequired(6, 7, Types.DateType.get(), Types.UUIDType.get())),
          optional(8, "by_point", Types.MapType.ofOptional(9, 10,
              Types.StructType.of(required(11, "x", Types.IntegerType.get()), optional(12, "y", Types.DecimalType.of(9, 2))),
              Types.ListType.ofOptional(13, Types.MapType.ofRequired(14, 15, Types.StringType.get(), Types.FixedType.ofLength(3))))),
          optional(16, "lists", Types.ListType.ofOptional(17, Types.ListType.ofRequired(18, Types.TimestampNanoType.withZone()))),
          required(19, "inner", Types.StructType.of(
              optional(20, "same", Types.DecimalType.of(9, 2)), required(21, "more", Types.FixedType.ofLength(3)))));

  static {
    ALL.put("avro-data", maker -> appended(maker.table(Scenarios.SMALL, PartitionSpec.unpartitioned())));
    ALL.put("avro-plaintext", maker -> appended(maker.plaintext(Scenarios.SMALL, PartitionSpec.unpartitioned())));
    ALL.put("avro-maps", maker -> maps(maker.table(MAPS, PartitionSpec.unpartitioned())));
    ALL.put("avro-codecs", AvroScenarios::codecs);
    ALL.put("avro-blocks", AvroScenarios::blocks);
    ALL.put("opaque-types", AvroScenarios::opaqueTypes);
    ALL.put("name-mapping", NamelessFiles::scenario);
  }

  private AvroScenarios() {}

  private static FolderTable appended(FolderTable table) {
    table.append(FileFormat.AVRO, Scenarios.plainRows(table, 10, 0));
    return table;
  }

  private static FolderTable maps(FolderTable table) {
    table.append(FileFormat.AVRO, RowMaker.rows(MAPS, 30, 0, 7, true));
    table.append(FileFormat.PARQUET, RowMaker.rows(MAPS, 10, 100, 8, true));
    return table;
  }

  /** Columns of types that few can read, beside others; some files have them, or nulls in their place. */
  private static FolderTable opaqueTypes(TableMaker maker) {
    FolderTable table = maker.table(Scenarios.SMALL, PartitionSpec.unpartitioned());
    table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 10, 0));
    table.table.updateSchema()
        .addColumn("nothing", Types.UnknownType.get())
        .addColumn("odd", Types.VariantType.get())
        .addColumn("inner", Types.StructType.of(
            optional(101, "n", Types.IntegerType.get()), optional(102, "nothing", Types.UnknownType.get())))
        .commit();
    for (FileFormat format : List.of(FileFormat.PARQUET, FileFormat.AVRO)) {
      List<Record> rows = Scenarios.plainRows(table, 10, format == FileFormat.AVRO ? 200 : 100);
      table.append(format, rows);
    }
    table.table.updateSchema()
        .addColumn("shape", Types.GeometryType.of("srid:3857"))
        .addColumn("place", Types.GeographyType.crs84())
        .commit();
    return table;
  }

  /** A file of each codec. */
  private static FolderTable codecs(TableMaker maker) {
    FolderTable table = maker.table(AllTypes.SCHEMA, PartitionSpec.unpartitioned());
    long first = 0;
    for (String codec : List.of("uncompressed", "gzip", "snappy", "zstd")) {
      table.table.updateProperties().set(TableProperties.AVRO_COMPRESSION, codec).commit();
      table.append(FileFormat.AVRO, RowMaker.rows(AllTypes.SCHEMA, 20, first, first, true));
      first += 100;
    }
    return table;
  }

  /** A file of many blocks, of which it takes several to make one of an encrypted file; then deletes here and there. */
  private static FolderTable blocks(TableMaker maker) {
    FolderTable table = maker.table(Scenarios.SMALL, PartitionSpec.unpartitioned(), Map.of(
        TableProperties.AVRO_COMPRESSION, "uncompressed"));
    List<DataFile> files = new ArrayList<>(table.append(FileFormat.AVRO, Scenarios.plainRows(table, 40_000, 0)));
    files.addAll(table.append(FileFormat.AVRO, Scenarios.plainRows(table, 5_000, 100_000)));
    List<FileMaker.Position> some = new ArrayList<>();
    for (DataFile file : files) {
      for (long row = 7; row < file.recordCount(); row += row % 5 == 0 ? 1 : 61) {
        some.add(new FileMaker.Position(file, row));
      }
    }
    table.delete(some);
    return table;
  }
}
