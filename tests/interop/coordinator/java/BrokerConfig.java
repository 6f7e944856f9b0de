import java.util.Map;
import java.util.Properties;

/** The configuration of a broker, and which group coordinator it runs by it. */
final class BrokerConfig {
    private BrokerConfig() {
    }

    static Object of(Map<String, String> properties) throws Exception {
        Properties all = new Properties();
        all.put("process.roles", "broker,controller");
        all.put("node.id", "1");
        all.put("controller.quorum.voters", "1@127.0.0.1:9093");
        all.put("listeners", "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093");
        all.put("controller.listener.names", "CONTROLLER");
        all.putAll(properties);
        return Reflection.call(Class.forName("kafka.server.KafkaConfig"), "fromProps", all);
    }

    static String coordinator(Map<String, String> properties) throws Exception {
        Object config = of(properties);
        // Where there is nothing to choose, there is but the new one.
        boolean isNew = !Reflection.has(config, "isNewGroupCoordinatorEnabled")
            || (boolean) Reflection.call(config, "isNewGroupCoordinatorEnabled");
        return isNew ? "new" : "old";
    }
}
