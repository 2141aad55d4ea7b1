package lakelock.judge;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.encryption.KeyManagementClient;
import org.apache.iceberg.io.DeleteWriteResult;
import org.apache.iceberg.io.FileIO;

/** A table whose catalog is a pointer in memory, and the commits that the judge makes to it. */
final class FolderTable {
  final FolderOps ops;
  final Table table;
  final FileMaker files;

  FolderTable(FolderOps ops) {
    this.ops = ops;
    this.table = new BaseTable(ops, "judge", report -> {});
    this.files = new FileMaker(table);
  }

  static FolderTable create(
      FileIO io, KeyManagementClient kms, String location, Schema schema, PartitionSpec spec, Map<String, String> properties) {
    FolderOps ops = new FolderOps(io, kms, new AtomicReference<>());
    ops.commit(null, TableMetadata.newTableMetadata(schema, spec, SortOrder.unsorted(), location, properties));
    return new FolderTable(ops);
  }

  static FolderTable load(FileIO io, KeyManagementClient kms, String metadata) {
    return new FolderTable(new FolderOps(io, kms, new AtomicReference<>(metadata)));
  }

  /** The location of the current metadata file. */
  String metadata() {
    return ops.pointer.get();
  }

  List<DataFile> append(FileFormat format, List<Record> rows) {
    List<DataFile> written = files.data(format, rows);
    AppendFiles append = table.newAppend();
    written.forEach(append::appendFile);
    append.commit();
    return written;
  }

  /** Deletes rows of data files of the current snapshot by deletion vectors. */
  void delete(List<FileMaker.Position> positions) {
    DeleteWriteResult vectors = files.deletionVectors(positions);
    RowDelta delta = table.newRowDelta().validateFromSnapshot(table.currentSnapshot().snapshotId());
    vectors.deleteFiles().forEach(delta::addDeletes);
    vectors.rewrittenDeleteFiles().forEach(delta::removeDeletes);
    delta.commit();
  }

  /** Commits delete files. */
  void delete(DeleteFile... deletes) {
    RowDelta delta = table.newRowDelta();
    for (DeleteFile file : deletes) {
      delta.addDeletes(file);
    }
    delta.commit();
  }
}
