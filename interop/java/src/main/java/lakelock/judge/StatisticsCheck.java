package lakelock.judge;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import lakelock.judge.History.Manifest;
import lakelock.judge.History.Version;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestAccess.Entry;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.util.ByteBuffers;

/** The statistics of Parquet files in the manifests are those that Java computes from the rows and from the footer. */
final class StatisticsCheck {
  private final FolderTable table;
  private final History history;
  private final Problems problems;
  private final Set<String> checked = new HashSet<>();

  StatisticsCheck(FolderTable table, History history, Problems problems) {
    this.table = table;
    this.history = history;
    this.problems = problems;
  }

  void run() {
    for (Version version : history.versions()) {
      for (Manifest manifest : version.manifests()) {
        for (Entry entry : manifest.entries()) {
          ContentFile<?> file = entry.file();
          // Iceberg drops or keeps the bounds of position deletes by another rule.
          boolean covered = file.format() == FileFormat.PARQUET && file.content() != FileContent.POSITION_DELETES;
          if (entry.live() && covered && checked.add(file.location() + statistics(file))) {
            file(file);
          }
        }
      }
    }
  }

  private static String statistics(ContentFile<?> file) {
    return List.of(file.recordCount(), String.valueOf(file.columnSizes()), String.valueOf(file.valueCounts()),
        String.valueOf(file.nullValueCounts()), String.valueOf(file.nanValueCounts()), String.valueOf(file.lowerBounds()),
        String.valueOf(file.upperBounds()), String.valueOf(file.splitOffsets()), file.partition()).toString();
  }

  private void file(ContentFile<?> file) {
    try {
      ParquetContent content = ParquetContent.open(table, file);
      problems.compare(file.location(), "Parquet schema", content.strangeColumns(), content.missingColumns());
      content.bloomFilterFaults().forEach(fault -> problems.add("%s: %s", file.location(), fault));
      MetricsConfig config = MetricsConfig.from(table.table.properties(), content.tableSchema(), table.table.sortOrder());
      compare(file, content, content.footerMetrics(config), content.rewrite(config));
      if (file.content() == FileContent.DATA) {
        content.strayRow().ifPresent(row -> problems.add("%s: a row of another partition than %s: %s", file.location(), file.partition(), row));
      }
    } catch (Exception e) {
      problems.add("%s: its statistics cannot be computed: %s", file.location(), Judge.causes(e));
    }
  }

  private void compare(ContentFile<?> file, ParquetContent content, Metrics footer, Metrics rewritten) {
    String where = file.location();
    Schema schema = content.icebergSchema();
    problems.compare(where, "record_count", file.recordCount(), rewritten.recordCount());
    problems.compare(where, "record count of the footer", footer.recordCount(), rewritten.recordCount());
    problems.compare(where, "split_offsets", file.splitOffsets(), content.splitOffsets());
    compare(where, "column_sizes", schema, file.columnSizes(), footer.columnSizes(), StatisticsCheck::number);
    compare(where, "value_counts", schema, file.valueCounts(), rewritten.valueCounts(), StatisticsCheck::number);
    compare(where, "null_value_counts", schema, file.nullValueCounts(), rewritten.nullValueCounts(), StatisticsCheck::number);
    compare(where, "nan_value_counts", schema, file.nanValueCounts(), rewritten.nanValueCounts(), StatisticsCheck::number);
    compare(where, "lower_bounds", schema, file.lowerBounds(), rewritten.lowerBounds(), StatisticsCheck::bound);
    compare(where, "upper_bounds", schema, file.upperBounds(), rewritten.upperBounds(), StatisticsCheck::bound);
    Map<Integer, Long> nulls = new HashMap<>(rewritten.nullValueCounts());
    nulls.keySet().retainAll(footer.nullValueCounts().keySet());
    compare(where, "null counts of the footer", schema, footer.nullValueCounts(), nulls, StatisticsCheck::number);
  }

  /** Column by column; an absent map is an empty one. */
  private <V> void compare(String where, String what, Schema schema, Map<Integer, V> written, Map<Integer, V> expected, BiFunction<Type, V, String> show) {
    Map<Integer, V> found = written == null ? Map.of() : written;
    Map<Integer, V> wanted = expected == null ? Map.of() : expected;
    Set<Integer> ids = new TreeSet<>(found.keySet());
    ids.addAll(wanted.keySet());
    for (int id : ids) {
      Type type = schema.findType(id);
      String column = what + " of column " + id + " (" + schema.findColumnName(id) + ")";
      problems.compare(where, column, show.apply(type, found.get(id)), show.apply(type, wanted.get(id)));
    }
  }

  private static String number(Type type, Long count) {
    return String.valueOf(count);
  }

  private static String bound(Type type, ByteBuffer bytes) {
    if (bytes == null) {
      return "null";
    }
    String hex = "0x" + Rows.hex(ByteBuffers.toByteArray(bytes));
    try {
      return hex + " (" + Conversions.fromByteBuffer(type, bytes.duplicate()) + ")";
    } catch (RuntimeException e) {
      return hex;
    }
  }
}
