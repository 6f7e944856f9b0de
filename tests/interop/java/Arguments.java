import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Command line of the form {@code --name value}, {@code --flag} and words; unknown names are refused. */
final class Arguments {
    private final Map<String, String> values = new HashMap<>();
    final List<String> words = new ArrayList<>();

    Arguments(String[] arguments, Set<String> valued, Set<String> flags) {
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            if (!name.startsWith("--")) {
                words.add(name);
            } else if (flags.contains(name.substring(2))) {
                values.put(name.substring(2), "");
            } else if (valued.contains(name.substring(2)) && i + 1 < arguments.length) {
                values.put(name.substring(2), arguments[++i]);
            } else {
                System.err.println("unknown option, or one without its value: " + name + " in " + Arrays.toString(arguments));
                System.exit(2);
            }
        }
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String get(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    List<String> list(String name, List<String> otherwise) {
        return has(name) ? List.of(values.get(name).split(",")) : otherwise;
    }
}
