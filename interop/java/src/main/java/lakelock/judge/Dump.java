package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.encryption.EncAccess;
import org.apache.iceberg.encryption.EncryptedKey;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.encryption.EncryptionUtil;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.parquet.ParquetAccess;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;

/** Everything in a table, decrypted, as JSON. */
public class Dump {
  static JsonNode keyMeta(byte[] b) {
    ObjectNode o = Rows.F.objectNode();
    o.put("hex", Rows.hex(b));
    try {
      EncAccess.Parsed p = EncAccess.parse(b);
      o.put("key", Rows.hex(p.key()));
      o.put("aad_prefix", p.aad() == null ? null : Rows.hex(p.aad()));
      o.put("file_length", p.length());
    } catch (Exception e) {
      o.put("error", e.toString());
    }
    return o;
  }

  static JsonNode avro(Object v) {
    if (v == null) return Rows.F.nullNode();
    if (v instanceof GenericRecord r) {
      ObjectNode o = Rows.F.objectNode();
      for (org.apache.avro.Schema.Field f : r.getSchema().getFields()) {
        Object x = r.get(f.pos());
        if (f.name().equals("key_metadata") && x instanceof ByteBuffer b) {
          o.set("key_metadata", keyMeta(ByteBuffers.toByteArray(b)));
        } else {
          o.set(f.name(), avro(x));
        }
      }
      return o;
    }
    if (v instanceof ByteBuffer b) return Rows.F.textNode(Rows.hex(ByteBuffers.toByteArray(b)));
    if (v instanceof GenericFixed f) return Rows.F.textNode(Rows.hex(f.bytes()));
    if (v instanceof Integer i) return Rows.F.numberNode(i);
    if (v instanceof Long l) return Rows.F.numberNode(l);
    if (v instanceof Boolean b) return Rows.F.booleanNode(b);
    if (v instanceof Double d) return Rows.F.numberNode(d);
    if (v instanceof Float d) return Rows.F.numberNode(d);
    if (v instanceof java.util.Collection<?> c) {
      ArrayNode a = Rows.F.arrayNode();
      c.forEach(x -> {
        if (x instanceof GenericRecord r && r.getSchema().getFields().size() == 2
            && r.getSchema().getField("key") != null && r.getSchema().getField("value") != null) {
          a.add(Rows.F.arrayNode().add(avro(r.get("key"))).add(avro(r.get("value"))));
        } else {
          a.add(avro(x));
        }
      });
      return a;
    }
    return Rows.F.textNode(v.toString());
  }

  static ObjectNode avroFile(InputFile in, boolean records) throws Exception {
    ObjectNode o = Rows.F.objectNode();
    o.put("plain_length", in.getLength());
    try (InputStream s = in.newStream();
        DataFileStream<GenericRecord> d = new DataFileStream<>(s, new GenericDatumReader<>())) {
      ObjectNode m = o.putObject("avro_meta");
      for (String k : d.getMetaKeys()) {
        m.put(k, new String(d.getMeta(k), StandardCharsets.UTF_8));
      }
      ArrayNode a = Rows.F.arrayNode();
      long n = 0;
      while (d.hasNext()) {
        GenericRecord r = d.next();
        n++;
        if (records) a.add(avro(r));
      }
      o.put("records", n);
      if (records) o.set("entries", a);
    }
    return o;
  }

  static ObjectNode parquet(InputFile in, byte[] km) throws Exception {
    ObjectNode o = Rows.F.objectNode();
    o.put("stored_length", in.getLength());
    o.put("magic", magic(in, 0) + "/" + magic(in, in.getLength() - 4));
    try (ParquetFileReader r = ParquetAccess.open(in, km)) {
      var fm = r.getFooter().getFileMetaData();
      o.put("created_by", fm.getCreatedBy());
      o.put("encryption_type", String.valueOf(fm.getEncryptionType()));
      o.put("schema", fm.getSchema().toString());
      ObjectNode kv = o.putObject("kv");
      fm.getKeyValueMetaData().forEach(kv::put);
      ArrayNode gs = o.putArray("row_groups");
      for (BlockMetaData g : r.getRowGroups()) {
        ObjectNode go = gs.addObject();
        go.put("rows", g.getRowCount());
        go.put("bytes", g.getTotalByteSize());
        ArrayNode cs = go.putArray("columns");
        for (ColumnChunkMetaData c : g.getColumns()) {
          ObjectNode co = cs.addObject();
          co.put("path", c.getPath().toDotString());
          co.put("codec", c.getCodec().name());
          co.put("encodings", c.getEncodings().toString());
          co.put("values", c.getValueCount());
          co.put("size", c.getTotalSize());
          co.put("bloom_offset", c.getBloomFilterOffset());
          co.put("has_column_index", c.getColumnIndexReference() != null);
          co.put("stats", String.valueOf(c.getStatistics()));
        }
      }
    }
    return o;
  }

  /** The four bytes at this place, as text. */
  static String magic(InputFile in, long at) throws IOException {
    try (SeekableInputStream s = in.newStream()) {
      s.seek(at);
      return new String(s.readNBytes(4), StandardCharsets.ISO_8859_1);
    }
  }

  static ObjectNode puffin(InputFile in) throws Exception {
    ObjectNode o = Rows.F.objectNode();
    o.put("plain_length", in.getLength());
    try (PuffinReader r = Puffin.read(in).build()) {
      var fm = r.fileMetadata();
      ObjectNode p = o.putObject("properties");
      fm.properties().forEach(p::put);
      ArrayNode bs = o.putArray("blobs");
      for (BlobMetadata b : fm.blobs()) {
        ObjectNode x = bs.addObject();
        x.put("type", b.type());
        x.put("fields", b.inputFields().toString());
        x.put("snapshot_id", b.snapshotId());
        x.put("sequence_number", b.sequenceNumber());
        x.put("offset", b.offset());
        x.put("length", b.length());
        x.put("codec", b.compressionCodec());
        ObjectNode pp = x.putObject("properties");
        b.properties().forEach(pp::put);
      }
    }
    return o;
  }

  static InputFile open(FileIO raw, String loc, byte[] km) {
    InputFile in = raw.newInputFile(loc);
    if (km == null) return in;
    EncAccess.Parsed p = EncAccess.parse(km);
    return EncAccess.decrypting(in, p.key(), p.aad(), p.length());
  }

  static byte[] unhex(JsonNode n) {
    return n == null || n.isNull() ? null : java.util.HexFormat.of().parseHex(n.asText());
  }

  static byte[] km(JsonNode entry) {
    JsonNode k = entry.get("key_metadata");
    return k == null || k.isNull() ? null : unhex(k.get("hex"));
  }

  private static long length(Ctx c, String location) {
    return c.ops.raw.newInputFile(location).getLength();
  }

  static ObjectNode table(Ctx c) throws Exception {
    TableMetadata m = c.ops.current();
    ObjectNode o = Rows.F.objectNode();
    o.put("metadata_file", m.metadataFileLocation());
    o.put("format_version", m.formatVersion());
    o.put("next_row_id", m.nextRowId());
    String tableKey = m.property("encryption.key-id", null);
    o.put("table_key_id", tableKey);
    ArrayNode ks = o.putArray("encryption_keys");
    for (EncryptedKey k : m.encryptionKeys()) {
      ObjectNode x = ks.addObject();
      x.put("key_id", k.keyId());
      x.put("encrypted_by", k.encryptedById());
      x.put("wrapped_hex", Rows.hex(ByteBuffers.toByteArray(k.encryptedKeyMetadata())));
      ObjectNode pr = x.putObject("properties");
      if (k.properties() != null) k.properties().forEach(pr::put);
      if (k.encryptedById() != null && k.encryptedById().equals(tableKey)) {
        x.put("kind", "kek");
        try {
          x.put("kek_hex", Rows.hex(ByteBuffers.toByteArray(c.ops.kms.unwrapKey(k.encryptedKeyMetadata(), tableKey))));
        } catch (Exception e) {
          x.put("error", e.toString());
        }
      } else {
        x.put("kind", "manifest-list");
      }
    }
    ArrayNode ss = o.putArray("snapshots");
    Set<String> seen = new LinkedHashSet<>();
    ArrayNode ms = o.putArray("manifests");
    ArrayNode fs = o.putArray("files");
    for (Snapshot s : m.snapshots()) {
      ObjectNode so = ss.addObject();
      so.put("snapshot_id", s.snapshotId());
      so.put("operation", s.operation());
      so.put("sequence_number", s.sequenceNumber());
      so.put("key_id", s.keyId());
      so.put("first_row_id", s.firstRowId());
      so.put("added_rows", s.addedRows());
      ObjectNode su = so.putObject("summary");
      s.summary().forEach(su::put);
      so.put("manifest_list", s.manifestListLocation());
      so.put("manifest_list_stored_length", length(c, s.manifestListLocation()));
      byte[] lk = null;
      try {
        if (s.keyId() != null) {
          lk = ByteBuffers.toByteArray(
              new org.apache.iceberg.ManifestListFile() {
                @Override public String location() { return s.manifestListLocation(); }
                @Override public String encryptionKeyID() { return s.keyId(); }
                @Override public ByteBuffer decryptKeyMetadata(org.apache.iceberg.encryption.EncryptionManager em) {
                  return EncryptionUtil.decryptManifestListKeyMetadata(this, em);
                }
              }.decryptKeyMetadata(c.ops.encryption()));
          so.set("manifest_list_key", keyMeta(lk));
        }
        ObjectNode l = avroFile(open(c.ops.raw, s.manifestListLocation(), lk), true);
        so.set("list", l);
        for (JsonNode e : l.get("entries")) {
          String p = e.get("manifest_path").asText();
          if (!seen.add(p)) continue;
          ObjectNode mo = ms.addObject();
          mo.put("path", p);
          mo.put("stored_length", length(c, p));
          ObjectNode man = avroFile(open(c.ops.raw, p, km(e)), true);
          mo.setAll(man);
          for (JsonNode me : man.get("entries")) {
            JsonNode df = me.get("data_file");
            String fp = df.get("file_path").asText();
            if (!seen.add(fp)) continue;
            ObjectNode fo = fs.addObject();
            fo.put("path", fp);
            if (!c.ops.raw.newInputFile(fp).exists()) {
              fo.put("missing", true);
              continue;
            }
            fo.put("stored_length", length(c, fp));
            String fmt = df.get("file_format").asText().toLowerCase();
            try {
              if (fmt.equals("parquet")) fo.set("parquet", parquet(c.ops.raw.newInputFile(fp), km(df)));
              else if (fmt.equals("avro")) fo.set("avro", avroFile(open(c.ops.raw, fp, km(df)), false));
              else if (fmt.equals("puffin")) fo.set("puffin", puffin(open(c.ops.raw, fp, km(df))));
            } catch (Exception e2) {
              fo.put("error", e2.toString());
            }
          }
        }
      } catch (Exception e) {
        so.put("error", e.toString());
      }
    }
    return o;
  }
}
