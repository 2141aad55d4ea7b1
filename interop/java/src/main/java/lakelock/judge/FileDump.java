package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import org.apache.avro.Schema.Field;
import org.apache.avro.file.DataFileStream;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.parquet.ParquetAccess;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.FileMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;
import org.apache.iceberg.util.ByteBuffers;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;

/** One file of a table, decrypted, as JSON: what is stored, without Iceberg's view of it. */
final class FileDump {
  private final FileIO io;
  private final String location;
  private final byte[] key;

  /** The key metadata is null for a plaintext file. */
  FileDump(FileIO io, String location, byte[] key) {
    this.io = io;
    this.location = location;
    this.key = key;
  }

  static ObjectNode keyMetadata(byte[] bytes) {
    ObjectNode json = Rows.F.objectNode().put("hex", Rows.hex(bytes));
    try {
      EncryptionAccess.Parsed parsed = EncryptionAccess.parse(bytes);
      json.put("key", Rows.hex(parsed.key()));
      json.put("aad_prefix", parsed.aad() == null ? null : Rows.hex(parsed.aad()));
      json.put("file_length", parsed.length());
    } catch (RuntimeException e) {
      json.put("error", e.toString());
    }
    return json;
  }

  /** The bytes of an entry's key metadata as {@link #keyMetadata} showed them, or null. */
  static byte[] keyMetadataOf(JsonNode entry) {
    JsonNode shown = entry.get("key_metadata");
    return shown == null || shown.isNull() ? null : HexFormat.of().parseHex(shown.get("hex").asText());
  }

  /** The four bytes at this place, as text. */
  static String magic(InputFile file, long at) throws IOException {
    try (SeekableInputStream in = file.newStream()) {
      in.seek(at);
      return new String(in.readNBytes(4), StandardCharsets.ISO_8859_1);
    }
  }

  private InputFile decrypted() {
    InputFile stored = io.newInputFile(location);
    if (key == null) {
      return stored;
    }
    EncryptionAccess.Parsed parsed = EncryptionAccess.parse(key);
    return EncryptionAccess.decrypting(stored, parsed.key(), parsed.aad(), parsed.length());
  }

  /** An Avro file's header, and its records if wanted, else their number only. */
  ObjectNode avro(boolean records) throws IOException {
    InputFile file = decrypted();
    ObjectNode json = Rows.F.objectNode().put("plain_length", file.getLength());
    try (InputStream in = file.newStream();
        DataFileStream<GenericRecord> avro = new DataFileStream<>(in, new GenericDatumReader<>())) {
      ObjectNode header = json.putObject("avro_meta");
      for (String name : avro.getMetaKeys()) {
        header.put(name, avro.getMetaString(name));
      }
      ArrayNode entries = Rows.F.arrayNode();
      long count = 0;
      for (GenericRecord record : avro) {
        count++;
        if (records) {
          entries.add(value(record));
        }
      }
      json.put("records", count);
      if (records) {
        json.set("entries", entries);
      }
    }
    return json;
  }

  private static JsonNode value(Object value) {
    if (value == null) {
      return Rows.F.nullNode();
    } else if (value instanceof GenericRecord record) {
      return record(record);
    } else if (value instanceof Collection<?> values) {
      ArrayNode array = Rows.F.arrayNode();
      values.forEach(one -> array.add(element(one)));
      return array;
    } else if (value instanceof ByteBuffer bytes) {
      return Rows.F.textNode(Rows.hex(ByteBuffers.toByteArray(bytes)));
    } else if (value instanceof GenericFixed fixed) {
      return Rows.F.textNode(Rows.hex(fixed.bytes()));
    } else if (value instanceof CharSequence text) {
      return Rows.F.textNode(text.toString());
    }
    return Rows.JSON.valueToTree(value);
  }

  private static ObjectNode record(GenericRecord record) {
    ObjectNode json = Rows.F.objectNode();
    for (Field field : record.getSchema().getFields()) {
      Object value = record.get(field.pos());
      boolean key = field.name().equals("key_metadata") && value instanceof ByteBuffer;
      json.set(field.name(), key ? keyMetadata(ByteBuffers.toByteArray((ByteBuffer) value)) : value(value));
    }
    return json;
  }

  /** Avro has maps of other keys than text as arrays of pairs. */
  private static JsonNode element(Object value) {
    if (value instanceof GenericRecord pair
        && pair.getSchema().getFields().size() == 2
        && pair.hasField("key")
        && pair.hasField("value")) {
      return Rows.F.arrayNode().add(value(pair.get("key"))).add(value(pair.get("value")));
    }
    return value(value);
  }

  ObjectNode parquet() throws IOException {
    InputFile file = io.newInputFile(location);
    ObjectNode json = Rows.F.objectNode();
    json.put("stored_length", file.getLength());
    json.put("magic", magic(file, 0) + "/" + magic(file, file.getLength() - 4));
    try (ParquetFileReader reader = ParquetAccess.open(file, key)) {
      var metadata = reader.getFooter().getFileMetaData();
      json.put("created_by", metadata.getCreatedBy());
      json.put("encryption_type", String.valueOf(metadata.getEncryptionType()));
      json.put("schema", metadata.getSchema().toString());
      json.set("kv", Rows.JSON.valueToTree(metadata.getKeyValueMetaData()));
      ArrayNode groups = json.putArray("row_groups");
      reader.getRowGroups().forEach(group -> rowGroup(groups.addObject(), group));
    }
    return json;
  }

  private static void rowGroup(ObjectNode json, BlockMetaData group) {
    json.put("rows", group.getRowCount());
    json.put("bytes", group.getTotalByteSize());
    ArrayNode columns = json.putArray("columns");
    for (ColumnChunkMetaData column : group.getColumns()) {
      columns.addObject()
          .put("path", column.getPath().toDotString())
          .put("codec", column.getCodec().name())
          .put("encodings", column.getEncodings().toString())
          .put("values", column.getValueCount())
          .put("size", column.getTotalSize())
          .put("bloom_offset", column.getBloomFilterOffset())
          .put("has_column_index", column.getColumnIndexReference() != null)
          .put("stats", String.valueOf(column.getStatistics()));
    }
  }

  ObjectNode puffin() throws IOException {
    InputFile file = decrypted();
    ObjectNode json = Rows.F.objectNode().put("plain_length", file.getLength());
    try (PuffinReader reader = Puffin.read(file).build()) {
      FileMetadata metadata = reader.fileMetadata();
      json.set("properties", Rows.JSON.valueToTree(metadata.properties()));
      ArrayNode blobs = json.putArray("blobs");
      for (BlobMetadata blob : metadata.blobs()) {
        blobs.addObject()
            .put("type", blob.type())
            .put("fields", blob.inputFields().toString())
            .put("snapshot_id", blob.snapshotId())
            .put("sequence_number", blob.sequenceNumber())
            .put("offset", blob.offset())
            .put("length", blob.length())
            .put("codec", blob.compressionCodec())
            .set("properties", Rows.JSON.valueToTree(blob.properties()));
      }
    }
    return json;
  }
}
