package lakelock.judge;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.parquet.ParquetAccess;
import org.apache.iceberg.parquet.ParquetSchemaUtil;
import org.apache.iceberg.parquet.ParquetUtil;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;

/** A Parquet file of a table: its footer and its rows, and what Java would say of them. */
final class ParquetContent {
  private static final String NAME = "table";
  private static final Set<Integer> LINEAGE =
      Set.of(MetadataColumns.ROW_ID.fieldId(), MetadataColumns.LAST_UPDATED_SEQUENCE_NUMBER.fieldId());

  private final FolderTable table;
  private final ContentFile<?> file;
  private final ParquetMetadata footer;
  private final List<String> bloomFilterFaults;
  private final Schema icebergSchema;

  private ParquetContent(FolderTable table, ContentFile<?> file, ParquetMetadata footer, List<String> bloomFilterFaults) {
    this.table = table;
    this.file = file;
    this.footer = footer;
    this.bloomFilterFaults = bloomFilterFaults;
    this.icebergSchema = writtenWith();
  }

  static ParquetContent open(FolderTable table, ContentFile<?> file) throws IOException {
    byte[] key = file.keyMetadata() == null ? null : ByteBuffers.toByteArray(file.keyMetadata());
    try (ParquetFileReader reader = ParquetAccess.open(table.ops.raw.newInputFile(file.location()), key)) {
      if (!ParquetSchemaUtil.hasIds(reader.getFooter().getFileMetaData().getSchema())) {
        throw new IOException("its Parquet schema has no field ids");
      }
      return new ParquetContent(table, file, reader.getFooter(), new BloomFilters(reader).faults());
    }
  }

  /** The table's schema that the file was written with: the same Parquet columns, else the same field ids. */
  private Schema writtenWith() {
    MessageType written = parquetSchema();
    Schema converted = ParquetSchemaUtil.convert(written);
    Schema similar = null;
    for (Schema candidate : table.table.schemas().values()) {
      Schema full = withLineage(candidate, converted);
      if (ParquetSchemaUtil.convert(full, NAME).equals(written)) {
        return full;
      }
      if (TypeUtil.getProjectedIds(full).equals(TypeUtil.getProjectedIds(converted))) {
        similar = full;
      }
    }
    return similar == null ? converted : similar;
  }

  private static Schema withLineage(Schema schema, Schema file) {
    List<Types.NestedField> fields = new ArrayList<>(schema.columns());
    file.columns().stream().filter(field -> LINEAGE.contains(field.fieldId())).forEach(fields::add);
    return new Schema(fields);
  }

  /** The file's columns as Iceberg has them, row lineage columns too. */
  Schema icebergSchema() {
    return icebergSchema;
  }

  /** The columns that the table itself has. */
  Schema tableSchema() {
    return TypeUtil.selectNot(icebergSchema, LINEAGE);
  }

  /** The lines of the Parquet schema that Java would write in another way, or not at all. */
  List<String> strangeColumns() {
    return linesOnlyIn(parquetSchema(), ParquetSchemaUtil.convert(icebergSchema, NAME));
  }

  /** The lines of the Parquet schema that Java would write and that are not there. */
  List<String> missingColumns() {
    return linesOnlyIn(ParquetSchemaUtil.convert(icebergSchema, NAME), parquetSchema());
  }

  private static List<String> linesOnlyIn(MessageType one, MessageType other) {
    List<String> lines = new ArrayList<>(one.toString().lines().map(String::strip).toList());
    lines.removeAll(other.toString().lines().map(String::strip).toList());
    return lines;
  }

  private MessageType parquetSchema() {
    return new MessageType(NAME, footer.getFileMetaData().getSchema().getFields());
  }

  /** See {@link BloomFilters#faults}. */
  List<String> bloomFilterFaults() {
    return bloomFilterFaults;
  }

  List<Long> splitOffsets() {
    return ParquetUtil.getSplitOffsets(footer);
  }

  Metrics footerMetrics(MetricsConfig config) {
    return ParquetUtil.footerMetrics(footer, Stream.empty(), config);
  }

  /** Writes the rows anew with Java's writer, to nowhere, and returns what it says of them. */
  Metrics rewrite(MetricsConfig config) throws IOException {
    FileAppender<Record> writer =
        Parquet.write(new Nowhere())
            .schema(icebergSchema)
            .metricsConfig(config)
            .createWriterFunc(GenericParquetWriter::create)
            .build();
    try (writer;
        CloseableIterable<Record> rows = rows()) {
      writer.addAll(rows);
    }
    return writer.metrics();
  }

  /** A row that does not belong to the file's partition; not looked for if the file lacks a column of the partition spec. */
  Optional<Record> strayRow() throws IOException {
    PartitionSpec spec = table.table.specs().get(file.specId());
    if (!spec.fields().stream().allMatch(field -> icebergSchema.findField(field.sourceId()) != null)) {
      return Optional.empty();
    }
    PartitionKey key = new PartitionKey(spec, icebergSchema);
    InternalRecordWrapper wrapper = new InternalRecordWrapper(icebergSchema.asStruct());
    try (CloseableIterable<Record> rows = rows()) {
      for (Record row : rows) {
        key.partition(wrapper.wrap(row));
        for (int i = 0; i < key.size(); i++) {
          if (!Objects.equals(key.get(i, Object.class), file.partition().get(i, Object.class))) {
            return Optional.of(row);
          }
        }
      }
    }
    return Optional.empty();
  }

  private CloseableIterable<Record> rows() {
    Map<Integer, Object> lineage = new HashMap<>();
    LINEAGE.forEach(id -> lineage.put(id, 0L)); // without a value to inherit Java passes over the columns
    return FormatModelRegistry.<Record, Object>readBuilder(FileFormat.PARQUET, Record.class, input())
        .project(icebergSchema)
        .idToConstant(lineage)
        .build();
  }

  private InputFile input() {
    return file instanceof DataFile data
        ? table.table.io().newInputFile(data)
        : table.table.io().newInputFile((DeleteFile) file);
  }

  /** Takes a file's bytes and keeps none. */
  private static final class Nowhere implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return createOrOverwrite();
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return new CountingOutputStream(OutputStream.nullOutputStream());
    }

    @Override
    public String location() {
      return "nowhere";
    }

    @Override
    public InputFile toInputFile() {
      throw new UnsupportedOperationException();
    }
  }
}
