package lakelock.judge;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.encryption.KeyManagementClient;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.io.FileIO;

/** What Java takes for the things that the benchmarks compare. */
final class Bench {
  private static final int MIB = 1 << 20;
  private static final int ROUNDS = 9;
  private static final int WARM_UP = 20;

  private Bench() {}

  /** The median of several rounds over streams of so many MiB, in 10^9 bytes of plaintext per second. */
  static void ags1(int mib, PrintStream out) throws IOException {
    byte[] key = new byte[16];
    byte[] prefix = new byte[16];
    byte[] block = new byte[MIB];
    Arrays.fill(block, (byte) 42);
    Sink sink = new Sink(mib * (MIB + 28) + 8);
    double[] writes = new double[ROUNDS];
    double[] reads = new double[ROUNDS];
    for (int round = -WARM_UP; round < ROUNDS; round++) {
      long start = System.nanoTime();
      write(sink, key, prefix, block, mib);
      long written = System.nanoTime();
      read(sink, key, prefix, block, mib);
      long end = System.nanoTime();
      if (round >= 0) {
        writes[round] = (double) mib * MIB / (written - start);
        reads[round] = (double) mib * MIB / (end - written);
      }
    }
    out.printf("write %.3f GB/s%n", median(writes));
    out.printf("read %.3f GB/s%n", median(reads));
  }

  private static void write(Sink sink, byte[] key, byte[] prefix, byte[] block, int blocks) throws IOException {
    sink.reset();
    try (OutputStream out = EncryptionAccess.encrypting(new CountingOutputStream(sink), key, prefix)) {
      for (int i = 0; i < blocks; i++) {
        out.write(block);
      }
    }
  }

  private static void read(Sink sink, byte[] key, byte[] prefix, byte[] block, int blocks) throws IOException {
    InMemoryInputFile file = new InMemoryInputFile(sink.bytes());
    try (InputStream in = EncryptionAccess.decrypting(file.newStream(), sink.size(), key, prefix)) {
      for (int i = 0; i < blocks; i++) {
        if (in.readNBytes(block, 0, block.length) != block.length) {
          throw new IOException("the stream ended in block " + i);
        }
      }
    }
  }

  /**
   * Commits one small data file at a time, on a history of its own that starts at the given metadata. The files are written, and
   * the JVM is warmed up by commits on another such history, before the clock starts.
   */
  static void commit(FileIO io, KeyManagementClient kms, String metadata, int commits, PrintStream out) {
    append(FolderTable.load(io, kms, metadata), WARM_UP);
    FolderTable table = FolderTable.load(io, kms, metadata);
    double[] times = append(table, commits);
    for (double time : times) {
      out.printf("commit %.2f ms%n", time);
    }
    out.printf("median %.2f ms%n", median(times));
    out.println("metadata " + table.metadata());
  }

  private static double[] append(FolderTable table, int commits) {
    List<DataFile> files = new ArrayList<>();
    for (int i = 0; i < commits; i++) {
      files.addAll(table.files.data(FileFormat.PARQUET, RowMaker.rows(table.table.schema(), 1, i, i, false)));
    }
    double[] times = new double[commits];
    for (int i = 0; i < commits; i++) {
      long start = System.nanoTime();
      table.table.newAppend().appendFile(files.get(i)).commit();
      times[i] = (System.nanoTime() - start) / 1e6;
    }
    return times;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  /** A memory buffer that hands out its bytes without a copy. */
  private static final class Sink extends ByteArrayOutputStream {
    Sink(int size) {
      super(size);
    }

    byte[] bytes() {
      return buf;
    }
  }
}
