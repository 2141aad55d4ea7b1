package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.types.Types;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.crypto.ParquetCipher;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;

/** The vectors under interop/fixtures; their README says what each is. */
final class Fixtures {
  private static final String INDEX = "manifest.json";
  private static final String ROOT = "file:/lakelock-fixture";
  private static final String TABLE = "small-table";
  private static final int MIB = 1 << 20;
  private static final int[] STREAM_LENGTHS = {0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 5};
  private static final String TIMESTAMP = "1764460800000";

  private final Path folder;
  private final ObjectNode index = Rows.F.objectNode();

  private Fixtures(Path folder) {
    this.folder = folder;
  }

  /** Writes all vectors and their index; the folder must not have an index yet. */
  static void write(Path folder) throws IOException, GeneralSecurityException {
    if (Files.exists(folder.resolve(INDEX))) {
      throw new IOException("there are fixtures already: " + folder.resolve(INDEX));
    }
    Files.createDirectories(folder.resolve("ags1"));
    Fixtures fixtures = new Fixtures(folder);
    fixtures.keyMetadata();
    fixtures.refusedKeyMetadata();
    fixtures.streams();
    fixtures.keys();
    fixtures.table();
    fixtures.parquet();
    Files.writeString(folder.resolve(INDEX), fixtures.index.toPrettyString() + "\n");
  }

  /** As many bytes counting up from the first: keys and AAD prefixes that are easy to recognise. */
  private static byte[] counting(int first, int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (first + i);
    }
    return bytes;
  }

  private static byte[] plaintext(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) (i * 31 + 7);
    }
    return bytes;
  }

  private static String sha256(byte[] bytes) throws GeneralSecurityException {
    return Rows.hex(MessageDigest.getInstance("SHA-256").digest(bytes));
  }

  private void keyMetadata() {
    ArrayNode cases = index.putArray("key_metadata");
    byte[] prefix = counting(0x40, 16);
    keyMetadata(cases, "key only", counting(0, 16), null, null);
    keyMetadata(cases, "key and AAD prefix", counting(0, 16), prefix, null);
    keyMetadata(cases, "key and file length", counting(0, 16), null, 36L);
    keyMetadata(cases, "all three, 128-bit key", counting(0, 16), prefix, 1_048_612L);
    keyMetadata(cases, "all three, 192-bit key", counting(0, 24), prefix, 63L);
    keyMetadata(cases, "all three, 256-bit key", counting(0, 32), prefix, 64L);
    keyMetadata(cases, "empty AAD prefix", counting(0, 16), new byte[0], 8192L);
    keyMetadata(cases, "longest file length", counting(0, 16), prefix, Long.MAX_VALUE);
  }

  private static void keyMetadata(ArrayNode cases, String name, byte[] key, byte[] prefix, Long length) {
    cases.addObject()
        .put("name", name)
        .put("hex", Rows.hex(EncryptionAccess.keyMetadata(key, prefix, length)))
        .put("encryption_key", Rows.hex(key))
        .put("aad_prefix", prefix == null ? null : Rows.hex(prefix))
        .put("file_length", length);
  }

  private void refusedKeyMetadata() {
    ArrayNode cases = index.putArray("refused_key_metadata");
    byte[] good = EncryptionAccess.keyMetadata(counting(0, 16), counting(0x40, 16), 36L);
    refused(cases, "nothing at all", new byte[0]);
    refused(cases, "version byte only", new byte[] {1});
    refused(cases, "version 0", changed(good, 0, 0));
    refused(cases, "version 2", changed(good, 0, 2));
    refused(cases, "key length beyond the end", changed(good, 1, 0x7e));
    refused(cases, "negative key length", changed(good, 1, 0x1f));
    refused(cases, "union index 2 for the AAD prefix", changed(good, 18, 4));
    refused(cases, "union index -1 for the AAD prefix", changed(good, 18, 1));
    refused(cases, "cut inside the key", Arrays.copyOf(good, 10));
    refused(cases, "cut before the file length", Arrays.copyOf(good, good.length - 2));
  }

  private static byte[] changed(byte[] bytes, int at, int value) {
    byte[] copy = bytes.clone();
    copy[at] = (byte) value;
    return copy;
  }

  private static void refused(ArrayNode cases, String name, byte[] bytes) {
    try {
      EncryptionAccess.parse(bytes);
    } catch (RuntimeException e) {
      cases.addObject().put("name", name).put("hex", Rows.hex(bytes));
      return;
    }
    throw new IllegalStateException("Java accepts key metadata with " + name);
  }

  private void streams() throws IOException, GeneralSecurityException {
    ArrayNode streams = index.putArray("ags1");
    for (int length : STREAM_LENGTHS) {
      stream(streams, "ags1/plain-" + length + ".ags1", counting(0x20, 16), counting(length, 16), length);
    }
    stream(streams, "ags1/key-24.ags1", counting(0x20, 24), counting(0x60, 16), 1000);
    stream(streams, "ags1/key-32.ags1", counting(0x20, 32), counting(0x70, 16), 1000);
  }

  private void stream(ArrayNode streams, String file, byte[] key, byte[] prefix, int length)
      throws IOException, GeneralSecurityException {
    byte[] plain = plaintext(length);
    byte[] stored = encrypt(plain, key, prefix);
    Files.write(folder.resolve(file), stored);
    streams.addObject()
        .put("file", file)
        .put("key", Rows.hex(key))
        .put("aad_prefix", Rows.hex(prefix))
        .put("plain_length", length)
        .put("stored_length", stored.length)
        .put("plain_sha256", sha256(plain));
  }

  private static byte[] encrypt(byte[] plain, byte[] key, byte[] prefix) throws IOException {
    ByteArrayOutputStream stored = new ByteArrayOutputStream();
    try (OutputStream out = EncryptionAccess.encrypting(new CountingOutputStream(stored), key, prefix)) {
      out.write(plain);
    }
    return stored.toByteArray();
  }

  /** A KEK as the test KMS wraps it, and a manifest list's key metadata under that KEK. */
  private void keys() {
    MemoryKms kms = new MemoryKms();
    byte[] kek = counting(0x80, 16);
    index.putObject("wrapped_kek")
        .put("master_key_id", TableMaker.KEY)
        .put("master_key", Rows.hex(kms.keys.get(TableMaker.KEY)))
        .put("kek", Rows.hex(kek))
        .put("wrapped", Rows.hex(kms.wrap(kek, TableMaker.KEY)));
    byte[] key = counting(0x90, 16);
    byte[] prefix = counting(0xa0, 16);
    index.putObject("manifest_list_key")
        .put("kek", Rows.hex(kek))
        .put("key_timestamp", TIMESTAMP)
        .put("encrypted_key_metadata", Rows.hex(EncryptionAccess.wrapManifestListMetadata(kek, TIMESTAMP, key, prefix, 4321L)))
        .put("key_metadata", Rows.hex(EncryptionAccess.keyMetadata(key, prefix, 4321L)))
        .put("encryption_key", Rows.hex(key))
        .put("aad_prefix", Rows.hex(prefix))
        .put("file_length", 4321);
  }

  private void table() throws IOException {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "city", Types.StringType.get()),
            optional(3, "at", Types.TimestampType.withoutZone()),
            optional(4, "value", Types.DoubleType.get()));
    MemoryKms kms = new MemoryKms();
    TableMaker maker = new TableMaker(new LocalIO(Map.of(ROOT, folder.toString())), kms, ROOT + "/" + TABLE);
    FolderTable table = maker.table(schema, PartitionSpec.builderFor(schema).identity("city").month("at").build());
    table.append(FileFormat.PARQUET, List.of(
        row(schema, 1, "Riga", LocalDateTime.of(2026, 1, 31, 23, 59, 59), 1.5),
        row(schema, 2, "Riga", LocalDateTime.of(2026, 1, 1, 0, 0), Double.NaN),
        row(schema, 3, "São Paulo", LocalDateTime.of(1969, 12, 31, 23, 0), null)));
    table.append(FileFormat.PARQUET, List.of(
        row(schema, 4, null, LocalDateTime.of(2026, 2, 1, 0, 0), -0.0),
        row(schema, 5, "Riga", null, 1e300)));
    ObjectNode json = index.putObject("table");
    json.put("root", ROOT);
    json.put("location", maker.location());
    json.putObject("master_keys").put(TableMaker.KEY, Rows.hex(kms.keys.get(TableMaker.KEY)));
    json.setAll(TableMaker.describe(table));
  }

  private static Record row(Schema schema, long id, String city, LocalDateTime at, Double value) {
    Record row = GenericRecord.create(schema);
    row.setField("id", id);
    row.setField("city", city);
    row.setField("at", at);
    row.setField("value", value);
    return row;
  }

  /** Encrypted Parquet files such as Iceberg does not write. */
  private void parquet() throws IOException {
    Files.createDirectories(folder.resolve("parquet"));
    ArrayNode cases = index.putArray("parquet");
    parquet(cases, "ctr-16", 16, ParquetCipher.AES_GCM_CTR_V1, WriterVersion.PARQUET_1_0, CompressionCodecName.UNCOMPRESSED);
    parquet(cases, "ctr-24", 24, ParquetCipher.AES_GCM_CTR_V1, WriterVersion.PARQUET_1_0, CompressionCodecName.ZSTD);
    parquet(cases, "ctr-32", 32, ParquetCipher.AES_GCM_CTR_V1, WriterVersion.PARQUET_1_0, CompressionCodecName.SNAPPY);
    parquet(cases, "pages-v2", 16, ParquetCipher.AES_GCM_V1, WriterVersion.PARQUET_2_0, CompressionCodecName.ZSTD);
  }

  private void parquet(ArrayNode cases, String name, int length, ParquetCipher cipher, WriterVersion version, CompressionCodecName codec)
      throws IOException {
    String file = "parquet/" + name + ".parquet";
    byte[] key = counting(0, length);
    byte[] prefix = counting(0x40, 16);
    StrangeFile.write(folder.resolve(file), key, prefix, cipher, version, codec);
    cases.addObject()
        .put("file", file)
        .put("key", Rows.hex(key))
        .put("aad_prefix", Rows.hex(prefix))
        .put("rows", StrangeFile.ROWS);
  }
}
