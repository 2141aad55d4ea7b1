package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema.Parser;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.types.Types;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** A table of files that other programs wrote, without field ids: its name mapping says which columns they have. */
final class NamelessFiles {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          optional(2, "name", Types.StringType.get()),
          optional(3, "inner", Types.StructType.of(optional(4, "n", Types.IntegerType.get()), optional(5, "t", Types.StringType.get()))),
          optional(6, "numbers", Types.ListType.ofOptional(7, Types.LongType.get())),
          optional(8, "counts", Types.MapType.ofOptional(9, 10, Types.StringType.get(), Types.IntegerType.get())));

  private static final MessageType PARQUET = MessageTypeParser.parseMessageType(
      """
      message other {
        required int64 id;
        optional binary extra (STRING);
        optional binary name (STRING);
        optional group inner { optional binary t (STRING); optional int32 odd; optional int32 n; }
        optional group numbers (LIST) { repeated group list { optional int64 element; } }
        optional group counts (MAP) { repeated group key_value { required binary key (STRING); optional int32 value; } }
      }
      """);

  private static final String AVRO =
      """
      {"type": "record", "name": "other", "fields": [
        {"name": "counts", "type": ["null", {"type": "map", "values": ["null", "int"]}]},
        {"name": "extra", "type": ["null", "string"]},
        {"name": "name", "type": ["null", "string"]},
        {"name": "inner", "type": ["null", {"type": "record", "name": "i", "fields": [
          {"name": "n", "type": ["int", "null"]}, {"name": "t", "type": ["null", "string"]}]}]},
        {"name": "numbers", "type": ["null", {"type": "array", "items": ["null", "long"]}]},
        {"name": "id", "type": "long"}]}
      """;

  private NamelessFiles() {}

  /** Names change after the files were written; what was dropped has no column any more, and what was added none in them. */
  static FolderTable scenario(TableMaker maker) throws IOException {
    FolderTable table = maker.plaintext(SCHEMA, PartitionSpec.unpartitioned());
    String mapping = NameMappingParser.toJson(MappingUtil.create(table.table.schema()));
    table.table.updateProperties().set(TableProperties.DEFAULT_NAME_MAPPING, mapping).commit();
    Path folder = Path.of(maker.location(), "data");
    Files.createDirectories(folder);
    add(table, parquet(folder.resolve("other.parquet")), FileFormat.PARQUET);
    add(table, avro(folder.resolve("other.avro")), FileFormat.AVRO);
    table.table.updateSchema()
        .renameColumn("name", "title")
        .renameColumn("inner.n", "number")
        .updateColumn("inner.n", Types.LongType.get())
        .addColumn("extra", Types.StringType.get())
        .moveFirst("numbers")
        .commit();
    table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 5, 100));
    table.append(FileFormat.AVRO, Scenarios.plainRows(table, 5, 200));
    return table;
  }

  private static void add(FolderTable table, File file, FileFormat format) {
    table.table.newAppend()
        .appendFile(DataFiles.builder(table.table.spec())
            .withPath(file.toString())
            .withFormat(format)
            .withFileSizeInBytes(file.length())
            .withRecordCount(10)
            .build())
        .commit();
  }

  private static File parquet(Path path) throws IOException {
    SimpleGroupFactory groups = new SimpleGroupFactory(PARQUET);
    try (ParquetWriter<Group> writer = ExampleParquetWriter.builder(new LocalOutputFile(path)).withType(PARQUET).build()) {
      for (int i = 0; i < 10; i++) {
        Group row = groups.newGroup().append("id", (long) i);
        if (i % 3 > 0) {
          row.append("extra", "e" + i).append("name", "n" + i);
          row.addGroup("inner").append("t", "t" + i).append("odd", -i).append("n", i);
          Group numbers = row.addGroup("numbers");
          numbers.addGroup("list").append("element", (long) i);
          numbers.addGroup("list");
          row.addGroup("counts").addGroup("key_value").append("key", "k" + i).append("value", i);
        }
        writer.write(row);
      }
    }
    return path.toFile();
  }

  private static File avro(Path path) throws IOException {
    org.apache.avro.Schema schema = new Parser().parse(AVRO);
    try (DataFileWriter<GenericData.Record> writer = new DataFileWriter<>(new GenericDatumWriter<>(schema))) {
      writer.create(schema, path.toFile());
      for (int i = 0; i < 10; i++) {
        GenericData.Record row = new GenericData.Record(schema);
        row.put("id", 50L + i);
        row.put("extra", "a" + i);
        if (i % 3 > 0) {
          GenericData.Record inner = new GenericData.Record(schema.getField("inner").schema().getTypes().get(1));
          inner.put("n", i);
          inner.put("t", "t" + i);
          row.put("name", "n" + i);
          row.put("inner", inner);
          row.put("numbers", List.of(1L, (long) i));
          row.put("counts", Map.of("k" + i, i));
        }
        writer.append(row);
      }
    }
    return path.toFile();
  }
}
