package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import lakelock.judge.History.Manifest;
import lakelock.judge.History.Version;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestAccess;
import org.apache.iceberg.ManifestAccess.Entry;
import org.apache.iceberg.ManifestAccess.Status;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFile.PartitionFieldSummary;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.util.ByteBuffers;

/** Manifest lists say of their manifests what is in them, and the entries' snapshots and sequence numbers are right. */
final class ManifestCheck {
  private final FolderTable table;
  private final History history;
  private final Problems problems;
  private final Map<String, Map<String, Object>> checked = new HashMap<>();

  ManifestCheck(FolderTable table, History history, Problems problems) {
    this.table = table;
    this.history = history;
    this.problems = problems;
  }

  void run() {
    long last = 0;
    for (Version version : history.versions()) {
      sequenceNumber(version);
      last = Math.max(last, version.snapshot().sequenceNumber());
      listHeader(version);
      version.manifests().forEach(manifest -> listing(version, manifest));
      liveFiles(version);
    }
    if (table.ops.current().lastSequenceNumber() < last) {
      problems.add("table: last-sequence-number is %d, below %d", table.ops.current().lastSequenceNumber(), last);
    }
  }

  private void sequenceNumber(Version version) {
    Version parent = history.parent(version);
    if (parent != null && version.snapshot().sequenceNumber() <= parent.snapshot().sequenceNumber()) {
      problems.add("%s: sequence number %d is not above its parent's %d", version.name(),
          version.snapshot().sequenceNumber(), parent.snapshot().sequenceNumber());
    }
    Integer schema = version.snapshot().schemaId();
    if (schema == null || !table.table.schemas().containsKey(schema)) {
      problems.add("%s: schema-id %s is unknown", version.name(), schema);
    }
  }

  private void listHeader(Version version) {
    JsonNode header = version.list().get("avro_meta");
    Map<String, Object> expected = new LinkedHashMap<>();
    expected.put("snapshot-id", version.snapshot().snapshotId());
    expected.put("parent-snapshot-id", version.snapshot().parentId());
    expected.put("sequence-number", version.snapshot().sequenceNumber());
    expected.put("first-row-id", version.snapshot().firstRowId());
    expected.put("format-version", table.ops.current().formatVersion());
    expected.forEach((name, value) ->
        problems.compare(version.snapshot().manifestListLocation(), name + " in the header",
            header.path(name).asText("missing"), String.valueOf(value)));
  }

  /** A manifest is checked at its first listing; all later ones must be the same. */
  private void listing(Version version, Manifest manifest) {
    Map<String, Object> written = written(manifest.listing());
    Map<String, Object> before = checked.putIfAbsent(manifest.path(), written);
    if (before != null) {
      written.forEach((what, value) ->
          problems.compare(version.name() + ", " + manifest.path(), what + " here and in an older list", value, before.get(what)));
      return;
    }
    Map<String, Object> expected = expected(manifest);
    written.forEach((what, value) -> {
      if (expected.containsKey(what)) {
        problems.compare(manifest.path(), what + " in the manifest list", value, expected.get(what));
      }
    });
    manifestHeader(manifest);
    for (int i = 0; i < manifest.entries().size(); i++) {
      entry(manifest, manifest.entries().get(i), manifest.storedEntry(i));
    }
  }

  private static Map<String, Object> written(ManifestFile listing) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("added_files_count", listing.addedFilesCount());
    fields.put("existing_files_count", listing.existingFilesCount());
    fields.put("deleted_files_count", listing.deletedFilesCount());
    fields.put("added_rows_count", listing.addedRowsCount());
    fields.put("existing_rows_count", listing.existingRowsCount());
    fields.put("deleted_rows_count", listing.deletedRowsCount());
    fields.put("sequence_number", listing.sequenceNumber());
    fields.put("min_sequence_number", listing.minSequenceNumber());
    fields.put("partitions", summaries(listing.partitions()));
    fields.put("manifest_length", listing.length());
    fields.put("partition_spec_id", listing.partitionSpecId());
    fields.put("content", listing.content());
    fields.put("added_snapshot_id", listing.snapshotId());
    fields.put("first_row_id", listing.firstRowId());
    return fields;
  }

  private Map<String, Object> expected(Manifest manifest) {
    ManifestFile listing = manifest.listing();
    Map<String, Object> fields = new LinkedHashMap<>();
    for (Status status : Status.values()) {
      List<Entry> entries = manifest.entries().stream().filter(entry -> entry.status() == status).toList();
      String name = status.name().toLowerCase();
      fields.put(name + "_files_count", entries.size());
      fields.put(name + "_rows_count", entries.stream().mapToLong(entry -> entry.file().recordCount()).sum());
    }
    Version maker = history.version(listing.snapshotId());
    if (maker != null) {
      fields.put("sequence_number", maker.snapshot().sequenceNumber());
    }
    fields.put("min_sequence_number", manifest.entries().stream()
        .filter(Entry::live)
        .mapToLong(Entry::sequenceNumber)
        .min()
        .orElse(listing.sequenceNumber()));
    PartitionSpec spec = table.table.specs().get(listing.partitionSpecId());
    fields.put("partitions", summaries(ManifestAccess.partitionSummaries(spec, manifest.entries())));
    return fields;
  }

  private void manifestHeader(Manifest manifest) {
    JsonNode header = manifest.stored().get("avro_meta");
    ManifestFile listing = manifest.listing();
    String content = listing.content() == ManifestContent.DATA ? "data" : "deletes";
    problems.compare(manifest.path(), "content in the header", header.path("content").asText("missing"), content);
    problems.compare(manifest.path(), "partition-spec-id in the header",
        header.path("partition-spec-id").asText("missing"), String.valueOf(listing.partitionSpecId()));
    problems.compare(manifest.path(), "format-version in the header",
        header.path("format-version").asText("missing"), String.valueOf(table.ops.current().formatVersion()));
    for (String name : List.of("schema", "partition-spec")) {
      if (!header.has(name)) {
        problems.add("%s: no %s in the header", manifest.path(), name);
      }
    }
  }

  private void entry(Manifest manifest, Entry entry, JsonNode stored) {
    String where = manifest.path() + ", " + entry.file().location();
    ManifestFile listing = manifest.listing();
    if (entry.status() == Status.ADDED) {
      problems.compare(where, "snapshot of the added file", entry.snapshotId(), listing.snapshotId());
      problems.compare(where, "file sequence number of the added file", entry.fileSequenceNumber(), listing.sequenceNumber());
    } else {
      for (String name : List.of("snapshot_id", "sequence_number", "file_sequence_number")) {
        if (stored.get(name).isNull()) {
          problems.add("%s: %s of an %s file must be written out", where, name, entry.status());
        }
      }
    }
    if (entry.status() == Status.DELETED) {
      problems.compare(where, "snapshot of the deleted file", entry.snapshotId(), listing.snapshotId());
    }
    if (entry.sequenceNumber() != null && entry.sequenceNumber() > listing.sequenceNumber()) {
      problems.add("%s: sequence number %d is above the manifest's %d", where, entry.sequenceNumber(), listing.sequenceNumber());
    }
  }

  /** No file twice, and no deletion vector without its data file. */
  private void liveFiles(Version version) {
    Set<String> data = new HashSet<>();
    Set<String> vectors = new HashSet<>();
    for (Manifest manifest : version.manifests()) {
      for (Entry entry : manifest.entries()) {
        if (entry.live() && entry.file().content() == FileContent.DATA && !data.add(entry.file().location())) {
          problems.add("%s: %s is there twice", version.name(), entry.file().location());
        }
        if (entry.live() && entry.file() instanceof DeleteFile file && file.format() == FileFormat.PUFFIN
            && !vectors.add(file.referencedDataFile())) {
          problems.add("%s: two deletion vectors for %s", version.name(), file.referencedDataFile());
        }
      }
    }
    vectors.removeAll(data);
    vectors.forEach(path -> problems.add("%s: a deletion vector for %s, which is not there", version.name(), path));
  }

  /** Partition summaries in a form to compare and to print. */
  private static String summaries(List<PartitionFieldSummary> partitions) {
    List<String> fields = new ArrayList<>();
    for (PartitionFieldSummary field : Objects.requireNonNullElse(partitions, List.<PartitionFieldSummary>of())) {
      fields.add(String.format("{contains_null=%s, contains_nan=%s, lower=%s, upper=%s}",
          field.containsNull(), field.containsNaN(), bound(field.lowerBound()), bound(field.upperBound())));
    }
    return fields.toString();
  }

  private static String bound(ByteBuffer bytes) {
    return bytes == null ? "null" : "0x" + Rows.hex(ByteBuffers.toByteArray(bytes));
  }
}
