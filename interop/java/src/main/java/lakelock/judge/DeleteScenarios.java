package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types;

/** Those of the {@link Scenarios} that are about deletes; what Java should never have written begins with {@code broken}. */
final class DeleteScenarios {
  static final Map<String, Scenarios.Scenario> ALL = new TreeMap<>();

  private static final Set<Type.TypeID> NOT_COMPARED =
      Set.of(Type.TypeID.BOOLEAN, Type.TypeID.FLOAT, Type.TypeID.DOUBLE, Type.TypeID.UUID);

  static {
    ALL.put("deletes-dv", DeleteScenarios::vectors);
    ALL.put("deletes-dv-large", DeleteScenarios::largeVectors);
    ALL.put("deletes-dv-partitioned", DeleteScenarios::partitionedVectors);
    ALL.put("deletes-dv-compacted", DeleteScenarios::compacted);
    ALL.put("deletes-positions", DeleteScenarios::positions);
    ALL.put("deletes-upgraded", DeleteScenarios::upgraded);
    ALL.put("deletes-format-2", DeleteScenarios::second);
    ALL.put("deletes-equality", DeleteScenarios::equality);
    ALL.put("deletes-equality-columns", DeleteScenarios::equalityOfColumns);
    ALL.put("deletes-equality-types", DeleteScenarios::equalityOfTypes);
    ALL.put("deletes-equality-partitioned", DeleteScenarios::partitionedEquality);
    ALL.put("deletes-equality-evolved", DeleteScenarios::evolvedEquality);
    ALL.put("deletes-equality-dropped", DeleteScenarios::droppedEquality);
    ALL.put("broken-dv-keyless", maker -> broken(maker, dv -> dv.withEncryptionKeyMetadata((ByteBuffer) null)));
    ALL.put("broken-dv-count", maker -> broken(maker, dv -> dv.withRecordCount(7)));
    ALL.put("broken-dv-offset", maker -> broken(maker, dv -> dv.withContentOffset(5)));
    ALL.put("broken-dv-short", maker -> broken(maker, dv -> dv.withContentSizeInBytes(1L << 40)));
    ALL.put("broken-dv-beyond", DeleteScenarios::beyond);
  }

  private DeleteScenarios() {}

  private static FolderTable small(TableMaker maker) {
    return maker.table(Scenarios.SMALL, PartitionSpec.unpartitioned());
  }

  private static DataFile append(FolderTable table, int rows, long first) {
    return table.append(FileFormat.PARQUET, Scenarios.plainRows(table, rows, first)).get(0);
  }

  private static List<FileMaker.Position> positions(DataFile file, long... rows) {
    return Arrays.stream(rows).mapToObj(row -> new FileMaker.Position(file, row)).toList();
  }

  private static List<FileMaker.Position> all(DataFile file) {
    List<FileMaker.Position> positions = new ArrayList<>();
    for (long row = 0; row < file.recordCount(); row++) {
      positions.add(new FileMaker.Position(file, row));
    }
    return positions;
  }

  @SafeVarargs
  private static List<FileMaker.Position> join(List<FileMaker.Position>... parts) {
    return Arrays.stream(parts).flatMap(List::stream).toList();
  }

  /** A row of some columns, as an equality delete holds it. Columns and values alternate. */
  private static Record key(FolderTable table, Object... columns) {
    Schema schema = table.table.schema();
    List<Integer> ids = new ArrayList<>();
    for (int i = 0; i < columns.length; i += 2) {
      ids.add(schema.findField((String) columns[i]).fieldId());
    }
    Record key = GenericRecord.create(TypeUtil.select(schema, Set.copyOf(ids)));
    for (int i = 0; i < columns.length; i += 2) {
      key.setField((String) columns[i], columns[i + 1]);
    }
    return key;
  }

  private static void deleteEqual(FolderTable table, StructLike partition, List<String> columns, Record... keys) {
    table.delete(table.files.equalityDelete(columns, List.of(keys), partition));
  }

  /** Two vectors in one Puffin file, then one of them anew; at last a file is deleted wholly, and rows follow. */
  private static FolderTable vectors(TableMaker maker) {
    FolderTable table = small(maker);
    DataFile first = append(table, 10, 0);
    DataFile second = append(table, 10, 100);
    table.delete(join(positions(first, 0, 9), positions(second, 4)));
    table.delete(positions(first, 5));
    table.delete(all(second));
    append(table, 3, 200);
    return table;
  }

  /** A file of many row groups and pages: runs, single rows, whole groups. */
  private static FolderTable largeVectors(TableMaker maker) {
    FolderTable table = maker.table(Scenarios.SMALL, PartitionSpec.unpartitioned(), Map.of(
        TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, "4096",
        TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT, "100",
        TableProperties.PARQUET_PAGE_ROW_LIMIT, "50"));
    DataFile large = append(table, 3000, 0);
    List<FileMaker.Position> some = new ArrayList<>();
    for (long row = 0; row < 1000; row += 3) {
      some.add(new FileMaker.Position(large, row));
    }
    for (long row = 1200; row < 2300; row++) {
      some.add(new FileMaker.Position(large, row));
    }
    some.add(new FileMaker.Position(large, 2999));
    table.delete(some);
    return table;
  }

  private static FolderTable partitionedVectors(TableMaker maker) {
    FolderTable table =
        maker.table(Scenarios.SMALL, Scenarios.spec(Scenarios.SMALL).bucket("id", 3).build());
    List<DataFile> files = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 40, 0));
    List<FileMaker.Position> some = new ArrayList<>();
    files.forEach(file -> some.addAll(positions(file, 0, 2)));
    table.delete(some);
    table.table.updateSpec().addField(Expressions.truncate("name", 1)).commit();
    List<DataFile> more = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 100));
    table.delete(join(all(files.get(1)), positions(more.get(0), 0), positions(more.get(1), 0)));
    return table;
  }

  /** Row ids that lie in the file's columns, with deletes on top. */
  private static FolderTable compacted(TableMaker maker) throws IOException {
    FolderTable table = small(maker);
    DataFile first = append(table, 10, 0);
    append(table, 10, 100);
    table.delete(positions(first, 1, 2, 3));
    Compaction.run(table, FileFormat.PARQUET);
    DataFile compacted = table.table.currentSnapshot().addedDataFiles(table.table.io()).iterator().next();
    table.delete(positions(compacted, 0, 16));
    append(table, 5, 200);
    deleteEqual(table, null, List.of("id"), key(table, "id", 105L), key(table, "id", 202L));
    return table;
  }

  /** Position delete files, of a v2 table that became v3: about one data file, about several, of several ages. */
  private static FolderTable positions(TableMaker maker) {
    FolderTable table = maker.second(Scenarios.SMALL, PartitionSpec.unpartitioned());
    DataFile first = append(table, 10, 0);
    DataFile second = append(table, 10, 100);
    DataFile third = append(table, 10, 200);
    table.delete(table.files.positionDelete(positions(first, 0, 9)));
    table.delete(table.files.positionDelete(join(positions(first, 4), positions(second, 5, 6), positions(third, 7))));
    table.delete(table.files.positionDelete(all(second)));
    append(table, 5, 300);
    table.table.updateProperties().set(TableProperties.FORMAT_VERSION, "3").commit();
    return table;
  }

  /** An encrypted v2 table that stays one, which Java reads and writes. */
  private static FolderTable second(TableMaker maker) {
    FolderTable table = maker.second(Scenarios.SMALL, Scenarios.spec(Scenarios.SMALL).bucket("id", 2).build());
    List<DataFile> files = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 0));
    table.delete(table.files.positionDelete(positions(files.get(0), 0, 3)));
    table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 100));
    deleteEqual(table, files.get(0).partition(), List.of("id"), key(table, "id", 4L), key(table, "id", 5L));
    return table;
  }

  /** A v2 table with position deletes that became v3: vectors replace some of them, and stand beside others. */
  private static FolderTable upgraded(TableMaker maker) {
    FolderTable table = maker.second(Scenarios.SMALL, Scenarios.spec(Scenarios.SMALL).bucket("id", 2).build());
    List<DataFile> files = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 0));
    DataFile one = files.get(0);
    DataFile two = files.get(1);
    DataFile three = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 100)).get(0);
    table.delete(table.files.positionDelete(positions(one, 0, 3)), table.files.positionDelete(positions(two, 1)));
    DataFile same = three.partition().equals(one.partition()) ? one : two;
    table.delete(table.files.positionDelete(join(positions(same, 5), positions(three, 0, 2))));
    table.table.updateProperties().set(TableProperties.FORMAT_VERSION, "3").commit();
    table.delete(positions(one, 6));
    table.delete(join(positions(one, 7), positions(three, 3)));
    append(table, 4, 200);
    return table;
  }

  /** A deleted row comes back, and a later delete takes it again. */
  private static FolderTable equality(TableMaker maker) {
    FolderTable table = small(maker);
    append(table, 10, 0);
    deleteEqual(table, null, List.of("id"), key(table, "id", 3L), key(table, "id", 777L));
    append(table, 10, 2);
    deleteEqual(table, null, List.of("id"), key(table, "id", 4L));
    deleteEqual(table, null, List.of("id"), key(table, "id", 3L));
    append(table, 1, 3);
    return table;
  }

  /** Several columns, columns of a struct, nulls; two sets of columns at once. */
  private static FolderTable equalityOfColumns(TableMaker maker) {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "a", Types.StringType.get()),
            optional(3, "b", Types.IntegerType.get()),
            optional(4, "s", Types.StructType.of(
                optional(5, "x", Types.IntegerType.get()), optional(6, "y", Types.StringType.get()))));
    FolderTable table = maker.table(schema, PartitionSpec.unpartitioned());
    List<Record> rows = new ArrayList<>();
    for (String a : new String[] {"p", "q", null}) {
      for (Integer b : new Integer[] {1, 2, null}) {
        for (Integer x : new Integer[] {7, null, -1}) {
          Record row = GenericRecord.create(schema);
          row.setField("id", (long) rows.size());
          row.setField("a", a);
          row.setField("b", b);
          if (x == null || x >= 0) { // -1: no struct at all
            Record s = GenericRecord.create(schema.findField("s").type().asStructType());
            s.setField("x", x);
            s.setField("y", a);
            row.setField("s", s);
          }
          rows.add(row);
        }
      }
    }
    table.append(FileFormat.PARQUET, rows);
    deleteEqual(table, null, List.of("a", "b"),
        key(table, "a", "p", "b", 1), key(table, "a", null, "b", 2), key(table, "a", "q", "b", null));
    table.append(FileFormat.PARQUET, rows);
    table.delete(
        table.files.equalityDelete(List.of("a"), List.of(key(table, "a", "q")), null),
        table.files.equalityDelete(List.of("b", "a"), List.of(key(table, "a", null, "b", null)), null));
    Record inner = GenericRecord.create(Types.StructType.of(optional(5, "x", Types.IntegerType.get())));
    Record seven = inner.copy();
    seven.setField("x", 7);
    Record outer = GenericRecord.create(TypeUtil.select(schema, Set.of(5)));
    Record keyOfSeven = outer.copy();
    keyOfSeven.setField("s", seven);
    deleteEqual(table, null, List.of("s.x"), keyOfSeven);
    Record keyOfNull = outer.copy();
    keyOfNull.setField("s", inner);
    deleteEqual(table, null, List.of("s.x"), keyOfNull);
    return table;
  }

  /**
   * One delete for each type that may be compared. No UUIDs: Java 1.12.0 orders them in bounds otherwise than it compares them, and
   * so skips delete files that apply.
   */
  private static FolderTable equalityOfTypes(TableMaker maker) {
    FolderTable table = maker.table(AllTypes.PRIMITIVES, PartitionSpec.unpartitioned());
    List<Record> rows = RowMaker.rows(AllTypes.PRIMITIVES, 60, 0, 5, true);
    table.append(FileFormat.PARQUET, rows);
    int row = 0;
    for (Types.NestedField column : AllTypes.PRIMITIVES.columns()) {
      if (NOT_COMPARED.contains(column.type().typeId())) {
        continue;
      }
      row += 2;
      deleteEqual(table, null, List.of(column.name()), key(table, column.name(), rows.get(row).getField(column.name())));
    }
    return table;
  }

  /** Deletes of an unpartitioned spec hold for all partitions that follow, others for theirs alone. */
  private static FolderTable partitionedEquality(TableMaker maker) {
    FolderTable table = small(maker);
    append(table, 6, 0);
    table.table.updateSpec().addField(Expressions.bucket("id", 2)).commit();
    List<DataFile> old = table.append(FileFormat.PARQUET, Scenarios.plainRows(table, 20, 0));
    StructLike zero = old.get(0).partition();
    List<Record> keys = new ArrayList<>();
    for (long id = 0; id < 8; id++) {
      keys.add(key(table, "id", id));
    }
    deleteEqual(table, zero, List.of("id"), keys.toArray(new Record[0]));
    int partitioned = table.table.spec().specId();
    table.table.updateSpec().removeField("id_bucket_2").commit();
    deleteEqual(table, null, List.of("id"), key(table, "id", 4L), key(table, "id", 11L), key(table, "id", 12L));
    append(table, 8, 8);
    if (table.table.specs().get(partitioned).isUnpartitioned()) {
      throw new IllegalStateException("the spec lost its field");
    }
    return table;
  }

  /** Compared columns are renamed, widened and added with a default. */
  private static FolderTable evolvedEquality(TableMaker maker) {
    Schema schema =
        new Schema(
            required(1, "id", Types.LongType.get()),
            optional(2, "n", Types.IntegerType.get()),
            optional(3, "price", Types.DecimalType.of(9, 2)),
            optional(4, "name", Types.StringType.get()));
    FolderTable table = maker.table(schema, PartitionSpec.unpartitioned());
    List<Record> rows = Scenarios.plainRows(table, 20, 0);
    table.append(FileFormat.PARQUET, rows);
    deleteEqual(table, null, List.of("n"), key(table, "n", rows.get(3).getField("n")), key(table, "n", null));
    deleteEqual(table, null, List.of("price"), key(table, "price", rows.get(6).getField("price")));
    table.table.updateSchema()
        .renameColumn("name", "title")
        .renameColumn("n", "number")
        .updateColumn("n", Types.LongType.get())
        .updateColumn("price", Types.DecimalType.of(18, 2))
        .commit();
    deleteEqual(table, null, List.of("title"), key(table, "title", rows.get(8).getField("name")));
    append(table, 10, 100);
    deleteEqual(table, null, List.of("number"), key(table, "number", ((Integer) rows.get(12).getField("n")).longValue()));
    table.table.updateSchema()
        .addColumn("level", Types.IntegerType.get(), Literal.of(7))
        .moveFirst("level")
        .commit();
    append(table, 10, 200);
    table.delete(table.files.equalityDelete(
        List.of("level", "id"), List.of(key(table, "level", 7, "id", 15L), key(table, "level", 7, "id", 201L)), null));
    return table;
  }

  /** A compared column is dropped; its deletes still hold. */
  private static FolderTable droppedEquality(TableMaker maker) {
    FolderTable table = small(maker);
    List<Record> rows = Scenarios.plainRows(table, 10, 0);
    table.append(FileFormat.PARQUET, rows);
    deleteEqual(table, null, List.of("name"), key(table, "name", rows.get(4).getField("name")), key(table, "name", null));
    table.table.updateSchema().deleteColumn("name").addColumn("note", Types.StringType.get()).commit();
    append(table, 10, 100);
    deleteEqual(table, null, List.of("note"), key(table, "note", null));
    return table;
  }

  /** A table whose only deletion vector has something wrong in its manifest entry. */
  private static FolderTable broken(TableMaker maker, UnaryOperator<FileMetadata.Builder> damage) {
    FolderTable table = small(maker);
    DataFile file = append(table, 10, 0);
    DeleteFile vector = table.files.deletionVectors(positions(file, 2, 4)).deleteFiles().get(0);
    table.delete(damage.apply(FileMetadata.deleteFileBuilder(table.table.spec()).copy(vector)).build());
    return table;
  }

  /** A vector with a row that its data file does not have. */
  private static FolderTable beyond(TableMaker maker) {
    FolderTable table = small(maker);
    table.delete(positions(append(table, 10, 0), 2, 10));
    return table;
  }
}
