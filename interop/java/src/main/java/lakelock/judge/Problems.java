package lakelock.judge;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** What a check found, in the order it was found. */
final class Problems {
  private final List<String> found = new ArrayList<>();

  void add(String format, Object... args) {
    found.add(String.format(format, args));
  }

  /** Says so if what is written differs from what Java would have written. */
  void compare(String where, String what, Object written, Object expected) {
    if (!Objects.equals(written, expected)) {
      add("%s: %s is %s, expected %s", where, what, written, expected);
    }
  }

  List<String> found() {
    return found;
  }
}
