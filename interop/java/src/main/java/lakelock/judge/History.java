package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.ManifestAccess;
import org.apache.iceberg.ManifestAccess.Entry;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;

/** The snapshots of a table that can be read, oldest first, with their manifests both as Java sees them and as they are stored. */
final class History {
  /** A manifest as one manifest list has it. */
  record Manifest(ManifestFile listing, List<Entry> entries, JsonNode stored) {
    String path() {
      return listing.path();
    }

    /** The entry's own values, before anything is inherited. */
    JsonNode storedEntry(int index) {
      return stored.get("entries").get(index);
    }
  }

  /** A snapshot and its manifests in the order of its list; {@code list} is the stored manifest list. */
  record Version(Snapshot snapshot, JsonNode list, List<Manifest> manifests) {
    String name() {
      return "snapshot " + snapshot.snapshotId();
    }

    boolean made(Manifest manifest) {
      return manifest.listing().snapshotId() == snapshot.snapshotId();
    }

    /** This version's manifest of that path, or null. */
    Manifest manifest(String path) {
      return manifests.stream().filter(m -> m.path().equals(path)).findFirst().orElse(null);
    }
  }

  private final Map<Long, Version> versions = new LinkedHashMap<>();

  private History() {}

  static History of(Iterable<Version> versions) {
    History history = new History();
    versions.forEach(version -> history.versions.put(version.snapshot().snapshotId(), version));
    return history;
  }

  static History load(FolderTable table, JsonNode dump, Problems problems) {
    Map<String, JsonNode> stored = new HashMap<>();
    dump.get("manifests").forEach(manifest -> stored.put(manifest.get("path").asText(), manifest));
    Map<Long, JsonNode> lists = new HashMap<>();
    for (JsonNode snapshot : dump.get("snapshots")) {
      if (!snapshot.has("error")) {
        lists.put(snapshot.get("snapshot_id").asLong(), snapshot.get("list"));
      }
    }
    List<Snapshot> snapshots = new ArrayList<>();
    table.table.snapshots().forEach(snapshots::add);
    snapshots.sort(Comparator.comparingLong(Snapshot::sequenceNumber));
    History history = new History();
    Map<String, List<Entry>> read = new HashMap<>();
    for (Snapshot snapshot : snapshots) {
      JsonNode list = lists.get(snapshot.snapshotId());
      if (list == null) {
        continue; // the encryption check says why it cannot be read
      }
      try {
        history.versions.put(snapshot.snapshotId(), new Version(snapshot, list, manifests(table, snapshot, list, stored, read)));
      } catch (Exception e) {
        problems.add("snapshot %d: its manifests cannot be read: %s", snapshot.snapshotId(), Judge.causes(e));
      }
    }
    return history;
  }

  /** In the order of the list: Java may hand them out in another. */
  private static List<Manifest> manifests(
      FolderTable table, Snapshot snapshot, JsonNode list, Map<String, JsonNode> stored, Map<String, List<Entry>> read) throws IOException {
    Map<String, Integer> place = new HashMap<>();
    list.get("entries").forEach(entry -> place.put(entry.get("manifest_path").asText(), place.size()));
    List<Manifest> manifests = new ArrayList<>();
    for (ManifestFile listing : snapshot.allManifests(table.table.io())) {
      List<Entry> entries = read.get(listing.path());
      if (entries == null) {
        entries = ManifestAccess.entries(listing, table.table.io(), table.table.specs());
        read.put(listing.path(), entries);
      }
      manifests.add(new Manifest(listing, entries, stored.get(listing.path())));
    }
    manifests.sort(Comparator.comparingInt(manifest -> place.get(manifest.path())));
    return manifests;
  }

  Iterable<Version> versions() {
    return versions.values();
  }

  /** The snapshot of that id, or null if it is unknown or unreadable. */
  Version version(Long snapshotId) {
    return versions.get(snapshotId);
  }

  /** The parent, or null. */
  Version parent(Version version) {
    return versions.get(version.snapshot().parentId());
  }
}
