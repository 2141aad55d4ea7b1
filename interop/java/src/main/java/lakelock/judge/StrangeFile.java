package lakelock.judge;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.crypto.FileEncryptionProperties;
import org.apache.parquet.crypto.ParquetCipher;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** An encrypted Parquet file such as Iceberg does not write: {@code id} counts up, and {@code name} has nulls and repeats. */
final class StrangeFile {
  static final int ROWS = 200;

  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType("message t { required int64 id; optional binary name (STRING); }");

  private StrangeFile() {}

  /** Two row groups of several pages. */
  static void write(
      Path path, byte[] key, byte[] prefix, ParquetCipher cipher, WriterVersion version, CompressionCodecName codec)
      throws IOException {
    FileEncryptionProperties encryption =
        FileEncryptionProperties.builder(key)
            .withAlgorithm(cipher)
            .withAADPrefix(prefix)
            .withoutAADPrefixStorage()
            .build();
    ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(new LocalOutputFile(path))
            .withType(SCHEMA)
            .withConf(new PlainParquetConfiguration())
            .withEncryption(encryption)
            .withWriterVersion(version)
            .withCompressionCodec(codec)
            .withPageRowCountLimit(30)
            .withRowGroupRowCountLimit(120)
            .withBloomFilterEnabled("id", true)
            .withMaxBloomFilterBytes(256)
            .build();
    try (writer) {
      SimpleGroupFactory rows = new SimpleGroupFactory(SCHEMA);
      for (int i = 0; i < ROWS; i++) {
        Group row = rows.newGroup().append("id", (long) i);
        writer.write(i % 7 == 0 ? row : row.append("name", "name " + i % 5));
      }
    }
  }
}
