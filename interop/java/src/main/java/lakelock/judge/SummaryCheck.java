package lakelock.judge;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import lakelock.judge.History.Manifest;
import lakelock.judge.History.Version;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestAccess.Entry;
import org.apache.iceberg.ManifestAccess.Status;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.util.ScanTaskUtil;

/** Snapshot summaries count what the manifests hold. */
final class SummaryCheck {
  private static final Set<String> ALWAYS =
      Set.of(
          SnapshotSummary.TOTAL_DATA_FILES_PROP,
          SnapshotSummary.TOTAL_DELETE_FILES_PROP,
          SnapshotSummary.TOTAL_RECORDS_PROP,
          SnapshotSummary.TOTAL_FILE_SIZE_PROP,
          SnapshotSummary.TOTAL_POS_DELETES_PROP,
          SnapshotSummary.TOTAL_EQ_DELETES_PROP,
          SnapshotSummary.CHANGED_PARTITION_COUNT_PROP);

  private static final Set<String> MANIFESTS =
      Set.of(
          SnapshotSummary.CREATED_MANIFESTS_COUNT,
          SnapshotSummary.KEPT_MANIFESTS_COUNT,
          SnapshotSummary.REPLACED_MANIFESTS_COUNT);

  private final FolderTable table;
  private final History history;
  private final Problems problems;

  SummaryCheck(FolderTable table, History history, Problems problems) {
    this.table = table;
    this.history = history;
    this.problems = problems;
  }

  void run() {
    history.versions().forEach(this::version);
  }

  private void version(Version version) {
    Map<String, String> summary = version.snapshot().summary();
    Map<String, Long> counts = count(version);
    ALWAYS.forEach(name -> {
      if (!summary.containsKey(name)) {
        problems.add("%s: its summary lacks %s", version.name(), name);
      }
    });
    counts.forEach((name, count) -> {
      if (summary.containsKey(name) || !MANIFESTS.contains(name)) {
        problems.compare(version.name(), name + " in the summary", summary.getOrDefault(name, "0"), String.valueOf(count));
      }
    });
  }

  /** Every number that Java may put in a summary; one that is 0 may be left out. */
  private Map<String, Long> count(Version version) {
    Counts counts = new Counts();
    Set<String> partitions = new HashSet<>();
    for (Manifest manifest : version.manifests()) {
      counts.add(version.made(manifest) ? SnapshotSummary.CREATED_MANIFESTS_COUNT : SnapshotSummary.KEPT_MANIFESTS_COUNT, 1);
      for (Entry entry : manifest.entries()) {
        if (entry.live()) {
          counts.total(entry.file());
        }
        if (version.made(manifest) && entry.status() != Status.EXISTING) {
          counts.change(entry.file(), entry.status() == Status.ADDED);
          PartitionSpec spec = table.table.specs().get(entry.file().specId());
          partitions.add(spec.partitionToPath(entry.file().partition()));
        }
      }
    }
    counts.add(SnapshotSummary.CHANGED_PARTITION_COUNT_PROP, partitions.size());
    Version parent = history.parent(version);
    boolean append = DataOperations.APPEND.equals(version.snapshot().operation());
    if (parent != null && append) { // of other operations Java counts the merged manifests only
      long replaced = parent.manifests().stream()
          .filter(manifest -> manifest.entries().stream().anyMatch(Entry::live))
          .filter(manifest -> version.manifest(manifest.path()) == null)
          .count();
      counts.add(SnapshotSummary.REPLACED_MANIFESTS_COUNT, replaced);
    }
    return counts.numbers;
  }

  private static final class Counts {
    private final Map<String, Long> numbers = new TreeMap<>();

    void add(String name, long count) {
      numbers.merge(name, count, Long::sum);
    }

    void total(ContentFile<?> file) {
      boolean data = file.content() == FileContent.DATA;
      boolean position = file.content() == FileContent.POSITION_DELETES;
      add(SnapshotSummary.TOTAL_DATA_FILES_PROP, data ? 1 : 0);
      add(SnapshotSummary.TOTAL_DELETE_FILES_PROP, data ? 0 : 1);
      add(SnapshotSummary.TOTAL_RECORDS_PROP, data ? file.recordCount() : 0);
      add(SnapshotSummary.TOTAL_POS_DELETES_PROP, position ? file.recordCount() : 0);
      add(SnapshotSummary.TOTAL_EQ_DELETES_PROP, data || position ? 0 : file.recordCount());
      add(SnapshotSummary.TOTAL_FILE_SIZE_PROP, ScanTaskUtil.contentSizeInBytes(file));
    }

    void change(ContentFile<?> file, boolean added) {
      add(added ? SnapshotSummary.ADDED_FILE_SIZE_PROP : SnapshotSummary.REMOVED_FILE_SIZE_PROP, ScanTaskUtil.contentSizeInBytes(file));
      switch (file.content()) {
        case DATA -> {
          add(added ? SnapshotSummary.ADDED_FILES_PROP : SnapshotSummary.DELETED_FILES_PROP, 1);
          add(added ? SnapshotSummary.ADDED_RECORDS_PROP : SnapshotSummary.DELETED_RECORDS_PROP, file.recordCount());
        }
        case POSITION_DELETES -> {
          delete(added);
          if (file.format() == FileFormat.PUFFIN) {
            add(added ? SnapshotSummary.ADDED_DVS_PROP : SnapshotSummary.REMOVED_DVS_PROP, 1);
          } else {
            add(added ? SnapshotSummary.ADD_POS_DELETE_FILES_PROP : SnapshotSummary.REMOVED_POS_DELETE_FILES_PROP, 1);
          }
          add(added ? SnapshotSummary.ADDED_POS_DELETES_PROP : SnapshotSummary.REMOVED_POS_DELETES_PROP, file.recordCount());
        }
        default -> {
          delete(added);
          add(added ? SnapshotSummary.ADD_EQ_DELETE_FILES_PROP : SnapshotSummary.REMOVED_EQ_DELETE_FILES_PROP, 1);
          add(added ? SnapshotSummary.ADDED_EQ_DELETES_PROP : SnapshotSummary.REMOVED_EQ_DELETES_PROP, file.recordCount());
        }
      }
    }

    private void delete(boolean added) {
      add(added ? SnapshotSummary.ADDED_DELETE_FILES_PROP : SnapshotSummary.REMOVED_DELETE_FILES_PROP, 1);
    }
  }
}
