package lakelock.judge;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Makes rows of any schema, the same from the same seed. The first of odd rows are all null, minima, maxima and odd values; from
 * {@link #PLAIN} on, values are drawn and every fifth optional one is null.
 */
final class RowMaker {
  private static final int NULLS = 0;
  private static final int MINIMA = 1;
  private static final int MAXIMA = 2;
  private static final int ODD = 3;
  private static final int NEGATIVE_ZERO = 4;
  private static final int ZERO = 5;
  private static final int TINY = 6;
  private static final int PLAIN = 20;
  private static final int SOME_NULLS = 13;
  private static final List<String> ODD_TEXTS =
      List.of("", "größe", "日本語テキスト", "🦀🔒", "a\u0000b", "quote\"\\\n\t", "\u200fעברית");

  private final Random random;

  private RowMaker(long seed) {
    this.random = new Random(seed);
  }

  /** So many rows; a long column {@code id} counts up from the first. */
  static List<Record> rows(Schema schema, int count, long first, long seed, boolean odd) {
    RowMaker maker = new RowMaker(seed);
    Types.NestedField id = schema.findField("id");
    List<Record> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Record row = maker.record(schema.asStruct(), odd ? i : PLAIN);
      if (id != null && id.type().typeId() == Type.TypeID.LONG) {
        row.setField("id", first + i);
      }
      rows.add(row);
    }
    return rows;
  }

  private Record record(Types.StructType type, int mode) {
    GenericRecord record = GenericRecord.create(type);
    for (Types.NestedField field : type.fields()) {
      boolean absent = field.isOptional() && (mode == NULLS || (mode >= SOME_NULLS && random.nextInt(5) == 0));
      record.setField(field.name(), absent ? null : value(field.type(), mode == NULLS ? PLAIN : mode));
    }
    return record;
  }

  private Object value(Type type, int mode) {
    return switch (type.typeId()) {
      case BOOLEAN -> mode == MINIMA ? Boolean.FALSE : mode == MAXIMA ? Boolean.TRUE : (Boolean) random.nextBoolean();
      case INTEGER -> pick(mode, Integer.MIN_VALUE, Integer.MAX_VALUE, random.nextInt());
      case LONG -> pick(mode, Long.MIN_VALUE, Long.MAX_VALUE, random.nextLong());
      case FLOAT -> (float) floating(mode, Float.MIN_VALUE, random.nextFloat() * 1e6f);
      case DOUBLE -> floating(mode, Double.MIN_VALUE, random.nextGaussian() * 1e9);
      case DECIMAL -> decimal((Types.DecimalType) type, mode);
      case DATE -> mode == ODD ? LocalDate.of(1969, 12, 31) : pick(mode, LocalDate.of(1, 1, 1), LocalDate.of(9999, 12, 31), date());
      case TIME -> pick(mode, LocalTime.MIDNIGHT, LocalTime.of(23, 59, 59, 999_999_000), time(1000));
      case TIMESTAMP -> zoned(micros(mode), ((Types.TimestampType) type).shouldAdjustToUTC());
      case TIMESTAMP_NANO -> zoned(nanos(mode), ((Types.TimestampNanoType) type).shouldAdjustToUTC());
      case STRING -> text(mode);
      case UUID -> pick(mode, new UUID(0, 0), new UUID(-1, -1), new UUID(random.nextLong(), random.nextLong()));
      case FIXED -> bytes(mode, ((Types.FixedType) type).length());
      case BINARY -> ByteBuffer.wrap(bytes(mode, mode == MINIMA ? 0 : mode == MAXIMA ? 40 : random.nextInt(30)));
      case STRUCT -> record(type.asStructType(), mode);
      case LIST -> list(type.asListType(), mode);
      case MAP -> map(type.asMapType(), mode);
      case UNKNOWN, VARIANT -> null;
      default -> throw new IllegalArgumentException("no values of type " + type);
    };
  }

  private static <T> T pick(int mode, T minimum, T maximum, T other) {
    return mode == MINIMA ? minimum : mode == MAXIMA ? maximum : other;
  }

  private static double floating(int mode, double tiny, double other) {
    return switch (mode) {
      case MINIMA -> Double.NEGATIVE_INFINITY;
      case MAXIMA -> Double.POSITIVE_INFINITY;
      case ODD -> Double.NaN;
      case NEGATIVE_ZERO -> -0.0;
      case ZERO -> 0.0;
      case TINY -> tiny;
      default -> other;
    };
  }

  private BigDecimal decimal(Types.DecimalType type, int mode) {
    BigInteger maximum = BigInteger.TEN.pow(type.precision()).subtract(BigInteger.ONE);
    BigInteger drawn = new BigInteger(maximum.bitLength() + 8, random).mod(maximum);
    BigInteger other = mode == ODD ? BigInteger.ZERO : random.nextBoolean() ? drawn : drawn.negate();
    return new BigDecimal(pick(mode, maximum.negate(), maximum, other), type.scale());
  }

  private LocalDate date() {
    return LocalDate.of(1900 + random.nextInt(200), 1 + random.nextInt(12), 1 + random.nextInt(28));
  }

  private LocalTime time(long step) {
    return LocalTime.ofNanoOfDay(Math.floorMod(random.nextLong(), 86_400_000_000_000L / step) * step);
  }

  private LocalDateTime micros(int mode) {
    LocalDateTime odd = LocalDateTime.of(1969, 12, 31, 23, 59, 59, 123_456_000);
    return pick(
        mode,
        LocalDateTime.of(1, 1, 1, 0, 0, 0, 1000),
        LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_000),
        mode == ODD ? odd : date().atTime(time(1000)));
  }

  private LocalDateTime nanos(int mode) {
    LocalDateTime odd = LocalDateTime.of(1969, 12, 31, 23, 59, 59, 123_456_789);
    return pick(
        mode,
        LocalDateTime.of(1677, 9, 22, 0, 0, 0, 1),
        LocalDateTime.of(2262, 4, 11, 0, 0, 0, 999_999_999),
        mode == ODD ? odd : date().atTime(time(1)));
  }

  private static Object zoned(LocalDateTime time, boolean utc) {
    return utc ? time.atOffset(ZoneOffset.UTC) : time;
  }

  private String text(int mode) {
    if (mode > ODD && mode <= ODD + ODD_TEXTS.size()) {
      return ODD_TEXTS.get(mode - ODD - 1);
    }
    String other = mode == ODD ? String.join("", ODD_TEXTS) : "s" + Long.toString(random.nextLong() >>> 1, 36);
    return pick(mode, "", "🦀".repeat(20), other);
  }

  private byte[] bytes(int mode, int length) {
    byte[] bytes = new byte[length];
    if (mode == MAXIMA) {
      Arrays.fill(bytes, (byte) 0xff);
    } else if (mode != MINIMA) {
      random.nextBytes(bytes);
    }
    return bytes;
  }

  private int size(int mode) {
    return pick(mode, 0, 5, 1 + random.nextInt(3));
  }

  private List<Object> list(Types.ListType type, int mode) {
    List<Object> values = new ArrayList<>();
    int size = size(mode);
    for (int i = 0; i < size; i++) {
      values.add(type.isElementOptional() && i == 1 ? null : value(type.elementType(), mode == ODD ? ODD : PLAIN));
    }
    return values;
  }

  private Map<Object, Object> map(Types.MapType type, int mode) {
    Map<Object, Object> values = new LinkedHashMap<>();
    int size = size(mode);
    for (int i = 0; i < size; i++) {
      Object value = type.isValueOptional() && i == 1 ? null : value(type.valueType(), mode == ODD ? ODD : PLAIN);
      values.put(value(type.keyType(), PLAIN), value);
    }
    return values;
  }
}
