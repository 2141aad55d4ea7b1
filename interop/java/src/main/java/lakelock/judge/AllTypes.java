package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/** Every primitive type that a v3 Parquet table can hold, and nestings of them. */
final class AllTypes {
  /** All primitives, optional, after the required {@code id}. */
  static final Schema PRIMITIVES = new Schema(primitives());

  /** All primitives, then structs, lists and maps. */
  static final Schema SCHEMA = new Schema(all());

  private AllTypes() {}

  private static List<NestedField> primitives() {
    return List.of(
        required(1, "id", Types.LongType.get()),
        optional(2, "flag", Types.BooleanType.get()),
        optional(3, "i32", Types.IntegerType.get()),
        optional(4, "i64", Types.LongType.get()),
        optional(5, "f32", Types.FloatType.get()),
        optional(6, "f64", Types.DoubleType.get()),
        optional(7, "dec9", Types.DecimalType.of(9, 2)),
        optional(8, "dec18", Types.DecimalType.of(18, 4)),
        optional(9, "dec38", Types.DecimalType.of(38, 10)),
        optional(10, "day", Types.DateType.get()),
        optional(11, "clock", Types.TimeType.get()),
        optional(12, "at", Types.TimestampType.withoutZone()),
        optional(13, "at_utc", Types.TimestampType.withZone()),
        optional(14, "at_nanos", Types.TimestampNanoType.withoutZone()),
        optional(15, "at_nanos_utc", Types.TimestampNanoType.withZone()),
        optional(16, "text", Types.StringType.get()),
        optional(17, "uid", Types.UUIDType.get()),
        optional(18, "bytes16", Types.FixedType.ofLength(16)),
        optional(19, "raw", Types.BinaryType.get()));
  }

  private static List<NestedField> all() {
    List<NestedField> fields = new ArrayList<>(primitives());
    fields.add(optional(20, "nested", Types.StructType.of(
        optional(21, "inner", Types.StringType.get()),
        required(22, "count", Types.IntegerType.get()),
        optional(23, "deep", Types.StructType.of(
            optional(24, "d", Types.DoubleType.get()),
            optional(25, "at", Types.TimestampType.withZone()))))));
    fields.add(optional(26, "numbers", Types.ListType.ofOptional(27, Types.LongType.get())));
    fields.add(optional(28, "attributes",
        Types.MapType.ofOptional(29, 30, Types.StringType.get(), Types.DecimalType.of(18, 4))));
    fields.add(optional(31, "points", Types.ListType.ofRequired(32, Types.StructType.of(
        optional(33, "x", Types.DoubleType.get()),
        optional(34, "labels", Types.ListType.ofRequired(35, Types.StringType.get()))))));
    return fields;
  }
}
