package lakelock.judge;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import lakelock.judge.History.Manifest;
import lakelock.judge.History.Version;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.ManifestAccess.Entry;
import org.apache.iceberg.ManifestContent;

/** Row ids are handed out as Java does: in commit order, then in the order of the list, each once and for good. */
final class LineageCheck {
  private final FolderTable table;
  private final History history;
  private final Problems problems;
  private final Map<String, Long> firstRowIds = new HashMap<>();
  private final TreeMap<Long, Entry> ranges = new TreeMap<>();

  LineageCheck(FolderTable table, History history, Problems problems) {
    this.table = table;
    this.history = history;
    this.problems = problems;
  }

  void run() {
    if (table.ops.current().formatVersion() < 3) {
      return;
    }
    Version before = null;
    for (Version version : history.versions()) {
      if (version.snapshot().firstRowId() == null || version.snapshot().addedRows() == null) {
        problems.add("%s: no first-row-id or added-rows", version.name());
        continue;
      }
      snapshot(version, before);
      version.manifests().forEach(manifest -> files(version, manifest));
      before = version;
    }
    if (before != null) {
      follows("table: next-row-id", table.ops.current().nextRowId(), before,
          before.snapshot().sequenceNumber() == table.ops.current().lastSequenceNumber());
    }
  }

  private static long end(Version version) {
    return version.snapshot().firstRowId() + version.snapshot().addedRows();
  }

  /** Ids go on where the snapshot before ended; at or above it where snapshots between the two are gone. */
  private void follows(String what, long id, Version before, boolean adjacent) {
    if (adjacent ? id != end(before) : id < end(before)) {
      problems.add("%s is %d, but %s ended at %d", what, id, before.name(), end(before));
    }
  }

  private void snapshot(Version version, Version before) {
    if (before != null) {
      boolean adjacent = version.snapshot().sequenceNumber() == before.snapshot().sequenceNumber() + 1;
      follows(version.name() + ": first-row-id", version.snapshot().firstRowId(), before, adjacent);
    }
    long next = version.snapshot().firstRowId();
    for (Manifest manifest : version.manifests()) {
      Long written = manifest.listing().firstRowId();
      if (manifest.listing().content() == ManifestContent.DELETES) {
        problems.compare(manifest.path(), "first_row_id of a delete manifest", written, null);
      } else if (version.made(manifest)) {
        problems.compare(manifest.path(), "first_row_id", written, next);
        next += manifest.listing().addedRowsCount() + manifest.listing().existingRowsCount();
      } else if (written == null) {
        problems.add("%s: no first_row_id in the list of %s", manifest.path(), version.name());
      }
    }
    problems.compare(version.name(), "added-rows", version.snapshot().addedRows(), next - version.snapshot().firstRowId());
  }

  private void files(Version version, Manifest manifest) {
    for (Entry entry : manifest.entries()) {
      if (!entry.live() || entry.file().content() != FileContent.DATA) {
        continue;
      }
      String path = entry.file().location();
      Long first = entry.file().firstRowId();
      if (first == null) {
        problems.add("%s, %s: no first_row_id", version.name(), path);
        continue;
      }
      Long known = firstRowIds.putIfAbsent(path, first);
      if (known == null) {
        range(path, entry, first);
      } else if (!known.equals(first)) {
        problems.add("%s, %s: first_row_id is %d, and %d in an older snapshot", version.name(), path, first, known);
      }
    }
  }

  private void range(String path, Entry entry, long first) {
    long end = first + entry.file().recordCount();
    Map.Entry<Long, Entry> below = ranges.lowerEntry(end);
    if (below != null && below.getKey() + below.getValue().file().recordCount() > first) {
      problems.add("%s: row ids %d to %d are those of %s too", path, first, end - 1, below.getValue().file().location());
    }
    if (first < 0 || end > table.ops.current().nextRowId()) {
      problems.add("%s: row ids %d to %d, but next-row-id is %d", path, first, end - 1, table.ops.current().nextRowId());
    }
    ranges.put(first, entry);
  }
}
