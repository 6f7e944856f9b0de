import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.common.Node;

/**
 * Fills a running cluster.
 *
 * <pre>
 *   Seed --bootstrap SERVERS [--seed N] [--steps A,B,...] [--messages N] [--filler-topics N] [--filler-partitions N]
 * </pre>
 *
 * Steps, by default all but the last two: topics, configs, acls, scram, quotas, data, segments (2.5 MB), transactions,
 * classic-groups, consumer-groups, share-groups, streams-groups, open-transaction; later, for a cluster that was seeded
 * with the same seed before. What the cluster's features do not allow is left out and named in the result. Names, and messages but for their timestamps, depend on the seed only. Groups named "...-joined" keep their members:
 * this program ends without closing them. Prints one JSON document.
 */
public final class Seed {
    static final int LEVEL_4_0 = 25;
    static final int LEVEL_CIDR = 32;
    private static final List<String> ALL = List.of("topics", "configs", "acls", "scram", "quotas", "data", "segments",
        "transactions", "classic-groups", "consumer-groups", "share-groups", "streams-groups");

    final String bootstrap;
    final Admin admin;
    final Names names;
    final int messages;
    final List<Integer> brokers = new ArrayList<>();
    final Map<String, Integer> features = new TreeMap<>();
    private final Map<String, Long> stepsMs = new ConcurrentSkipListMap<>();
    private final Map<String, String> leftOut = new ConcurrentSkipListMap<>();

    interface Step {
        void run() throws Exception;
    }

    private Seed(String bootstrap, long seed, int messages) throws Exception {
        this.bootstrap = bootstrap;
        this.admin = Admin.create(client());
        this.names = new Names(seed);
        this.messages = messages;
        for (Node node : admin.describeCluster().nodes().get()) {
            brokers.add(node.id());
        }
        brokers.sort(null);
        FeatureMetadata metadata = admin.describeFeatures().featureMetadata().get();
        for (Map.Entry<String, FinalizedVersionRange> feature : metadata.finalizedFeatures().entrySet()) {
            features.put(feature.getKey(), (int) feature.getValue().maxVersionLevel());
        }
    }

    /** Properties that every client needs. */
    Properties client() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("request.timeout.ms", "20000");
        properties.put("default.api.timeout.ms", "60000");
        properties.put("enable.metrics.push", "false");
        return properties;
    }

    int metadataLevel() {
        return features.getOrDefault("metadata.version", 0);
    }

    public static void main(String[] command) throws Exception {
        Set<String> options = Set.of("bootstrap", "seed", "steps", "messages", "filler-topics", "filler-partitions");
        Arguments arguments = new Arguments(command, options, Set.of());
        long seedNumber = Long.parseLong(arguments.get("seed", "1"));
        int status = 1;
        try {
            Seed seed = new Seed(arguments.get("bootstrap", ""), seedNumber, Integer.parseInt(arguments.get("messages", "100")));
            seed.run(arguments.list("steps", ALL), arguments);
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("seed", seedNumber);
            result.put("steps_ms", seed.stepsMs);
            result.put("left_out", seed.leftOut);
            System.out.println(mapper.writeValueAsString(result));
            System.out.flush();
            status = 0;
        } catch (Throwable problem) {
            problem.printStackTrace();
        }
        // Not exit: members of the joined groups must not say goodbye.
        Runtime.getRuntime().halt(status);
    }

    private void run(List<String> steps, Arguments arguments) throws Exception {
        SeedMetadata metadata = new SeedMetadata(this);
        SeedData data = new SeedData(this);
        SeedGroups groups = new SeedGroups(this);
        SeedStreamsGroups streams = new SeedStreamsGroups(this);
        Map<String, Step> known = new LinkedHashMap<>();
        known.put("configs", metadata::configs);
        known.put("acls", metadata::acls);
        known.put("scram", metadata::scram);
        known.put("quotas", metadata::quotas);
        known.put("segments", data::segments);
        known.put("transactions", data::transactions);
        known.put("classic-groups", groups::classicGroups);
        known.put("consumer-groups", groups::consumerGroups);
        known.put("share-groups", groups::shareGroups);
        known.put("streams-groups", streams::streamsGroups);
        known.put("open-transaction", data::openTransaction);
        known.put("later", data::later);
        for (String step : steps) {
            if (!known.containsKey(step) && !step.equals("topics") && !step.equals("data")) {
                throw new IllegalArgumentException("unknown step " + step);
            }
        }
        if (steps.contains("topics")) {
            timed("topics", metadata::topics);
        }
        if (arguments.has("filler-topics")) {
            int topics = Integer.parseInt(arguments.get("filler-topics", ""));
            int partitions = Integer.parseInt(arguments.get("filler-partitions", "10"));
            timed("filler", () -> metadata.filler(topics, partitions));
        }
        if (steps.contains("data")) {
            timed("data", data::messages);
        }
        // What remains does not depend on one another.
        ExecutorService pool = Executors.newFixedThreadPool(6);
        List<Future<?>> running = new ArrayList<>();
        for (Map.Entry<String, Step> step : known.entrySet()) {
            if (steps.contains(step.getKey()) && supported(step.getKey())) {
                running.add(pool.submit(() -> {
                    timed(step.getKey(), step.getValue());
                    return null;
                }));
            }
        }
        pool.shutdown();
        for (Future<?> step : running) {
            step.get(240, TimeUnit.SECONDS);
        }
    }

    private boolean supported(String step) {
        Map<String, String> needs = Map.of("consumer-groups", "group.version", "share-groups", "share.version",
            "streams-groups", "streams.version");
        String feature = needs.get(step);
        if (feature == null || features.getOrDefault(feature, 0) > 0) {
            return true;
        }
        leftOut.put(step, feature + " is 0");
        return false;
    }

    private void timed(String name, Step step) throws Exception {
        long start = System.nanoTime();
        try {
            step.run();
        } catch (Exception problem) {
            throw new Exception("step " + name, problem);
        }
        stepsMs.put(name, (System.nanoTime() - start) / 1_000_000);
    }

    /** Ask again until it is so; the brokers apply committed records a moment after they answer. */
    static void until(String what, Condition condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.holds()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("not within a minute: " + what);
            }
            Thread.sleep(20);
        }
    }

    interface Condition {
        boolean holds() throws Exception;
    }
}
