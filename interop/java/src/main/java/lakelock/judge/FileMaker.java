package lakelock.judge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.DeleteWriteResult;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.TypeUtil;

/** Writes a table's data and delete files with Java's generic writers; commits nothing. */
final class FileMaker {
  /** Table properties of the judge's own: what the files of scenarios are instead of Parquet, {@code avro} or {@code mixed}. */
  static final String FORMAT = "lakelock.judge.format";

  private final Table table;
  private int task = 0;

  FileMaker(Table table) {
    this.table = table;
  }

  /** A row of a data file. */
  record Position(DataFile file, long row) {}

  /** A data file for each partition of the rows. */
  List<DataFile> data(FileFormat format, List<Record> rows) {
    return data(format, table.schema(), rows);
  }

  List<DataFile> data(FileFormat format, Schema schema, List<Record> rows) {
    PartitionSpec spec = table.spec();
    if (spec.isUnpartitioned()) {
      return List.of(dataFile(format, schema, null, rows));
    }
    Map<PartitionKey, List<Record>> partitions = new LinkedHashMap<>();
    PartitionKey key = new PartitionKey(spec, schema);
    InternalRecordWrapper wrapper = new InternalRecordWrapper(schema.asStruct());
    for (Record row : rows) {
      key.partition(wrapper.wrap(row));
      partitions.computeIfAbsent(key.copy(), k -> new ArrayList<>()).add(row);
    }
    List<DataFile> files = new ArrayList<>();
    partitions.forEach((partition, its) -> files.add(dataFile(format, schema, partition, its)));
    return files;
  }

  private DataFile dataFile(FileFormat asked, Schema schema, StructLike partition, List<Record> rows) {
    FileFormat format = format(asked);
    GenericFileWriterFactory factory =
        new GenericFileWriterFactory.Builder(table).dataFileFormat(format).dataSchema(schema).build();
    DataWriter<Record> writer = factory.newDataWriter(output(format, partition), table.spec(), partition);
    try (writer) {
      rows.forEach(writer::write);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return writer.toDataFile();
  }

  /** A delete file of the current spec: all rows of a partition with these values in these columns, of all without one. */
  DeleteFile equalityDelete(List<String> columns, List<Record> keys, StructLike partition) {
    FileFormat format = format(FileFormat.PARQUET);
    Set<Integer> ids = new LinkedHashSet<>();
    columns.forEach(column -> ids.add(table.schema().findField(column).fieldId()));
    GenericFileWriterFactory factory =
        new GenericFileWriterFactory.Builder(table)
            .deleteFileFormat(format)
            .equalityFieldIds(ids.stream().mapToInt(Integer::intValue).toArray())
            .equalityDeleteRowSchema(TypeUtil.select(table.schema(), ids))
            .build();
    EqualityDeleteWriter<Record> writer =
        factory.newEqualityDeleteWriter(output(format, partition), table.spec(), partition);
    try (writer) {
      keys.forEach(writer::write);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return writer.toDeleteFile();
  }

  /** A position delete file, as tables before version 3 have them, of data files of one partition. */
  DeleteFile positionDelete(List<Position> positions) {
    FileFormat format = format(FileFormat.PARQUET);
    GenericFileWriterFactory factory = new GenericFileWriterFactory.Builder(table).deleteFileFormat(format).build();
    StructLike partition = table.spec().isUnpartitioned() ? null : positions.get(0).file().partition();
    PositionDeleteWriter<Record> writer =
        factory.newPositionDeleteWriter(output(format, partition), table.spec(), partition);
    Comparator<Position> order = Comparator.comparing(position -> position.file().location());
    try (writer) {
      positions.stream()
          .sorted(order.thenComparing(Position::row))
          .forEach(position -> writer.write(PositionDelete.<Record>create().set(position.file().location(), position.row())));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return writer.toDeleteFile();
  }

  /** Deletion vectors, merged with those that the data files have already. */
  DeleteWriteResult deletionVectors(List<Position> positions) {
    Map<String, List<DeleteFile>> existing = positionDeletes();
    BaseDeleteLoader loader = new BaseDeleteLoader(file -> table.io().newInputFile(file));
    DVFileWriter writer = new BaseDVFileWriter(factory(FileFormat.PUFFIN), path -> {
      List<DeleteFile> deletes = existing.getOrDefault(path, List.of());
      return deletes.isEmpty() ? null : loader.loadPositionDeletes(deletes, path);
    });
    try (writer) {
      for (Position position : positions) {
        DataFile file = position.file();
        writer.delete(file.location(), position.row(), table.specs().get(file.specId()), file.partition());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return writer.result();
  }

  private Map<String, List<DeleteFile>> positionDeletes() {
    Map<String, List<DeleteFile>> deletes = new HashMap<>();
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        deletes.put(
            task.file().location(),
            task.deletes().stream().filter(file -> file.content() == FileContent.POSITION_DELETES).toList());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return deletes;
  }

  private FileFormat format(FileFormat asked) {
    return switch (table.properties().getOrDefault(FORMAT, "")) {
      case "avro" -> FileFormat.AVRO;
      case "mixed" -> task % 2 == 0 ? FileFormat.AVRO : asked;
      default -> asked;
    };
  }

  private EncryptedOutputFile output(FileFormat format, StructLike partition) {
    OutputFileFactory factory = factory(format);
    return partition == null ? factory.newOutputFile() : factory.newOutputFile(table.spec(), partition);
  }

  private OutputFileFactory factory(FileFormat format) {
    return OutputFileFactory.builderFor(table, 0, ++task).format(format).defaultSpec(table.spec()).build();
  }
}
