package lakelock.judge;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** The entry point; run.sh has the usage. */
public final class Main {
  private Main() {}

  public static void main(String[] line) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // what a library prints must not mix with the answers
    if (line.length == 1 && line[0].equals("batch")) {
      Batch.run(System.in, out);
      return;
    }
    int status = Judge.run(() -> List.of(line), out, err);
    out.flush();
    System.exit(status);
  }
}
