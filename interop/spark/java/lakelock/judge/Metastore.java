package lakelock.judge;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/** A Hive metastore on a free port, over a database in a folder, with the tables that its locks need. */
public class Metastore {
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]).toAbsolutePath();
    // HiveConf of the metastore reads system properties.
    System.setProperty(
        "javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + folder.resolve("metastore") + ";create=true");
    System.setProperty("javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver");
    System.setProperty("derby.stream.error.file", folder.resolve("derby.log").toString());
    System.setProperty("datanucleus.schema.autoCreateAll", "true");
    System.setProperty("hive.metastore.schema.verification", "false");
    System.setProperty("hive.metastore.warehouse.dir", folder.resolve("warehouse").toString());
    System.setProperty("hive.metastore.disallow.incompatible.col.type.changes", "false");
    // PySpark comes without a pool of connections.
    System.setProperty("datanucleus.connectionPoolingType", "NONE");
    TxnDbUtil.prepDb(new HiveConf());
    int port = freePort();
    Thread server =
        new Thread(
            () -> {
              try {
                HiveMetaStore.main(
                    new String[] {"-p", String.valueOf(port), "--hiveconf", "fs.s3.impl=lakelock.judge.NoFiles"});
              } catch (Throwable e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
              }
            });
    server.setDaemon(true);
    server.start();
    // Whoever started it knows that it is there by this line, and ends it by closing its input.
    while (!answers(port)) {
      Thread.sleep(50);
    }
    System.out.println("thrift://127.0.0.1:" + port);
    System.out.flush();
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static boolean answers(int port) {
    try (var socket = new java.net.Socket("127.0.0.1", port)) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
