package lakelock.judge;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;

/** Rewrites all live rows into new files; they keep their row ids, which the new files hold as a column. */
final class Compaction {
  private Compaction() {}

  static void run(FolderTable table, FileFormat format) throws IOException {
    boolean lineage = table.ops.current().formatVersion() >= 3;
    Schema schema = lineage ? MetadataColumns.schemaWithRowLineage(table.table.schema()) : table.table.schema();
    RewriteFiles rewrite = table.table.newRewrite().validateFromSnapshot(table.table.currentSnapshot().snapshotId());
    Map<String, DeleteFile> vectors = new LinkedHashMap<>();
    try (CloseableIterable<FileScanTask> tasks = table.table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        rewrite.deleteFile(task.file());
        for (DeleteFile file : task.deletes()) {
          if (file.format() == FileFormat.PUFFIN) {
            vectors.put(file.location() + "@" + file.contentOffset(), file);
          }
        }
      }
    }
    vectors.values().forEach(rewrite::deleteFile);
    for (DataFile file : table.files.data(format, schema, rows(table, schema))) {
      rewrite.addFile(file);
    }
    rewrite.commit();
  }

  private static List<Record> rows(FolderTable table, Schema schema) {
    List<Record> rows = new ArrayList<>();
    for (Record read : Reader.read(table.table, null, schema)) {
      Record row = GenericRecord.create(schema);
      for (Types.NestedField field : schema.columns()) {
        row.setField(field.name(), read.getField(field.name()));
      }
      rows.add(row);
    }
    return rows;
  }
}
