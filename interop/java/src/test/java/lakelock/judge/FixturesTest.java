package lakelock.judge;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.encryption.Ciphers;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.util.ByteBuffers;
import org.junit.jupiter.api.Test;

/** The committed vectors are what their index says. */
class FixturesTest {
  private static final Path FOLDER = Path.of("../fixtures").toAbsolutePath().normalize();

  private final JsonNode index = Rows.JSON.readTree(Files.readString(FOLDER.resolve("manifest.json")));

  FixturesTest() throws Exception {}

  private static byte[] bytes(JsonNode hex) {
    return HexFormat.of().parseHex(hex.asText());
  }

  @Test
  void keyMetadata() {
    assertFalse(index.get("key_metadata").isEmpty());
    for (JsonNode one : index.get("key_metadata")) {
      EncryptionAccess.Parsed parsed = EncryptionAccess.parse(bytes(one.get("hex")));
      assertArrayEquals(bytes(one.get("encryption_key")), parsed.key());
      assertArrayEquals(one.get("aad_prefix").isNull() ? null : bytes(one.get("aad_prefix")), parsed.aad());
      assertEquals(one.get("file_length").isNull() ? null : one.get("file_length").asLong(), parsed.length());
    }
  }

  @Test
  void streams() throws Exception {
    assertEquals(8, index.get("ags1").size());
    for (JsonNode one : index.get("ags1")) {
      Path file = FOLDER.resolve(one.get("file").asText());
      assertEquals(one.get("stored_length").asLong(), Files.size(file));
      try (InputStream in = EncryptionAccess.decrypting(new LocalIO().newInputFile(file.toString()),
          bytes(one.get("key")), bytes(one.get("aad_prefix")), one.get("stored_length").asLong()).newStream()) {
        byte[] plain = in.readAllBytes();
        assertEquals(one.get("plain_length").asLong(), plain.length);
        assertArrayEquals(bytes(one.get("plain_sha256")), MessageDigest.getInstance("SHA-256").digest(plain));
      }
    }
  }

  @Test
  void wrappedKeys() {
    JsonNode wrapped = index.get("wrapped_kek");
    ByteBuffer kek = new MemoryKms().unwrapKey(ByteBuffer.wrap(bytes(wrapped.get("wrapped"))), wrapped.get("master_key_id").asText());
    assertArrayEquals(bytes(wrapped.get("kek")), ByteBuffers.toByteArray(kek));
    JsonNode entry = index.get("manifest_list_key");
    byte[] plain = new Ciphers.AesGcmDecryptor(bytes(entry.get("kek")))
        .decrypt(bytes(entry.get("encrypted_key_metadata")), entry.get("key_timestamp").asText().getBytes());
    assertArrayEquals(bytes(entry.get("key_metadata")), plain);
  }

  @Test
  void table() throws Exception {
    JsonNode described = index.get("table");
    LocalIO io = new LocalIO(Map.of(described.get("root").asText(), FOLDER.toString()));
    FolderTable table = FolderTable.load(io, new MemoryKms(), described.get("metadata").asText());
    assertEquals(List.of(), Check.run(table));
    JsonNode found = TableMaker.describe(table);
    assertEquals(described.get("snapshots").toString(), found.get("snapshots").toString());
  }
}
