package org.apache.iceberg;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.ManifestFile.PartitionFieldSummary;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;

/** Opens a few package-private parts of Iceberg's core for the judge. */
public final class ManifestAccess {
  private ManifestAccess() {}

  public enum Status {
    EXISTING,
    ADDED,
    DELETED
  }

  /** A manifest's entry with what it inherits from the manifest list filled in. */
  public record Entry(Status status, Long snapshotId, Long sequenceNumber, Long fileSequenceNumber, ContentFile<?> file) {
    public boolean live() {
      return status != Status.DELETED;
    }
  }

  public static List<Entry> entries(ManifestFile manifest, FileIO io, Map<Integer, PartitionSpec> specs) throws IOException {
    List<Entry> entries = new ArrayList<>();
    try (ManifestReader<?> reader = ManifestFiles.open(manifest, io, specs)) {
      collect(reader, entries);
    }
    return entries;
  }

  private static <F extends ContentFile<F>> void collect(ManifestReader<F> reader, List<Entry> into) throws IOException {
    try (CloseableIterable<ManifestEntry<F>> entries = reader.entries()) {
      for (ManifestEntry<F> entry : entries) {
        Status status = Status.values()[entry.status().id()];
        into.add(new Entry(
            status, entry.snapshotId(), entry.dataSequenceNumber(), entry.fileSequenceNumber(), entry.file().copy()));
      }
    }
  }

  /** What Java's manifest writer puts in the manifest list for these entries. */
  public static List<PartitionFieldSummary> partitionSummaries(PartitionSpec spec, List<Entry> entries) {
    PartitionSummary summary = new PartitionSummary(spec);
    entries.forEach(entry -> summary.update(entry.file().partition()));
    return summary.summaries();
  }
}
