package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.iceberg.ManifestListFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.EncryptedKey;
import org.apache.iceberg.encryption.EncryptionManager;
import org.apache.iceberg.encryption.EncryptionUtil;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.ByteBuffers;

/** Everything in a table, keys too, decrypted, as JSON. What cannot be read has an {@code error} instead. */
final class Dump {
  private final FolderTable table;
  private final FileIO io;
  private final Set<String> seen = new HashSet<>();
  private final ArrayNode manifests;
  private final ArrayNode files;

  private Dump(FolderTable table, ArrayNode manifests, ArrayNode files) {
    this.table = table;
    this.io = table.ops.raw;
    this.manifests = manifests;
    this.files = files;
  }

  static ObjectNode table(FolderTable table) {
    TableMetadata metadata = table.ops.current();
    String masterKey = metadata.property(TableProperties.ENCRYPTION_TABLE_KEY, null);
    ObjectNode json = Rows.F.objectNode();
    json.put("metadata_file", metadata.metadataFileLocation());
    json.put("format_version", metadata.formatVersion());
    json.put("next_row_id", metadata.nextRowId());
    json.put("table_key_id", masterKey);
    ArrayNode keys = json.putArray("encryption_keys");
    ArrayNode snapshots = json.putArray("snapshots");
    Dump dump = new Dump(table, json.putArray("manifests"), json.putArray("files"));
    metadata.encryptionKeys().forEach(key -> dump.key(keys.addObject(), key, masterKey));
    metadata.snapshots().forEach(snapshot -> dump.snapshot(snapshots.addObject(), snapshot));
    return json;
  }

  private void key(ObjectNode json, EncryptedKey key, String masterKey) {
    json.put("key_id", key.keyId());
    json.put("encrypted_by", key.encryptedById());
    json.put("wrapped_hex", Rows.hex(ByteBuffers.toByteArray(key.encryptedKeyMetadata())));
    ObjectNode properties = json.putObject("properties");
    if (key.properties() != null) {
      key.properties().forEach(properties::put);
    }
    boolean kek = key.encryptedById() != null && key.encryptedById().equals(masterKey);
    json.put("kind", kek ? "kek" : "manifest-list");
    if (kek) {
      try {
        ByteBuffer unwrapped = table.ops.kms.unwrapKey(key.encryptedKeyMetadata(), masterKey);
        json.put("kek_hex", Rows.hex(ByteBuffers.toByteArray(unwrapped)));
      } catch (RuntimeException e) {
        json.put("error", e.toString());
      }
    }
  }

  private void snapshot(ObjectNode json, Snapshot snapshot) {
    String location = snapshot.manifestListLocation();
    json.put("snapshot_id", snapshot.snapshotId());
    json.put("operation", snapshot.operation());
    json.put("sequence_number", snapshot.sequenceNumber());
    json.put("key_id", snapshot.keyId());
    json.put("first_row_id", snapshot.firstRowId());
    json.put("added_rows", snapshot.addedRows());
    json.set("summary", Rows.JSON.valueToTree(snapshot.summary()));
    json.put("manifest_list", location);
    json.put("manifest_list_stored_length", io.newInputFile(location).getLength());
    try {
      byte[] key = listKey(snapshot);
      if (key != null) {
        json.set("manifest_list_key", FileDump.keyMetadata(key));
      }
      ObjectNode list = new FileDump(io, location, key).avro(true);
      json.set("list", list);
      for (JsonNode listing : list.get("entries")) {
        manifest(listing);
      }
    } catch (IOException | RuntimeException e) {
      json.put("error", e.toString());
    }
  }

  private byte[] listKey(Snapshot snapshot) {
    if (snapshot.keyId() == null) {
      return null;
    }
    ManifestListFile file =
        new ManifestListFile() {
          @Override
          public String location() {
            return snapshot.manifestListLocation();
          }

          @Override
          public String encryptionKeyID() {
            return snapshot.keyId();
          }

          @Override
          public ByteBuffer decryptKeyMetadata(EncryptionManager manager) {
            return EncryptionUtil.decryptManifestListKeyMetadata(this, manager);
          }
        };
    return ByteBuffers.toByteArray(file.decryptKeyMetadata(table.ops.encryption()));
  }

  private void manifest(JsonNode listing) throws IOException {
    String path = listing.get("manifest_path").asText();
    if (!seen.add(path)) {
      return;
    }
    ObjectNode json = manifests.addObject();
    json.put("path", path);
    json.put("stored_length", io.newInputFile(path).getLength());
    json.setAll(new FileDump(io, path, FileDump.keyMetadataOf(listing)).avro(true));
    for (JsonNode entry : json.get("entries")) {
      file(entry.get("data_file"));
    }
  }

  private void file(JsonNode entry) {
    String path = entry.get("file_path").asText();
    if (!seen.add(path)) {
      return;
    }
    ObjectNode json = files.addObject();
    json.put("path", path);
    if (!io.newInputFile(path).exists()) {
      json.put("missing", true);
      return;
    }
    json.put("stored_length", io.newInputFile(path).getLength());
    FileDump file = new FileDump(io, path, FileDump.keyMetadataOf(entry));
    try {
      String format = entry.get("file_format").asText().toLowerCase(Locale.ROOT);
      switch (format) {
        case "parquet" -> json.set(format, file.parquet());
        case "avro" -> json.set(format, file.avro(false));
        case "puffin" -> json.set(format, file.puffin());
        default -> json.put("error", "unknown format " + format);
      }
    } catch (IOException | RuntimeException e) {
      json.put("error", e.toString());
    }
  }
}
