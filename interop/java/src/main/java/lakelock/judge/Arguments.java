package lakelock.judge;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One command line, taken apart: words and {@code --options}. */
final class Arguments {
  private static final Set<String> FLAGS = Set.of("no-kms", "trace");
  private static final Set<String> SINGLE = Set.of("snapshot", "ref", "as-of", "from", "format", "rows", "key-id");
  private static final Set<String> REPEATED = Set.of("prop", "key", "root");

  private final List<String> words = new ArrayList<>();
  private final Set<String> flags = new HashSet<>();
  private final Map<String, String> single = new HashMap<>();
  private final Map<String, Map<String, String>> pairs = new HashMap<>();

  Arguments(List<String> line) {
    for (int i = 0; i < line.size(); i++) {
      String word = line.get(i);
      if (!word.startsWith("--")) {
        words.add(word);
        continue;
      }
      String name = word.substring(2);
      if (FLAGS.contains(name)) {
        flags.add(name);
        continue;
      }
      if (!SINGLE.contains(name) && !REPEATED.contains(name)) {
        throw new Usage("unknown option " + word);
      }
      if (++i == line.size()) {
        throw new Usage(word + " needs a value");
      }
      if (SINGLE.contains(name)) {
        single.put(name, line.get(i));
      } else {
        String[] pair = line.get(i).split("=", 2);
        if (pair.length < 2) {
          throw new Usage(word + " needs NAME=VALUE, not " + line.get(i));
        }
        pairs.computeIfAbsent(name, n -> new HashMap<>()).put(pair[0], pair[1]);
      }
    }
  }

  /** The word at this place; 0 is the command. */
  String word(int index, String what) {
    if (index >= words.size()) {
      throw new Usage((index == 0 ? "" : words.get(0) + ": ") + what + " is missing");
    }
    return words.get(index);
  }

  int number(int index, String what) {
    return number(word(index, what));
  }

  static int number(String word) {
    try {
      return Integer.parseInt(word);
    } catch (NumberFormatException e) {
      throw new Usage("a number, not " + word);
    }
  }

  /** The words from this place on. */
  String[] wordsFrom(int index) {
    return words.subList(Math.min(index, words.size()), words.size()).toArray(new String[0]);
  }

  /** How many words there are, the command included. */
  int words() {
    return words.size();
  }

  boolean flag(String name) {
    return flags.contains(name);
  }

  /** The option's value, or null. */
  String option(String name) {
    return single.get(name);
  }

  String option(String name, String otherwise) {
    return single.getOrDefault(name, otherwise);
  }

  Map<String, String> pairs(String name) {
    return pairs.getOrDefault(name, Map.of());
  }

  /** The command line makes no sense. */
  static final class Usage extends RuntimeException {
    Usage(String message) {
      super(message);
    }
  }
}
