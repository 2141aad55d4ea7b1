package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.required;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestWriter;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.encryption.EncryptionAccess;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** Tables with very many files, of which there are the entries alone, and how long Java plans scans of them. */
final class Planning {
  private static final Schema SCHEMA =
      new Schema(
          required(1, "id", Types.LongType.get()),
          required(2, "name", Types.StringType.get()),
          required(3, "part", Types.IntegerType.get()),
          required(4, "day", Types.DateType.get()),
          required(5, "at", Types.TimestampType.withZone()),
          required(6, "price", Types.DoubleType.get()),
          required(7, "weight", Types.DoubleType.get()),
          required(8, "amount", Types.DecimalType.of(15, 2)),
          required(9, "count", Types.IntegerType.get()),
          required(10, "customer", Types.LongType.get()),
          required(11, "city", Types.StringType.get()),
          required(12, "comment", Types.StringType.get()));
  private static final int ROWS = 1000;
  private static final int WARM_UP = 4;

  private Planning() {}

  /** A table of so many manifests of so many files each. Each manifest is a partition, and ids and names go up from file to file. */
  static FolderTable make(TableMaker maker, int manifests, int files) throws IOException {
    FolderTable table = maker.table(SCHEMA, PartitionSpec.builderFor(SCHEMA).identity("part").build());
    AppendFiles append = table.table.newFastAppend();
    Random random = new Random(42);
    for (int i = 0; i < manifests; i++) {
      append.appendManifest(manifest(table.table, i, files, random));
    }
    append.commit();
    return table;
  }

  private static ManifestFile manifest(Table table, int part, int files, Random random) throws IOException {
    EncryptedOutputFile output =
        ((EncryptingFileIO) table.io()).newEncryptingOutputFile(table.location() + "/metadata/many-" + part + ".avro");
    ManifestWriter<DataFile> writer = ManifestFiles.write(3, table.spec(), output, null);
    try (writer) {
      for (int i = 0; i < files; i++) {
        writer.add(file(table, part, part * files + i, random));
      }
    }
    return writer.toManifestFile();
  }

  private static DataFile file(Table table, int part, int number, Random random) {
    byte[] key = new byte[16];
    byte[] prefix = new byte[16];
    random.nextBytes(key);
    random.nextBytes(prefix);
    long length = 4_000_000 + random.nextInt(1_000_000);
    String name = String.format("%05d-%d-%016x%016x-00001.parquet", number, part, random.nextLong(), random.nextLong());
    return DataFiles.builder(table.spec())
        .withPath(table.location() + "/data/part=" + part + "/" + name)
        .withFormat(FileFormat.PARQUET)
        .withPartitionPath("part=" + part)
        .withFileSizeInBytes(length)
        .withMetrics(metrics(part, number, random))
        .withSplitOffsets(List.of(4L))
        .withEncryptionKeyMetadata(ByteBuffer.wrap(EncryptionAccess.keyMetadata(key, prefix, length)))
        .build();
  }

  private static Metrics metrics(int part, int number, Random random) {
    Map<Integer, Long> sizes = new HashMap<>();
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, Long> nans = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    for (Types.NestedField field : SCHEMA.columns()) {
      sizes.put(field.fieldId(), 1000L + random.nextInt(100_000));
      values.put(field.fieldId(), (long) ROWS);
      nulls.put(field.fieldId(), 0L);
      if (field.type().typeId() == Type.TypeID.DOUBLE) {
        nans.put(field.fieldId(), 0L);
      }
      lower.put(field.fieldId(), Conversions.toByteBuffer(field.type(), bound(field.name(), part, number, random, 0)));
      upper.put(field.fieldId(), Conversions.toByteBuffer(field.type(), bound(field.name(), part, number, random, ROWS - 1)));
    }
    return new Metrics((long) ROWS, sizes, values, nulls, nans, lower, upper);
  }

  private static Object bound(String column, int part, int number, Random random, int row) {
    long id = (long) number * ROWS + row;
    return switch (column) {
      case "id" -> id;
      case "name" -> name(id);
      case "part" -> part;
      case "day" -> 20_000 + number / 1000 + row / 500;
      case "at" -> 1_700_000_000_000_000L + id * 1_000;
      case "price", "weight" -> random.nextDouble() + row;
      case "amount" -> new BigDecimal(BigInteger.valueOf(random.nextInt(1_000_000) + 1_000_000L * row), 2);
      case "count" -> random.nextInt(100) + row;
      case "customer" -> (long) random.nextInt(1_000_000) + 1_000_000L * row;
      case "city" -> (row == 0 ? "Aa" : "Zw") + Integer.toString(random.nextInt(46_656), 36);
      default -> (row == 0 ? "a " : "z ") + Long.toString(random.nextLong() & Long.MAX_VALUE, 36);
    };
  }

  private static String name(long id) {
    return String.format("n%012d", id);
  }

  /**
   * Plans scans on one thread, and prints for each how many files are found and the CPU time of the process: the least of so many
   * rounds, after some to warm up.
   */
  static void bench(FolderTable table, int rounds, String[] scans, PrintStream out) {
    System.setProperty("iceberg.scan.plan-in-worker-pool", "false");
    for (String scan : scans) {
      Expression filter = filter(scan);
      double[] times = new double[rounds];
      long files = 0;
      for (int round = -WARM_UP; round < rounds; round++) {
        long start = cpuTime();
        files = plan(table.table, filter);
        if (round >= 0) {
          times[round] = (cpuTime() - start) / 1e9;
        }
      }
      out.printf("%s %d files %.4f CPU seconds%n", scan, files, Arrays.stream(times).min().orElse(0));
    }
  }

  /** {@code all}, {@code id:FROM:TO} (without the last), {@code name:ID} (the one of that row) or {@code part:VALUE}. */
  private static Expression filter(String scan) {
    String[] words = scan.split(":");
    return switch (words[0]) {
      case "all" -> Expressions.alwaysTrue();
      case "id" -> Expressions.and(
          Expressions.greaterThanOrEqual("id", Long.parseLong(words[1])), Expressions.lessThan("id", Long.parseLong(words[2])));
      case "name" -> Expressions.equal("name", name(Long.parseLong(words[1])));
      case "part" -> Expressions.equal("part", Integer.parseInt(words[1]));
      default -> throw new Arguments.Usage("all, id:FROM:TO, name:ID or part:VALUE, not " + scan);
    };
  }

  private static long plan(Table table, Expression filter) {
    long files = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().filter(filter).planFiles()) {
      for (FileScanTask task : tasks) {
        files += task.file().recordCount() > 0 ? 1 : 0;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }

  private static long cpuTime() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }
}
