package lakelock.judge;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.BloomFilterReader;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.MessageColumnIO;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.schema.MessageType;

/** The bloom filters of a Parquet file, which must have every value of their column chunk. */
final class BloomFilters {
  private final ParquetFileReader reader;
  private final MessageType schema;

  BloomFilters(ParquetFileReader reader) {
    this.reader = reader;
    this.schema = reader.getFooter().getFileMetaData().getSchema();
  }

  /** The columns and row groups whose filter lacks a value. Columns within lists and maps are not looked at. */
  List<String> faults() throws IOException {
    List<String> faults = new ArrayList<>();
    MessageColumnIO columns = new ColumnIOFactory().getColumnIO(schema);
    List<BlockMetaData> blocks = reader.getRowGroups();
    for (int block = 0; block < blocks.size(); block++) {
      Map<ColumnDescriptor, BloomFilter> filters = filters(blocks.get(block));
      if (filters.isEmpty()) {
        reader.skipNextRowGroup();
        continue;
      }
      RecordReader<Group> rows = columns.getRecordReader(reader.readNextRowGroup(), new GroupRecordConverter(schema));
      for (long row = 0; row < blocks.get(block).getRowCount(); row++) {
        Group group = rows.read();
        for (Map.Entry<ColumnDescriptor, BloomFilter> entry : filters.entrySet()) {
          if (!mayHave(entry.getValue(), group, entry.getKey())) {
            faults.add("bloom filter of " + String.join(".", entry.getKey().getPath()) + " in row group " + block + " lacks a value");
          }
        }
      }
    }
    return faults.stream().distinct().toList();
  }

  private Map<ColumnDescriptor, BloomFilter> filters(BlockMetaData block) {
    BloomFilterReader filterReader = reader.getBloomFilterDataReader(block);
    Map<ColumnDescriptor, BloomFilter> filters = new HashMap<>();
    for (ColumnChunkMetaData chunk : block.getColumns()) {
      ColumnDescriptor column = schema.getColumnDescription(chunk.getPath().toArray());
      BloomFilter filter = chunk.getBloomFilterOffset() < 0 ? null : filterReader.readBloomFilter(chunk);
      if (filter != null && column.getMaxRepetitionLevel() == 0) {
        filters.put(column, filter);
      }
    }
    return filters;
  }

  private static boolean mayHave(BloomFilter filter, Group row, ColumnDescriptor column) {
    String[] path = column.getPath();
    Group group = row;
    for (int depth = 0; depth < path.length - 1; depth++) {
      if (group.getFieldRepetitionCount(path[depth]) == 0) {
        return true;
      }
      group = group.getGroup(path[depth], 0);
    }
    String name = path[path.length - 1];
    if (group.getFieldRepetitionCount(name) == 0) {
      return true;
    }
    return filter.findHash(
        switch (column.getPrimitiveType().getPrimitiveTypeName()) {
          case INT32 -> filter.hash(group.getInteger(name, 0));
          case INT64 -> filter.hash(group.getLong(name, 0));
          case FLOAT -> filter.hash(group.getFloat(name, 0));
          case DOUBLE -> filter.hash(group.getDouble(name, 0));
          case BINARY, FIXED_LEN_BYTE_ARRAY -> filter.hash(group.getBinary(name, 0));
          default -> throw new IllegalStateException("a bloom filter of " + column);
        });
  }
}
