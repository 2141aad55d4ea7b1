package lakelock.judge;

import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.io.CloseableIterable;

/** Java going on with a table that something else wrote. */
final class Continuation {
  private static final long FIRST_ID = 900_000;
  private static final long SEED = 77;

  private Continuation() {}

  /** Appends rows made by {@link RowMaker}; a column {@code id} counts on from a high number. */
  static void append(FolderTable table, FileFormat format, int rows) {
    table.append(format, RowMaker.rows(table.table.schema(), rows, FIRST_ID, SEED, false));
  }

  /** Appends 3 rows, deletes one row by a deletion vector, compacts everything. */
  static void run(FolderTable table, FileFormat format) throws Exception {
    int before = Rows.read(table.table).size();
    append(table, format, 3);
    table.delete(List.of(new FileMaker.Position(victim(table), 1)));
    Compaction.run(table, format);
    int after = Rows.read(table.table).size();
    if (after != before + 2) {
      throw new IllegalStateException("the table has " + after + " rows instead of " + (before + 2));
    }
  }

  /** A data file of two or more rows without deletes. */
  private static DataFile victim(FolderTable table) throws Exception {
    DataFile found = null;
    try (CloseableIterable<FileScanTask> tasks = table.table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        if (task.deletes().isEmpty() && task.file().recordCount() > 1) {
          found = task.file();
        }
      }
    }
    if (found == null) {
      throw new IllegalStateException("no data file of two rows without deletes");
    }
    return found;
  }
}
