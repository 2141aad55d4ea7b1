package lakelock.judge;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.types.Types;

/** Iceberg's own catalog in a database, on the file that Lakelock's SQLite catalog keeps. */
final class Jdbc {
  private Jdbc() {}

  /** Lists what there is, makes the table made.by_java, and changes a property of every table, which moves its pointer. */
  static void use(String file, String name, String warehouse, PrintStream out) throws Exception {
    try (JdbcCatalog catalog = new JdbcCatalog(config -> new LocalIO(), null, false)) {
      catalog.initialize(
          name, Map.of("uri", "jdbc:sqlite:" + file, "warehouse", warehouse, "jdbc.schema-version", "V1"));
      catalog.createNamespace(Namespace.of("made"));
      catalog.createTable(TableIdentifier.of("made", "by_java"), new Schema(Types.NestedField.required(1, "id", Types.LongType.get())));
      for (TableIdentifier identifier : tables(catalog, Namespace.empty())) {
        Table table = catalog.loadTable(identifier);
        table.updateProperties().set("touched-by", "java").commit();
        out.printf("%s %s%n", identifier, ((BaseTable) table).operations().current().metadataFileLocation());
      }
    }
  }

  private static List<TableIdentifier> tables(JdbcCatalog catalog, Namespace parent) {
    List<TableIdentifier> tables = new ArrayList<>();
    for (Namespace namespace : catalog.listNamespaces(parent)) {
      tables.addAll(catalog.listTables(namespace));
      tables.addAll(tables(catalog, namespace));
    }
    return tables;
  }
}
