package org.apache.iceberg.parquet;

import java.io.IOException;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.io.InputFile;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.crypto.FileDecryptionProperties;
import org.apache.parquet.hadoop.ParquetFileReader;

/** Opens a few package-private parts of Iceberg's Parquet package for the judge. */
public final class ParquetAccess {
  private ParquetAccess() {}

  /** The file's own reader; key metadata is null for a plaintext file. */
  public static ParquetFileReader open(InputFile file, byte[] keyMetadata) throws IOException {
    ParquetReadOptions.Builder options = ParquetReadOptions.builder(new PlainParquetConfiguration());
    if (keyMetadata != null) {
      EncryptionAccess.Parsed key = EncryptionAccess.parse(keyMetadata);
      FileDecryptionProperties.Builder decryption = FileDecryptionProperties.builder().withFooterKey(key.key());
      if (key.aad() != null) {
        decryption.withAADPrefix(key.aad());
      }
      options.withDecryption(decryption.build());
    }
    return ParquetFileReader.open(ParquetIO.file(file), options.build());
  }
}
