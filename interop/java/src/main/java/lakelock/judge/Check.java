package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.Snapshot;

/**
 * Reads every snapshot of a table as Java does, then checks what a good writer of an encrypted table keeps. Statistics are
 * recomputed with the table's present properties: a table whose metrics modes changed gives false alarms.
 */
final class Check {
  private Check() {}

  /** What is wrong; empty for a good table. */
  static List<String> run(Ctx table) throws Exception {
    Problems problems = new Problems();
    JsonNode dump = Dump.table(table);
    new EncryptionCheck(table, dump, problems).run();
    History history = History.load(table, dump, problems);
    new ManifestCheck(table, history, problems).run();
    new LineageCheck(table, history, problems).run();
    new SummaryCheck(table, history, problems).run();
    new StatisticsCheck(table, history, problems).run();
    for (Snapshot snapshot : table.table.snapshots()) {
      rows(table, snapshot, problems);
    }
    return problems.found();
  }

  private static void rows(Ctx table, Snapshot snapshot, Problems problems) {
    String where = "snapshot " + snapshot.snapshotId();
    try {
      Set<Long> ids = new HashSet<>();
      for (String row : Rows.readSnapshot(table.table, snapshot.snapshotId())) {
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
