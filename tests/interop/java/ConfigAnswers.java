import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/**
 * What a release's KafkaConfig defines, and what it says of configurations, as one JSON document.
 *
 * <pre>
 *   ConfigAnswers FILE
 * </pre>
 *
 * The file has a JSON list of objects of properties. "refusals" has for each why it is refused, or null; "definitions"
 * has by key its type, its default and what its validator says of itself.
 */
public final class ConfigAnswers {
    private static final Class<?> CONFIG = config();

    private ConfigAnswers() {
    }

    public static void main(String[] arguments) throws Exception {
        List<String> refusals = new ArrayList<>();
        for (Object properties : new ObjectMapper().readValue(new File(arguments[0]), List.class)) {
            refusals.add(refusal((Map<?, ?>) properties));
        }
        Map<String, Object> document = new TreeMap<>();
        document.put("refusals", refusals);
        document.put("definitions", definitions());
        System.out.println(new ObjectMapper().writeValueAsString(document));
    }

    private static Class<?> config() {
        try {
            return Class.forName("kafka.server.KafkaConfig");
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String refusal(Map<?, ?> wanted) throws Exception {
        Properties properties = new Properties();
        properties.putAll(wanted);
        try {
            CONFIG.getMethod("fromProps", Properties.class).invoke(null, properties);
            return null;
        } catch (InvocationTargetException e) {
            return e.getCause().getMessage();
        }
    }

    private static Map<String, Object> definitions() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        ConfigDef definitions = (ConfigDef) CONFIG.getMethod("configDef").invoke(null);
        for (ConfigDef.ConfigKey key : definitions.configKeys().values()) {
            Map<String, Object> told = new LinkedHashMap<>();
            told.put("type", key.type.name());
            if (key.hasDefault()) {
                told.put("default", ConfigDef.convertToString(key.defaultValue, key.type));
            }
            told.put("valid", key.validator == null ? null : key.validator.toString());
            found.put(key.name, told);
        }
        return found;
    }
}
