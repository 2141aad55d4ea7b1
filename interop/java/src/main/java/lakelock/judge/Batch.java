package lakelock.judge;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Many commands in one JVM: a command line per line in, a line of JSON per command out. */
final class Batch {
  private Batch() {}

  static void run(InputStream in, PrintStream out) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (!line.isBlank()) {
        out.println(Rows.JSON.writeValueAsString(answer(line)));
        out.flush();
      }
    }
  }

  private static ObjectNode answer(String line) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    boolean ok;
    try (PrintStream o = new PrintStream(out, false, StandardCharsets.UTF_8);
        PrintStream e = new PrintStream(err, false, StandardCharsets.UTF_8)) {
      ok = Judge.run(() -> split(line), o, e) == Judge.FINE;
    }
    return Rows.F.objectNode()
        .put("ok", ok)
        .put("out", out.toString(StandardCharsets.UTF_8))
        .put("err", err.toString(StandardCharsets.UTF_8));
  }

  private static List<String> split(String line) throws IOException {
    return line.startsWith("[")
        ? Arrays.asList(Rows.JSON.readValue(line, String[].class))
        : Arrays.asList(line.strip().split("\\s+"));
  }
}
