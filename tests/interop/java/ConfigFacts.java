import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

/**
 * The configuration keys that a release defines, as one JSON document: of server.properties ("server"), topics, groups
 * and client metrics. Of each its type, default, validator (class and fields), whether it is internal, and of those of
 * the server whether a running broker takes a change.
 */
public final class ConfigFacts {
    private ConfigFacts() {
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> server = definitions("kafka.server.KafkaConfig");
        for (Object name : dynamicConfigs()) {
            ((Map<String, Object>) server.computeIfAbsent((String) name, each -> new LinkedHashMap<>())).put("dynamic", true);
        }
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("server", server);
        document.put("topic", definitions("org.apache.kafka.storage.internals.log.LogConfig"));
        document.put("group", definitions("org.apache.kafka.coordinator.group.GroupConfig"));
        document.put("client_metrics", definitions("org.apache.kafka.server.metrics.ClientMetricsConfigs"));
        System.out.println(new ObjectMapper().writeValueAsString(document));
    }

    /** Of a Scala object to 4.2, of a Java class since. */
    private static Set<?> dynamicConfigs() throws Exception {
        Class<?> type;
        Object module = null;
        try {
            type = Class.forName("org.apache.kafka.server.config.DynamicBrokerConfig");
        } catch (ClassNotFoundException e) {
            type = Class.forName("kafka.server.DynamicBrokerConfig$");
            module = type.getField("MODULE$").get(null);
        }
        return ((Map<?, ?>) type.getMethod("dynamicConfigUpdateModes").invoke(module)).keySet();
    }

    /** Empty where the release has no such class. */
    private static Map<String, Object> definitions(String name) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        Class<?> type;
        try {
            type = Class.forName(name);
        } catch (ClassNotFoundException e) {
            return found;
        }
        for (ConfigDef.ConfigKey key : configDef(type).configKeys().values()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("type", key.type.name());
            if (key.hasDefault()) {
                facts.put("default", ConfigDef.convertToString(key.defaultValue, key.type));
            }
            if (key.validator != null) {
                facts.put("validator", describe(key.validator));
            }
            if (key.internalConfig) {
                facts.put("internal", true);
            }
            found.put(key.name, facts);
        }
        return found;
    }

    private static ConfigDef configDef(Class<?> type) throws Exception {
        for (String accessor : new String[] {"configDef", "configDefCopy"}) {
            try {
                Method method = type.getMethod(accessor);
                return (ConfigDef) method.invoke(null);
            } catch (NoSuchMethodException e) {
                // another name, or a field
            }
        }
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && ConfigDef.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                return (ConfigDef) field.get(null);
            }
        }
        throw new IllegalStateException(type + " has no ConfigDef");
    }

    private static Map<String, Object> describe(Object validator) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("class", validator.getClass().getName().replaceFirst("\\$\\$Lambda.*", "\\$Lambda").replaceFirst(".*[.]", ""));
        for (Field field : validator.getClass().getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                continue;
            }
            field.setAccessible(true);
            Object value = field.get(validator);
            if (value == null || value instanceof Number || value instanceof Boolean || value instanceof String || value instanceof Collection) {
                facts.put(field.getName(), value);
            } else if (value instanceof ConfigDef.Validator) {
                facts.put(field.getName(), describe(value));
            }
        }
        // That one lists all versions.
        boolean isTold = !validator.getClass().getSimpleName().equals("MetadataVersionValidator");
        facts.put("text", isTold ? validator.toString().replaceFirst(".*Lambda.*", "") : "");
        return facts;
    }
}
