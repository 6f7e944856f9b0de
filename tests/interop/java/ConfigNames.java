import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;

/** Prints the names of topic and group configs that a release knows, as one JSON document; group configs came with 4.0. */
public final class ConfigNames {
    private ConfigNames() {
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        found.put("topic", names("org.apache.kafka.storage.internals.log.LogConfig"));
        if (arguments.length > 0 && arguments[0].equals("--groups")) {
            found.put("group", names("org.apache.kafka.coordinator.group.GroupConfig"));
        }
        System.out.println(new ObjectMapper().writeValueAsString(found));
    }

    private static Collection<?> names(String name) throws Exception {
        return (Collection<?>) Class.forName(name).getMethod("configNames").invoke(null);
    }
}
