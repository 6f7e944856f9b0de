import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * What a release's KafkaConfig says of configurations, as one JSON document.
 *
 * <pre>
 *   ConfigAnswers FILE
 * </pre>
 *
 * The file has a JSON list of objects of properties; printed is for each the error that refuses it, or null.
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
        System.out.println(new ObjectMapper().writeValueAsString(refusals));
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
}
