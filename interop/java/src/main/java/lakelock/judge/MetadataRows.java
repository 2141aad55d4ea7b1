package lakelock.judge;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.MetadataTableUtils;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/** A metadata table, in the form of {@link Rows}. Keys are replaced by the bytes {@code [redacted]}. */
final class MetadataRows {
  private static final String REDACTED = Rows.hex("[redacted]".getBytes(StandardCharsets.UTF_8));

  private final Table table;
  private final Long snapshotId;

  /** The metadata table of that name, of a snapshot if there is an id. */
  MetadataRows(Table base, String name, Long snapshotId) {
    MetadataTableType type = MetadataTableType.from(name);
    if (type == null) {
      throw new Arguments.Usage("there is no metadata table " + name);
    }
    this.table = MetadataTableUtils.createMetadataTableInstance(base, type);
    this.snapshotId = snapshotId;
  }

  /** Name and type of each column; of nested fields too, without their ids. */
  List<String> columns() {
    return table.schema().columns().stream().map(field -> field.name() + " " + type(field.type())).toList();
  }

  List<String> rows() throws IOException {
    TableScan scan = table.newScan();
    if (snapshotId != null) {
      scan = scan.useSnapshot(snapshotId);
    }
    Types.StructType type = table.schema().asStruct();
    List<String> rows = new ArrayList<>();
    try (CloseableIterable<FileScanTask> tasks = scan.planFiles()) {
      for (FileScanTask task : tasks) {
        try (CloseableIterable<StructLike> found = task.asDataTask().rows()) {
          for (StructLike row : found) {
            rows.add(Rows.JSON.writeValueAsString(struct(type, row)));
          }
        }
      }
    }
    Collections.sort(rows);
    return rows;
  }

  private static String type(Type type) {
    return switch (type.typeId()) {
      case STRUCT -> type.asStructType().fields().stream()
          .map(field -> field.name() + " " + type(field.type()))
          .collect(Collectors.joining(", ", "struct<", ">"));
      case LIST -> "list<" + type(type.asListType().elementType()) + ">";
      case MAP -> "map<" + type(type.asMapType().keyType()) + ", " + type(type.asMapType().valueType()) + ">";
      default -> type.toString();
    };
  }

  private static ObjectNode struct(Types.StructType type, StructLike row) {
    ObjectNode json = Rows.F.objectNode();
    int place = 0;
    for (Types.NestedField field : type.fields()) {
      Object value = row.get(place++, Object.class);
      boolean key = field.name().equals("key_metadata") && value != null;
      json.set(field.name(), key ? Rows.F.textNode(REDACTED) : value(field.type(), value));
    }
    return json;
  }

  private static JsonNode value(Type type, Object value) {
    if (value == null) {
      return Rows.F.nullNode();
    }
    return switch (type.typeId()) {
      case STRUCT -> struct(type.asStructType(), (StructLike) value);
      case LIST -> {
        ArrayNode json = Rows.F.arrayNode();
        ((List<?>) value).forEach(element -> json.add(value(type.asListType().elementType(), element)));
        yield json;
      }
      case MAP -> map(type.asMapType(), (Map<?, ?>) value);
      default -> Rows.value(type, Reader.constant(type, value));
    };
  }

  private static ArrayNode map(Types.MapType type, Map<?, ?> values) {
    List<ArrayNode> pairs = new ArrayList<>();
    values.forEach((key, value) ->
        pairs.add(Rows.F.arrayNode().add(value(type.keyType(), key)).add(value(type.valueType(), value))));
    pairs.sort(Comparator.comparing(pair -> pair.get(0).toString()));
    return Rows.F.arrayNode().addAll(pairs);
  }
}
