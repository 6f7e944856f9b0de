import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What a release's classes say of it, as one JSON document: versions of APIs, levels of metadata.version and of
 * features, and types of records. By reflection, since classes move and are renamed from release to release.
 */
public final class ReleaseFacts {
    private static final String METADATA_VERSION = "org.apache.kafka.server.common.MetadataVersion";
    private static final Set<String> NOT_OF_A_LEVEL = Set.of("previous", "toString", "hashCode");
    private static final Set<String> NOT_OF_A_FEATURE =
        Set.of("featureLevel", "featureName", "bootstrapMetadataVersion", "dependencies", "toString", "hashCode");

    private ReleaseFacts() {
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> records = new LinkedHashMap<>();
        records.put("metadataRecords", recordTypes("org.apache.kafka.common.metadata.MetadataRecordType"));
        records.put("controlRecords", controlRecords());
        records.put("controlRecordVersions", controlRecordVersions());
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("apis", apis());
        document.put("features", features());
        document.put("metadataVersions", metadataVersions());
        document.put("records", records);
        System.out.println(new ObjectMapper().writeValueAsString(document));
    }

    // --- APIs

    private static Map<String, Object> apis() throws Exception {
        Class<?> keys = Class.forName("org.apache.kafka.common.protocol.ApiKeys");
        Map<String, Object> found = new TreeMap<>(Comparator.comparingInt(Integer::parseInt));
        for (Object key : keys.getEnumConstants()) {
            found.put(String.valueOf(keys.getField("id").getShort(key)), api(keys, key));
        }
        return found;
    }

    private static Map<String, Object> api(Class<?> keys, Object key) throws Exception {
        Object type = keys.getField("messageType").get(key);
        short min = (Short) call(key, "oldestVersion");
        Method highest = type.getClass().getMethod("highestSupportedVersion", boolean.class);
        short max = (Short) highest.invoke(type, true);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("enum", ((Enum<?>) key).name());
        facts.put("name", keys.getField("name").get(key));
        facts.put("min", min);
        facts.put("max", max);
        facts.put("maxStable", highest.invoke(type, false));
        facts.put("latestVersionUnstable", call(type, "latestVersionUnstable"));
        facts.put("lowestDeprecated", call(type, "lowestDeprecatedVersion"));
        facts.put("highestDeprecated", call(type, "highestDeprecatedVersion"));
        List<String> listeners = new ArrayList<>();
        for (Object listener : (Collection<?>) call(type, "listeners")) {
            listeners.add(listener.toString());
        }
        facts.put("listeners", listeners);
        facts.put("clusterAction", keys.getField("clusterAction").get(key));
        facts.put("forwardable", keys.getField("forwardable").get(key));
        List<Object> requests = new ArrayList<>();
        List<Object> responses = new ArrayList<>();
        Integer flexibleFrom = null;
        for (int version = min; version <= max; version++) {
            short header = (Short) keys.getMethod("requestHeaderVersion", short.class).invoke(key, (short) version);
            requests.add(header);
            responses.add(keys.getMethod("responseHeaderVersion", short.class).invoke(key, (short) version));
            if (flexibleFrom == null && header >= 2) {
                flexibleFrom = version;
            }
        }
        facts.put("flexibleFrom", flexibleFrom);
        facts.put("requestHeaderVersions", requests);
        facts.put("responseHeaderVersions", responses);
        return facts;
    }

    // --- metadata.version and features

    private static List<Object> metadataVersions() throws Exception {
        Class<?> type = Class.forName(METADATA_VERSION);
        Object production = type.getMethod("latestProduction").invoke(null);
        Object testing = type.getMethod("latestTesting").invoke(null);
        List<Object> found = new ArrayList<>();
        for (Object level : type.getEnumConstants()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("name", level.toString());
            facts.put("enum", ((Enum<?>) level).name());
            for (Method method : methods(type)) {
                if (NOT_OF_A_LEVEL.contains(method.getName())) {
                    continue;
                }
                if (method.getParameterCount() == 0) {
                    facts.put(method.getName(), simple(tryInvoke(method, level)));
                } else if (Arrays.equals(method.getParameterTypes(), new Class<?>[] {boolean.class})) {
                    facts.put(method.getName() + "(false)", simple(tryInvoke(method, level, false)));
                    facts.put(method.getName() + "(true)", simple(tryInvoke(method, level, true)));
                }
            }
            facts.put("isLatestProduction", level == production);
            facts.put("isLatestTesting", level == testing);
            facts.values().removeIf(each -> each == null);
            found.add(facts);
        }
        return found;
    }

    private static Map<String, Object> features() throws Exception {
        Class<?> levels = Class.forName(METADATA_VERSION);
        Class<?> quorum = Class.forName("org.apache.kafka.controller.QuorumFeatures");
        Class<?> broker = first("org.apache.kafka.server.BrokerFeatures", "kafka.server.BrokerFeatures");
        Map<String, Object> found = new LinkedHashMap<>();
        for (boolean unstable : new boolean[] {false, true}) {
            Method ofController = method(quorum, "defaultSupportedFeatureMap", "defaultFeatureMap", boolean.class);
            Object ofBroker = broker.getMethod("defaultSupportedFeatures", boolean.class).invoke(null, unstable);
            String suffix = unstable ? "Unstable" : "";
            found.put("controllerSupported" + suffix, ranges((Map<?, ?>) ofController.invoke(null, unstable)));
            found.put("brokerSupported" + suffix, ranges((Map<?, ?>) call(ofBroker, "features")));
        }
        found.put("latestProductionMetadataVersion", levels.getMethod("latestProduction").invoke(null).toString());
        found.put("latestTestingMetadataVersion", levels.getMethod("latestTesting").invoke(null).toString());
        for (String name : new String[] {"MINIMUM_VERSION", "MINIMUM_KRAFT_VERSION", "MINIMUM_BOOTSTRAP_VERSION"}) {
            try {
                found.put("MetadataVersion." + name, levels.getField(name).get(null).toString());
            } catch (NoSuchFieldException e) {
                // of another release
            }
        }
        Map<String, Object> each = new LinkedHashMap<>();
        Class<?> type = first("org.apache.kafka.server.common.Feature", "org.apache.kafka.server.common.Features");
        if (type != null && type.isEnum()) {
            for (Object feature : type.getEnumConstants()) {
                if (!feature.toString().startsWith("UNIT_TEST")) {
                    each.put((String) call(feature, "featureName"), feature(type, feature, levels));
                }
            }
        }
        found.put("features", each);
        return found;
    }

    private static Map<String, Object> feature(Class<?> type, Object feature, Class<?> metadataVersions) throws Exception {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("enum", ((Enum<?>) feature).name());
        for (String name : new String[] {"latestProduction", "minimumProduction", "latestTesting"}) {
            Method method = method(type, name, null);
            facts.put(name, method == null ? null : method.invoke(feature));
        }
        List<Object> levels = new ArrayList<>();
        for (Object level : (Object[]) call(feature, "featureVersions")) {
            Map<String, Object> of = new LinkedHashMap<>();
            of.put("enum", ((Enum<?>) level).name());
            of.put("level", call(level, "featureLevel"));
            of.put("bootstrapMetadataVersion", call(level, "bootstrapMetadataVersion").toString());
            of.put("dependencies", call(level, "dependencies"));
            for (Method method : methods(level.getClass())) {
                if (method.getParameterCount() == 0 && !NOT_OF_A_FEATURE.contains(method.getName())) {
                    of.put(method.getName(), simple(tryInvoke(method, level)));
                }
            }
            levels.add(of);
        }
        facts.put("levels", levels);
        Method byDefault = method(type, "defaultLevel", "defaultValue", metadataVersions);
        Map<String, Object> defaults = new LinkedHashMap<>();
        for (Object level : metadataVersions.getEnumConstants()) {
            defaults.put(level.toString(), tryInvoke(byDefault, feature, level));
        }
        facts.put("defaultLevelByMetadataVersion", defaults);
        return facts;
    }

    private static Map<String, Object> ranges(Map<?, ?> supported) throws Exception {
        Map<String, Object> found = new TreeMap<>();
        for (Map.Entry<?, ?> each : supported.entrySet()) {
            found.put(each.getKey().toString(), Map.of("min", call(each.getValue(), "min"), "max", call(each.getValue(), "max")));
        }
        return found;
    }

    // --- records

    private static List<Object> recordTypes(String name) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object type : Class.forName(name).getEnumConstants()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("id", call(type, "id"));
            facts.put("enum", ((Enum<?>) type).name());
            facts.put("min", call(type, "lowestSupportedVersion"));
            facts.put("max", call(type, "highestSupportedVersion"));
            facts.put("class", call(type, "newMetadataRecord").getClass().getSimpleName());
            found.add(facts);
        }
        return found;
    }

    private static List<Object> controlRecords() throws Exception {
        String name = "ControlRecordType";
        Class<?> type = first("org.apache.kafka.common.record." + name, "org.apache.kafka.common.record.internal." + name);
        List<Object> found = new ArrayList<>();
        for (Object constant : type.getEnumConstants()) {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("enum", ((Enum<?>) constant).name());
            for (Field field : type.getDeclaredFields()) {
                if (field.getType() == short.class && !Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    facts.put("type", field.get(constant));
                }
            }
            found.add(facts);
        }
        return found;
    }

    private static Map<String, Object> controlRecordVersions() throws Exception {
        String name = "ControlRecordUtils";
        Class<?> type = first("org.apache.kafka.common.record." + name, "org.apache.kafka.common.record.internal." + name);
        Map<String, Object> found = new TreeMap<>();
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == short.class) {
                field.setAccessible(true);
                found.put(field.getName(), field.get(null));
            }
        }
        return found;
    }

    // --- reflection

    /** The first of these classes that there is; null: none. */
    private static Class<?> first(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException e) {
                // the next one
            }
        }
        return null;
    }

    /** The method by one of its names; null: neither is there. */
    private static Method method(Class<?> type, String name, String otherName, Class<?>... parameters) {
        try {
            return type.getMethod(name, parameters);
        } catch (NoSuchMethodException e) {
            return otherName == null ? null : method(type, otherName, null, parameters);
        }
    }

    /** Public methods of instances, by name. */
    private static List<Method> methods(Class<?> type) {
        List<Method> found = new ArrayList<>(Arrays.asList(type.getDeclaredMethods()));
        found.removeIf(each -> Modifier.isStatic(each.getModifiers()) || !Modifier.isPublic(each.getModifiers()));
        found.sort(Comparator.comparing(Method::getName));
        return found;
    }

    private static Object call(Object target, String name) throws Exception {
        Method method = target.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(target);
    }

    /** Null where the method throws: what the release does not have at that level. */
    private static Object tryInvoke(Method method, Object target, Object... arguments) throws Exception {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            return null;
        }
    }

    private static Object simple(Object value) {
        boolean isSimple = value == null || value instanceof Number || value instanceof Boolean;
        return isSimple ? value : value.toString();
    }
}
