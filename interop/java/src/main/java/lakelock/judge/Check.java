package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.Snapshot;

/** Reads every snapshot of a table as Java does, then checks what a good writer of an encrypted table keeps. */
public class Check {
  private final Ctx table;
  final List<String> problems = new ArrayList<>();
  final Map<String, String> keyOwner = new HashMap<>();

  private Check(Ctx table) {
    this.table = table;
  }

  void bad(String s) {
    problems.add(s);
  }

  private String magic(String loc) {
    try {
      return Dump.magic(table.ops.raw.newInputFile(loc), 0);
    } catch (Exception e) {
      return e.toString();
    }
  }

  void file(String loc, JsonNode km, long recorded, String wantMagic) {
    if (!table.ops.raw.newInputFile(loc).exists()) {
      bad("missing file " + loc);
      return;
    }
    long stored = table.ops.raw.newInputFile(loc).getLength();
    if (recorded >= 0 && stored != recorded) bad("recorded length " + recorded + " but stored " + stored + ": " + loc);
    String m = magic(loc);
    if (km == null || km.isNull()) {
      bad("no key metadata (magic " + m.replaceAll("[^ -~]", "?") + "): " + loc);
      return;
    }
    if (!m.equals(wantMagic)) bad("magic " + m.replaceAll("[^ -~]", "?") + " instead of " + wantMagic + ": " + loc);
    if (km.has("error")) {
      bad("key metadata: " + km.get("error").asText() + ": " + loc);
      return;
    }
    if (km.get("file_length").isNull()) bad("file_length null in key metadata: " + loc);
    else if (km.get("file_length").asLong() != stored) bad("file_length " + km.get("file_length") + " but stored " + stored + ": " + loc);
    if (km.get("aad_prefix").isNull() || km.get("aad_prefix").asText().length() != 32) bad("AAD prefix is not 16 bytes: " + loc);
    for (String what : List.of("key", "aad_prefix")) {
      String v = what + " " + km.get(what).asText();
      String o = keyOwner.putIfAbsent(v, loc);
      if (o != null && !o.equals(loc)) bad(what + " reused by " + loc + " and " + o);
    }
  }

  static List<String> run(Ctx c) throws Exception {
    Check k = new Check(c);
    JsonNode d = Dump.table(c);
    Map<String, JsonNode> keys = new HashMap<>();
    for (JsonNode e : d.get("encryption_keys")) {
      if (keys.put(e.get("key_id").asText(), e) != null) k.bad("key id twice: " + e.get("key_id"));
      if (e.has("error")) k.bad("KEK: " + e.get("error").asText());
      if (e.get("kind").asText().equals("kek") && !e.get("properties").has("KEY_TIMESTAMP")) k.bad("KEK without KEY_TIMESTAMP " + e.get("key_id"));
    }
    Map<String, JsonNode> manifests = new HashMap<>();
    for (JsonNode m : d.get("manifests")) manifests.put(m.get("path").asText(), m);
    Map<String, JsonNode> files = new HashMap<>();
    for (JsonNode f : d.get("files")) {
      files.put(f.get("path").asText(), f);
      if (f.has("error")) k.bad("file " + f.get("path").asText() + ": " + f.get("error").asText());
    }
    Set<String> seen = new HashSet<>();
    Set<String> used = new HashSet<>();
    long assigned = 0;
    for (JsonNode s : d.get("snapshots")) {
      String sid = "snapshot " + s.get("snapshot_id").asText();
      if (s.has("error")) {
        k.bad(sid + ": " + s.get("error").asText());
        continue;
      }
      String kid = s.get("key_id").isNull() ? null : s.get("key_id").asText();
      if (kid == null) k.bad(sid + ": no key-id");
      else {
        if (!used.add(kid)) k.bad(sid + ": key-id used by another snapshot");
        JsonNode e = keys.get(kid);
        if (e == null) k.bad(sid + ": key-id names no entry");
        else if (e.get("encrypted_by").isNull() || !keys.containsKey(e.get("encrypted_by").asText())) k.bad(sid + ": its entry's KEK is missing");
      }
      k.file(s.get("manifest_list").asText(), s.get("manifest_list_key"), -1, "AGS1");
      long dataFiles = 0, deleteFiles = 0, records = 0, posDel = 0, eqDel = 0;
      for (JsonNode e : s.get("list").get("entries")) {
        String mp = e.get("manifest_path").asText();
        if (seen.add(mp)) k.file(mp, e.get("key_metadata"), e.get("manifest_length").asLong(), "AGS1");
        JsonNode m = manifests.get(mp);
        if (m == null) {
          k.bad("manifest not read: " + mp);
          continue;
        }
        long[] n = new long[3];
        long[] r = new long[3];
        for (JsonNode x : m.get("entries")) {
          int st = x.get("status").asInt();
          JsonNode f = x.get("data_file");
          int i = st == 1 ? 0 : st == 0 ? 1 : 2;
          n[i]++;
          r[i] += f.get("record_count").asLong();
          String fp = f.get("file_path").asText();
          String fmt = f.get("file_format").asText().toUpperCase();
          if (seen.add(fp) && st != 2) k.file(fp, f.get("key_metadata"), f.get("file_size_in_bytes").asLong(), fmt.equals("PARQUET") ? "PARE" : "AGS1");
          if (st != 2 && fmt.equals("PUFFIN") && files.containsKey(fp) && files.get(fp).has("puffin")) {
            boolean found = false;
            for (JsonNode b : files.get(fp).get("puffin").get("blobs")) {
              if (b.get("offset").asLong() == f.get("content_offset").asLong() && b.get("length").asLong() == f.get("content_size_in_bytes").asLong()) {
                found = true;
                if (!b.get("type").asText().equals("deletion-vector-v1")) k.bad("blob type " + b.get("type") + ": " + fp);
                if (!b.get("properties").path("referenced-data-file").asText().equals(f.get("referenced_data_file").asText())) k.bad("blob's referenced-data-file differs: " + fp);
                if (b.get("properties").path("cardinality").asLong(-1) != f.get("record_count").asLong()) k.bad("blob's cardinality differs from record_count: " + fp);
              }
            }
            if (!found) k.bad("no Puffin blob at " + f.get("content_offset") + "+" + f.get("content_size_in_bytes") + ": " + fp);
          }
          if (st != 2) {
            int content = f.path("content").asInt(0);
            long rc = f.get("record_count").asLong();
            if (content == 0) { dataFiles++; records += rc; }
            else { deleteFiles++; if (content == 1) posDel += rc; else eqDel += rc; }
          }
        }
        long[] want = {e.get("added_files_count").asLong(), e.get("existing_files_count").asLong(), e.get("deleted_files_count").asLong()};
        long[] wr = {e.get("added_rows_count").asLong(), e.get("existing_rows_count").asLong(), e.get("deleted_rows_count").asLong()};
        if (!java.util.Arrays.equals(n, want)) k.bad("file counts of the manifest list differ: " + mp);
        if (!java.util.Arrays.equals(r, wr)) k.bad("row counts of the manifest list differ: " + mp);
      }
      JsonNode su = s.get("summary");
      long[] have = {dataFiles, deleteFiles, records, posDel, eqDel};
      String[] name = {"total-data-files", "total-delete-files", "total-records", "total-position-deletes", "total-equality-deletes"};
      for (int i = 0; i < name.length; i++) {
        if (!su.has(name[i])) k.bad(sid + ": summary lacks " + name[i]);
        else if (su.get(name[i]).asLong() != have[i]) k.bad(sid + ": summary " + name[i] + "=" + su.get(name[i]).asText() + ", counted " + have[i]);
      }
      if (!s.get("first_row_id").isNull()) assigned = Math.max(assigned, s.get("first_row_id").asLong() + s.get("added_rows").asLong());
    }
    if (d.get("next_row_id").asLong() < assigned) k.bad("next-row-id " + d.get("next_row_id") + " below " + assigned);
    for (Snapshot s : c.table.snapshots()) {
      try {
        List<String> rows = Rows.readSnapshot(c.table, s.snapshotId());
        Set<String> ids = new HashSet<>();
        for (String r : rows) {
          JsonNode x = Rows.JSON.readTree(r).get("_row_id");
          if (x != null && !x.isNull() && !ids.add(x.asText())) {
            k.bad("snapshot " + s.snapshotId() + ": _row_id " + x + " twice");
            break;
          }
        }
      } catch (Exception e) {
        k.bad("snapshot " + s.snapshotId() + " cannot be read: " + Judge.causes(e));
      }
    }
    return k.problems;
  }
}
