package lakelock.judge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchTest {
  @TempDir Path folder;

  private static List<JsonNode> batch(String... lines) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    String input = String.join("\n", lines) + "\n";
    Batch.run(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)), new PrintStream(out, true, StandardCharsets.UTF_8));
    List<JsonNode> answers = new ArrayList<>();
    for (String line : out.toString(StandardCharsets.UTF_8).split("\n")) {
      answers.add(Rows.JSON.readTree(line));
    }
    return answers;
  }

  @Test
  void answersEachLineAndGoesOnAfterAFailure() throws Exception {
    List<JsonNode> answers = batch("no-such-command", "read " + folder + "/none.metadata.json", "keymeta 012000", "scenarios", "read");
    assertEquals(List.of(false, false, true, true, false), answers.stream().map(answer -> answer.get("ok").asBoolean()).toList());
    assertTrue(answers.get(0).get("err").asText().contains("no-such-command"));
    assertTrue(answers.get(3).get("out").asText().contains("many-manifests\n"));
  }

  @Test
  void oneTableGoesThroughWriteAppendReadAndContinue() throws Exception {
    String blank = folder.resolve("with blank").toString();
    JsonNode written = batch("[\"write\",\"unpartitioned\",\"" + blank + "\"]").get(0);
    JsonNode description = Rows.JSON.readTree(written.get("out").asText());
    String metadata = description.get("metadata").asText();
    assertEquals(3, description.get("snapshots").size());
    assertEquals(42, description.get("snapshots").get(2).get("rows").size());
    String appended = batch("[\"append\",\"" + metadata + "\",\"--rows\",\"5\"]").get(0).get("out").asText().strip();
    JsonNode read = batch("[\"read\",\"" + appended + "\"]").get(0);
    assertEquals(47, read.get("out").asText().lines().count());
    JsonNode continued = batch("[\"continue\",\"" + appended + "\"]").get(0);
    assertEquals(1 + 49, continued.get("out").asText().lines().count());
    String last = continued.get("out").asText().lines().findFirst().orElseThrow();
    assertEquals("check: fine\n", batch("[\"check\",\"" + last + "\"]").get(0).get("out").asText());
    JsonNode withoutKms = batch("[\"read\",\"" + last + "\",\"--no-kms\"]").get(0);
    assertFalse(withoutKms.get("ok").asBoolean());
  }
}
