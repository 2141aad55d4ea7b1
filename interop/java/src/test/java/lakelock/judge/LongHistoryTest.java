package lakelock.judge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LongHistoryTest {
  @TempDir Path folder;

  @Test
  void isLikeATableOfOrdinaryCommits() throws Exception {
    FolderTable made = LongHistory.make(new TableMaker(new LocalIO(), new MemoryKms(), folder.toString()), 104);
    FolderTable table = FolderTable.load(new LocalIO(), new MemoryKms(), made.metadata());
    assertEquals(104, table.ops.current().snapshots().size());
    assertEquals(104, table.ops.current().snapshotLog().size());
    table.ops.current().previousFiles().forEach(file -> assertTrue(Files.exists(Path.of(file.file())), file.file()));
    assertEquals(List.of(), Check.run(table));
  }
}
