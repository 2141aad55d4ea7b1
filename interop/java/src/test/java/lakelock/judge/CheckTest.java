package lakelock.judge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import lakelock.judge.History.Manifest;
import lakelock.judge.History.Version;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The check accepts what Java writes, and names each thing that is wrong. */
class CheckTest {
  @TempDir Path folder;

  private FolderTable table(String scenario) throws Exception {
    return Scenarios.write(scenario, new TableMaker(new LocalIO(), new MemoryKms(), folder.toString()));
  }

  static Stream<String> encrypted() {
    // A fixed partition value makes Java write manifests that are not Avro; files from before version 3 have other headers.
    Set<String> others = Set.of(
        "plaintext", "avro-plaintext", "name-mapping", "partitioned-identity-fixed",
        "deletes-format-2", "deletes-positions", "deletes-upgraded");
    return Scenarios.names().stream().filter(name -> !name.startsWith("broken") && !others.contains(name));
  }

  @ParameterizedTest
  @MethodSource("encrypted")
  void acceptsWhatJavaWrites(String scenario) throws Exception {
    assertEquals(List.of(), Check.run(table(scenario)));
  }

  static Stream<Map.Entry<String, UnaryOperator<DataFiles.Builder>>> wrongFiles() {
    return Stream.of(
        Map.entry("record_count is 7, expected 5", file -> file.withRecordCount(7)),
        Map.entry("split_offsets", file -> file.withSplitOffsets(List.of(77L))),
        Map.entry("recorded length", file -> file.withFileSizeInBytes(5)),
        Map.entry("no key metadata", file -> file.withEncryptionKeyMetadata((ByteBuffer) null)),
        Map.entry("a row of another partition", file -> file.withPartitionPath("name=nobody")));
  }

  @ParameterizedTest
  @MethodSource("wrongFiles")
  void namesAWrongFile(Map.Entry<String, UnaryOperator<DataFiles.Builder>> wrong) throws Exception {
    assertFinds(wrong.getKey(), Check.run(appended(wrong.getValue())));
  }

  @ParameterizedTest
  @CsvSource({
    "0, column_sizes of column 2 (name)", "1, value_counts of column 2 (name)", "2, null_value_counts of column 2 (name)",
    "3, nan_value_counts of column 2 (name)", "4, lower_bounds of column 2 (name)", "5, upper_bounds of column 2 (name)"
  })
  void namesAWrongStatistic(int which, String expected) throws Exception {
    assertFinds(expected, Check.run(appended(file -> {
      DataFile good = file.build();
      List<Map<Integer, Long>> counts = new ArrayList<>();
      for (Map<Integer, Long> map : List.of(good.columnSizes(), good.valueCounts(), good.nullValueCounts(), Map.<Integer, Long>of())) {
        counts.add(new HashMap<>(map));
      }
      List<Map<Integer, ByteBuffer>> bounds = List.of(new HashMap<>(good.lowerBounds()), new HashMap<>(good.upperBounds()));
      if (which < 4) {
        counts.get(which).put(2, 4711L);
      } else {
        bounds.get(which - 4).put(2, Conversions.toByteBuffer(Types.StringType.get(), "m"));
      }
      return file.withMetrics(new Metrics(
          good.recordCount(), counts.get(0), counts.get(1), counts.get(2), counts.get(3), bounds.get(0), bounds.get(1)));
    })));
  }

  @ParameterizedTest
  @CsvSource(quoteCharacter = '`', delimiter = '|', value = {
    "\"next-row-id\":28 | \"next-row-id\":30 | table: next-row-id is 30",
    "\"first-row-id\":14 | \"first-row-id\":15 | first-row-id is 15",
    "\"added-rows\":14 | \"added-rows\":13 | added-rows is 13",
    "\"total-records\":\"28\" | \"total-records\":\"27\" | total-records in the summary is 27",
    "\"added-data-files\":\"1\" | \"added-data-files\":\"2\" | added-data-files in the summary is 2",
    "\"changed-partition-count\":\"1\", | `` | lacks changed-partition-count",
    "\"sequence-number\":2 | \"sequence-number\":1 | sequence number 1 is not above",
    "KEY_TIMESTAMP | KEY_TIME | a KEK without KEY_TIMESTAMP"
  })
  void namesWrongMetadata(String good, String wrong, String expected) throws Exception {
    FolderTable table = table("gzip-metadata");
    table.table.updateProperties().set("write.metadata.compression-codec", "none").commit();
    String json = Files.readString(Path.of(table.metadata()));
    String changed = json.replace(good, wrong);
    assertFalse(changed.equals(json), good);
    Path file = Files.writeString(folder.resolve("metadata/wrong.metadata.json"), changed);
    assertFinds(expected, Check.run(FolderTable.load(new LocalIO(), new MemoryKms(), file.toString())));
  }

  @ParameterizedTest
  @CsvSource({
    "addedFilesCount, 9, added_files_count", "existingFilesCount, 9, existing_files_count", "addedRowsCount, 9, added_rows_count",
    "deletedRowsCount, 9, deleted_rows_count", "minSequenceNumber, 9, min_sequence_number", "sequenceNumber, 9, sequence_number",
    "firstRowId, 9, first_row_id", "partitions, , partitions"
  })
  void namesAWrongListing(String method, Long value, String expected) throws Exception {
    FolderTable table = table("partitioned-month");
    Problems problems = new Problems();
    List<Version> versions = new ArrayList<>();
    for (Version version : History.load(table, Dump.table(table), problems).versions()) {
      List<Manifest> manifests = version.manifests().stream()
          .map(manifest -> new Manifest(listing(manifest.listing(), method, value), manifest.entries(), manifest.stored()))
          .toList();
      versions.add(new Version(version.snapshot(), version.list(), manifests));
    }
    new ManifestCheck(table, History.of(versions), problems).run();
    new LineageCheck(table, History.of(versions), problems).run();
    assertFinds(expected, problems.found());
  }

  private static ManifestFile listing(ManifestFile good, String method, Long value) {
    return (ManifestFile) Proxy.newProxyInstance(CheckTest.class.getClassLoader(), new Class<?>[] {ManifestFile.class}, (proxy, called, args) -> {
      if (!called.getName().equals(method)) {
        return called.invoke(good, args);
      }
      return called.getReturnType() == Integer.class ? (Object) value.intValue() : value;
    });
  }

  /** A table partitioned by name with one file that is good but for the change. */
  private FolderTable appended(UnaryOperator<DataFiles.Builder> change) throws Exception {
    FolderTable table = table("partitioned-identity");
    var row = RowMaker.rows(table.table.schema(), 5, 100, 1, false);
    row.forEach(record -> record.setField("name", "somebody"));
    DataFile good = table.files.data(FileFormat.PARQUET, row).get(0);
    table.table.newAppend().appendFile(change.apply(DataFiles.builder(table.table.spec()).copy(good)).build()).commit();
    return table;
  }

  private static void assertFinds(String expected, List<String> found) {
    assertTrue(found.stream().anyMatch(problem -> problem.contains(expected)), () -> expected + " is not in " + found);
  }
}
