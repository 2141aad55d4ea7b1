package lakelock.judge;

import static org.apache.iceberg.types.Types.NestedField.optional;
import static org.apache.iceberg.types.Types.NestedField.required;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.types.Types;

/** Tables with many snapshots, made in a time that grows with their number and not with its square. */
final class LongHistory {
  private static final Schema SCHEMA =
      new Schema(required(1, "id", Types.LongType.get()), optional(2, "name", Types.StringType.get()));

  private LongHistory() {}

  /** A table of so many appends of one row each. */
  static FolderTable make(TableMaker maker, int snapshots) {
    FolderTable table = maker.table(SCHEMA, PartitionSpec.unpartitioned());
    Ops ops = new Ops(table.ops, snapshots);
    FolderTable quick = new FolderTable(ops);
    for (int i = 0; i < snapshots; i++) {
      quick.append(FileFormat.PARQUET, RowMaker.rows(SCHEMA, 1, i, i, false));
    }
    return quick;
  }

  /** Commits in memory. Only the metadata files that the last metadata log names, and the last one, are written. */
  private static final class Ops extends FolderOps {
    private static final int LOGGED = 101;

    private int left;

    Ops(FolderOps ops, int commits) {
      super(ops.raw, ops.kms, new AtomicReference<>(ops.pointer.get()));
      this.left = commits;
    }

    @Override
    void publish(TableMetadata metadata, String location) {
      TableMetadata published = TableMetadata.buildFrom(metadata).discardChanges().withMetadataLocation(location).build();
      if (left-- <= LOGGED) {
        TableMetadataParser.overwrite(published, raw.newOutputFile(location));
      }
      pointer.set(location);
      loaded(published, location);
    }
  }
}
