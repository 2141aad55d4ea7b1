package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.io.InputFile;

/** Every key entry is sound, and every file is encrypted, whole and under a key of its own. */
final class EncryptionCheck {
  private static final int DELETED = 2;

  private final FolderTable table;
  private final JsonNode dump;
  private final Problems problems;
  private final Map<String, JsonNode> keys = new HashMap<>();
  private final Map<String, JsonNode> files = new HashMap<>();
  private final Map<String, JsonNode> manifests = new HashMap<>();
  private final Map<String, String> owners = new HashMap<>();
  private final Set<String> seen = new HashSet<>();

  EncryptionCheck(FolderTable table, JsonNode dump, Problems problems) {
    this.table = table;
    this.dump = dump;
    this.problems = problems;
  }

  void run() {
    dump.get("encryption_keys").forEach(this::key);
    dump.get("manifests").forEach(manifest -> manifests.put(manifest.get("path").asText(), manifest));
    for (JsonNode file : dump.get("files")) {
      files.put(file.get("path").asText(), file);
      if (file.has("error")) {
        problems.add("%s: %s", file.get("path").asText(), file.get("error").asText());
      }
    }
    Set<String> used = new HashSet<>();
    dump.get("snapshots").forEach(snapshot -> snapshot(snapshot, used));
  }

  private void key(JsonNode entry) {
    String id = entry.get("key_id").asText();
    if (keys.put(id, entry) != null) {
      problems.add("encryption key %s: two entries have this id", id);
    }
    if (entry.has("error")) {
      problems.add("encryption key %s: cannot be unwrapped: %s", id, entry.get("error").asText());
    }
    if (entry.get("kind").asText().equals("kek") && !entry.get("properties").has("KEY_TIMESTAMP")) {
      problems.add("encryption key %s: a KEK without KEY_TIMESTAMP", id);
    }
  }

  private void snapshot(JsonNode snapshot, Set<String> used) {
    String where = "snapshot " + snapshot.get("snapshot_id").asText();
    if (snapshot.has("error")) {
      problems.add("%s: %s", where, snapshot.get("error").asText());
      return;
    }
    if (snapshot.get("key_id").isNull()) {
      problems.add("%s: no key-id", where);
    } else {
      snapshotKey(where, snapshot.get("key_id").asText(), used);
    }
    file(snapshot.get("manifest_list").asText(), snapshot.get("manifest_list_key"), -1, "AGS1");
    for (JsonNode listing : snapshot.get("list").get("entries")) {
      String path = listing.get("manifest_path").asText();
      if (seen.add(path)) {
        file(path, listing.get("key_metadata"), listing.get("manifest_length").asLong(), "AGS1");
        manifests.get(path).get("entries").forEach(this::entry);
      }
    }
  }

  private void snapshotKey(String where, String id, Set<String> used) {
    if (!used.add(id)) {
      problems.add("%s: key-id %s is used by another snapshot", where, id);
    }
    JsonNode entry = keys.get(id);
    if (entry == null) {
      problems.add("%s: key-id %s names no entry", where, id);
    } else if (entry.get("encrypted_by").isNull() || !keys.containsKey(entry.get("encrypted_by").asText())) {
      problems.add("%s: the KEK of its key %s is missing", where, id);
    }
  }

  private void entry(JsonNode entry) {
    JsonNode file = entry.get("data_file");
    if (entry.get("status").asInt() == DELETED) {
      return;
    }
    String path = file.get("file_path").asText();
    String format = file.get("file_format").asText().toUpperCase();
    if (seen.add(path)) {
      String magic = format.equals("PARQUET") ? "PARE" : "AGS1";
      file(path, file.get("key_metadata"), file.get("file_size_in_bytes").asLong(), magic);
    }
    JsonNode puffin = files.containsKey(path) ? files.get(path).get("puffin") : null;
    if (format.equals("PUFFIN") && puffin != null) {
      deletionVector(path, file, puffin);
    }
  }

  private void file(String path, JsonNode key, long recorded, String magic) {
    InputFile file = table.ops.raw.newInputFile(path);
    if (!file.exists()) {
      problems.add("%s: missing", path);
      return;
    }
    long stored = file.getLength();
    if (recorded >= 0) {
      problems.compare(path, "recorded length", recorded, stored);
    }
    String found = printable(magic(file));
    if (key == null || key.isNull()) {
      problems.add("%s: no key metadata (magic %s)", path, found);
      return;
    }
    problems.compare(path, "magic", found, magic);
    if (key.has("error")) {
      problems.add("%s: key metadata: %s", path, key.get("error").asText());
      return;
    }
    problems.compare(path, "file_length of the key metadata", key.get("file_length").asText(), String.valueOf(stored));
    if (key.get("aad_prefix").asText().length() != 32) {
      problems.add("%s: the AAD prefix is not 16 bytes long", path);
    }
    for (String part : List.of("key", "aad_prefix")) {
      String owner = owners.putIfAbsent(part + key.get(part).asText(), path);
      if (owner != null && !owner.equals(path)) {
        problems.add("%s: has the %s of %s", path, part, owner);
      }
    }
  }

  private static String magic(InputFile file) {
    try {
      return FileDump.magic(file, 0);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static String printable(String text) {
    return text.replaceAll("[^ -~]", "?");
  }

  private void deletionVector(String path, JsonNode file, JsonNode puffin) {
    for (JsonNode blob : puffin.get("blobs")) {
      if (blob.get("offset").asLong() == file.get("content_offset").asLong()
          && blob.get("length").asLong() == file.get("content_size_in_bytes").asLong()) {
        JsonNode properties = blob.get("properties");
        problems.compare(path, "blob type", blob.get("type").asText(), "deletion-vector-v1");
        problems.compare(path, "referenced-data-file", properties.path("referenced-data-file").asText(), file.get("referenced_data_file").asText());
        problems.compare(path, "cardinality", properties.path("cardinality").asText(), file.get("record_count").asText());
        return;
      }
    }
    problems.add("%s: no blob at %s+%s", path, file.get("content_offset"), file.get("content_size_in_bytes"));
  }
}
