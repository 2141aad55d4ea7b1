package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.encryption.EncryptionUtil;
import org.apache.iceberg.encryption.KeyManagementClient;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.ByteBuffers;

/** Runs one command. */
final class Judge {
  static final int FINE = 0;
  static final int FAILED = 1;
  static final int USAGE = 2;

  private final Arguments args;
  private final PrintStream out;
  private final FileIO io;
  private final KeyManagementClient kms;

  private Judge(Arguments args, PrintStream out) {
    this.args = args;
    this.out = out;
    this.io = io(args);
    this.kms = kms(args);
  }

  /** Runs the command and returns its exit status; never throws. */
  static int run(Callable<List<String>> line, PrintStream out, PrintStream err) {
    Arguments args = null;
    try {
      args = new Arguments(line.call());
      return new Judge(args, out).command();
    } catch (Arguments.Usage e) {
      err.println("usage: " + e.getMessage());
      return USAGE;
    } catch (Throwable e) { // an Error too: it must not end a batch
      err.println(causes(e));
      if (args != null && args.flag("trace")) {
        e.printStackTrace(err);
      }
      return FAILED;
    }
  }

  /** An exception and its causes in one line. */
  static String causes(Throwable e) {
    StringBuilder text = new StringBuilder();
    int depth = 0;
    for (Throwable t = e; t != null && depth < 5; t = t.getCause(), depth++) {
      text.append(depth == 0 ? "" : " <- ").append(t.getClass().getName()).append(": ").append(t.getMessage());
    }
    return text.toString();
  }

  private int command() throws Exception {
    switch (args.word(0, "a command")) {
      case "read" -> read(table()).forEach(out::println);
      case "metadata-table" -> metadataTable().rows().forEach(out::println);
      case "metadata-columns" -> metadataTable().columns().forEach(out::println);
      case "appends" -> appends(table()).forEach(out::println);
      case "dump" -> print(Dump.table(table()));
      case "check" -> {
        return check();
      }
      case "hash" -> out.println(hash(TableMetadataParser.read(io, args.word(1, "METADATA"))));
      case "keymeta" -> print(FileDump.keyMetadata(HexFormat.of().parseHex(args.word(1, "HEX"))));
      case "wrap" -> out.println(hex(kms.wrapKey(bytes(args.word(2, "HEX")), args.word(1, "KEY"))));
      case "unwrap" -> out.println(hex(kms.unwrapKey(bytes(args.word(2, "HEX")), args.word(1, "KEY"))));
      case "continue" -> {
        FolderTable table = table();
        Continuation.run(table, FileFormat.fromString(args.option("format", "parquet")));
        out.println(table.metadata());
        Rows.read(table.table).forEach(out::println);
      }
      case "append" -> {
        FolderTable table = table();
        int rows = Arguments.number(args.option("rows", "3"));
        Continuation.append(table, FileFormat.fromString(args.option("format", "parquet")), rows);
        out.println(table.metadata());
      }
      case "jdbc" -> Jdbc.use(args.word(1, "FILE"), args.word(2, "NAME"), args.word(3, "WAREHOUSE"), out);
      case "scenarios" -> Scenarios.names().forEach(out::println);
      case "write" -> {
        TableMaker maker = new TableMaker(io, kms, folder(args.word(2, "DIR"))).under(args.option("key-id", TableMaker.KEY));
        print(TableMaker.describe(Scenarios.write(args.word(1, "SCENARIO"), maker)));
      }
      case "fixtures" -> Fixtures.write(Path.of(args.word(1, "DIR")).toAbsolutePath());
      case "make-snapshots" -> {
        TableMaker maker = new TableMaker(io, kms, folder(args.word(1, "DIR")));
        out.println(LongHistory.make(maker, args.number(2, "N")).metadata());
      }
      case "make-manifests" -> {
        TableMaker maker = new TableMaker(io, kms, folder(args.word(1, "DIR")));
        out.println(Planning.make(maker, args.number(2, "MANIFESTS"), args.number(3, "FILES")).metadata());
      }
      case "bench-ags1" -> Bench.ags1(args.words() > 1 ? args.number(1, "MIB") : 256, out);
      case "bench-commit" -> Bench.commit(io, kms, args.word(1, "METADATA"), args.number(2, "N"), out);
      case "bench-plan" -> Planning.bench(table(), args.number(2, "ROUNDS"), args.wordsFrom(3), out);
      default -> throw new Arguments.Usage("unknown command " + args.word(0, ""));
    }
    return FINE;
  }

  private FolderTable table() {
    return FolderTable.load(io, kms, args.word(1, "METADATA"));
  }

  /** A URI stays as it is, a path becomes absolute. */
  private static String folder(String location) {
    return location.contains(":") ? location : Path.of(location).toAbsolutePath().normalize().toString();
  }

  private List<String> read(FolderTable table) {
    if (args.option("ref") != null) {
      return Rows.readRef(table.table, args.option("ref"));
    }
    if (args.option("snapshot") != null) {
      return Rows.readSnapshot(table.table, Long.parseLong(args.option("snapshot")));
    }
    if (args.option("as-of") != null) {
      return Rows.readAsOf(table.table, Long.parseLong(args.option("as-of")));
    }
    return Rows.read(table.table);
  }

  private MetadataRows metadataTable() {
    String snapshot = args.option("snapshot");
    return new MetadataRows(table().table, args.word(2, "NAME"), snapshot == null ? null : Long.valueOf(snapshot));
  }

  private List<String> appends(FolderTable table) throws Exception {
    String from = args.option("from");
    return Rows.readAppends(table.table, from == null ? null : Long.valueOf(from), Long.parseLong(args.option("snapshot")));
  }

  private int check() throws Exception {
    List<String> problems = Check.run(table());
    problems.forEach(out::println);
    out.println(problems.isEmpty() ? "check: fine" : "check: " + problems.size() + " problems");
    return problems.isEmpty() ? FINE : FAILED;
  }

  private static ByteBuffer bytes(String hex) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
  }

  private static String hex(ByteBuffer bytes) {
    return HexFormat.of().formatHex(ByteBuffers.toByteArray(bytes));
  }

  private void print(JsonNode json) throws Exception {
    out.println(Rows.JSON.writerWithDefaultPrettyPrinter().writeValueAsString(json));
  }

  /** What HiveTableOperations keeps as metadata_hash in the metastore. */
  private static String hash(TableMetadata metadata) throws Exception {
    byte[] json = TableMetadataParser.toJson(metadata).getBytes(StandardCharsets.UTF_8);
    return Base64.getEncoder().encodeToString(MessageDigest.getInstance("SHA-256").digest(json));
  }

  private static FileIO io(Arguments args) {
    Map<String, String> props = args.pairs("prop");
    if (!"s3".equals(props.get("io"))) {
      return new LocalIO(args.pairs("root"));
    }
    S3FileIO s3 = new S3FileIO();
    s3.initialize(props);
    return s3;
  }

  private static KeyManagementClient kms(Arguments args) {
    if (args.flag("no-kms")) {
      return null;
    }
    Map<String, String> props = args.pairs("prop");
    if (props.containsKey(CatalogProperties.ENCRYPTION_KMS_TYPE)
        || props.containsKey(CatalogProperties.ENCRYPTION_KMS_IMPL)) {
      return EncryptionUtil.createKmsClient(props);
    }
    MemoryKms memory = new MemoryKms();
    args.pairs("key").forEach((id, hex) -> memory.keys.put(id, HexFormat.of().parseHex(hex)));
    return memory;
  }
}
