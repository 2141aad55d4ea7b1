package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Snapshot;

/**
 * Reads the snapshots of a table as Java does, and checks what a good writer of an encrypted table keeps. Of a long history the
 * rows of old snapshots are not read, all else is. Statistics are recomputed with the table's present properties: a table whose
 * metrics modes or sort order changed gives false alarms.
 */
final class Check {
  private static final int NEWEST = 50;

  private Check() {}

  /** What is wrong; empty for a good table. */
  static List<String> run(FolderTable table) throws Exception {
    Problems problems = new Problems();
    JsonNode dump = Dump.table(table);
    new EncryptionCheck(table, dump, problems).run();
    History history = History.load(table, dump, problems);
    new ManifestCheck(table, history, problems).run();
    new LineageCheck(table, history, problems).run();
    new SummaryCheck(table, history, problems).run();
    new StatisticsCheck(table, history, problems).run();
    for (long snapshotId : toRead(table)) {
      rows(table, snapshotId, problems);
    }
    return problems.found();
  }

  /** The snapshots whose rows are read: the heads of branches and tags, and the newest. */
  private static Set<Long> toRead(FolderTable table) {
    Set<Long> ids = new LinkedHashSet<>();
    table.table.refs().values().forEach(ref -> ids.add(ref.snapshotId()));
    List<Snapshot> snapshots = new ArrayList<>();
    table.table.snapshots().forEach(snapshots::add);
    snapshots.sort(Comparator.comparingLong(Snapshot::sequenceNumber).reversed());
    snapshots.stream().limit(NEWEST).forEach(snapshot -> ids.add(snapshot.snapshotId()));
    return ids;
  }

  private static void rows(FolderTable table, long snapshotId, Problems problems) {
    String where = "snapshot " + snapshotId;
    try {
      Set<Long> ids = new HashSet<>();
      for (String row : Rows.readSnapshot(table.table, snapshotId)) {
        JsonNode id = Rows.JSON.readTree(row).path("_row_id");
        if (id.isNumber() && !ids.add(id.asLong())) {
          problems.add("%s: _row_id %s twice", where, id);
        }
      }
    } catch (Exception e) {
      problems.add("%s: cannot be read: %s", where, Judge.causes(e));
    }
  }
}
