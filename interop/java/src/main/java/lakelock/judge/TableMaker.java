package lakelock.judge;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.EncryptedKey;
import org.apache.iceberg.encryption.KeyManagementClient;
import org.apache.iceberg.io.FileIO;

/** Makes v3 tables at one location. */
record TableMaker(FileIO io, KeyManagementClient kms, String location, String key, Map<String, String> properties) {
  static final String KEY = "keyA";

  /** Under the master key {@link #KEY}. */
  TableMaker(FileIO io, KeyManagementClient kms, String location) {
    this(io, kms, location, KEY, Map.of());
  }

  /** The same, whose tables have one more property. */
  TableMaker with(String name, String value) {
    Map<String, String> more = new HashMap<>(properties);
    more.put(name, value);
    return new TableMaker(io, kms, location, key, more);
  }

  /** The same, whose tables have another master key. */
  TableMaker under(String otherKey) {
    return new TableMaker(io, kms, location, otherKey, properties);
  }

  /** A table under the master key. */
  FolderTable table(Schema schema, PartitionSpec spec, Map<String, String> properties) {
    Map<String, String> all = new HashMap<>(properties);
    all.put(TableProperties.ENCRYPTION_TABLE_KEY, key);
    return create(schema, spec, all);
  }

  FolderTable table(Schema schema, PartitionSpec spec) {
    return table(schema, spec, Map.of());
  }

  FolderTable plaintext(Schema schema, PartitionSpec spec) {
    return create(schema, spec, new HashMap<>());
  }

  /** A v2 table under the master key: Java refuses to create one, but not to make one of a table without snapshots. */
  FolderTable second(Schema schema, PartitionSpec spec) {
    FolderTable table = create(schema, spec, new HashMap<>(Map.of(TableProperties.FORMAT_VERSION, "2")));
    table.table.updateProperties().set(TableProperties.ENCRYPTION_TABLE_KEY, key).commit();
    return table;
  }

  private FolderTable create(Schema schema, PartitionSpec spec, Map<String, String> own) {
    Map<String, String> all = new HashMap<>(properties);
    all.putAll(own);
    all.putIfAbsent(TableProperties.FORMAT_VERSION, "3");
    return FolderTable.create(io, kms, location, schema, spec, all);
  }

  /** What a reader of the table must find: its keys, and the rows of each snapshot and branch as {@code read} gives them. */
  static ObjectNode describe(FolderTable table) throws IOException {
    ObjectNode json = Rows.F.objectNode();
    json.put("metadata", table.metadata());
    json.put("table_key_id", table.table.properties().get(TableProperties.ENCRYPTION_TABLE_KEY));
    ArrayNode keys = json.putArray("encryption_keys");
    for (EncryptedKey key : table.ops.current().encryptionKeys()) {
      keys.addObject().put("key_id", key.keyId()).put("encrypted_by_id", key.encryptedById());
    }
    Snapshot current = table.table.currentSnapshot();
    json.put("current_snapshot_id", current == null ? null : current.snapshotId());
    ObjectNode refs = json.putObject("refs");
    table.table.refs().forEach((name, ref) -> refs.put(name, ref.snapshotId()));
    ArrayNode snapshots = json.putArray("snapshots");
    for (Snapshot snapshot : table.table.snapshots()) {
      ObjectNode one = snapshots.addObject();
      one.put("snapshot_id", snapshot.snapshotId());
      one.put("sequence_number", snapshot.sequenceNumber());
      one.put("key_id", snapshot.keyId());
      one.put("operation", snapshot.operation());
      List<String> read;
      try {
        read = Rows.readSnapshot(table.table, snapshot.snapshotId());
      } catch (RuntimeException e) {
        one.put("unreadable", Judge.causes(e));
        continue;
      }
      ArrayNode rows = one.putArray("rows");
      for (String row : read) {
        rows.add(Rows.JSON.readTree(row));
      }
    }
    return json;
  }
}
