import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.ArrayList;
import java.util.Collection;
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
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;

/**
 * Asks a running cluster for everything, and prints it as one JSON document with sorted keys.
 *
 * <pre>
 *   Answers --bootstrap SERVERS [--sections A,B,...] [--scram SERVERS] [--groups G,H,...]
 * </pre>
 *
 * Sections, by default all but the last two: features, topics, configs, acls, scram, quotas, groups, transactions,
 * offsets, messages; producers, leadership. What is in the default ones does not change when a cluster is restarted.
 * "scram" also logs in as every user at the SASL listener given, with the password that Seed gives them. "groups" names
 * groups whose configs a broker cannot list. What the brokers do not know is named under "unsupported".
 */
public final class Answers {
    private static final List<String> DEFAULT = List.of("features", "topics", "configs", "acls", "scram", "quotas",
        "groups", "transactions", "offsets", "messages");
    private static final Set<String> MORE = Set.of("producers", "leadership");

    final Admin admin;
    final String bootstrap;
    final String scramServers;
    final List<String> groupNames;
    final List<Integer> brokers = new ArrayList<>();
    final Map<String, TopicDescription> topics = new TreeMap<>();
    /** Partitions of topics that are not Kafka's own and that have a leader. */
    final List<TopicPartition> readable = new ArrayList<>();
    final Map<String, Object> document = new ConcurrentSkipListMap<>();
    final Map<String, String> unsupported = new ConcurrentSkipListMap<>();

    interface Section {
        Object ask() throws Exception;
    }

    private Answers(Arguments arguments) {
        bootstrap = arguments.get("bootstrap", "");
        scramServers = arguments.get("scram", "");
        groupNames = arguments.list("groups", List.of());
        admin = Admin.create(client());
    }

    Properties client() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("request.timeout.ms", "20000");
        properties.put("default.api.timeout.ms", "60000");
        properties.put("retry.backoff.ms", "30");
        properties.put("enable.metrics.push", "false");
        return properties;
    }

    public static void main(String[] command) throws Exception {
        Arguments arguments = new Arguments(command, Set.of("bootstrap", "sections", "scram", "groups"), Set.of());
        List<String> sections = arguments.list("sections", DEFAULT);
        for (String section : sections) {
            if (!DEFAULT.contains(section) && !MORE.contains(section)) {
                System.err.println("unknown section " + section);
                System.exit(2);
            }
        }
        int status = 1;
        try {
            Answers answers = new Answers(arguments);
            answers.ask(sections);
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);
            System.out.println(mapper.writeValueAsString(answers.document));
            System.out.flush();
            status = 0;
        } catch (Throwable problem) {
            problem.printStackTrace();
        }
        // Closing the clients politely would take longer than asking.
        Runtime.getRuntime().halt(status);
    }

    private void ask(List<String> sections) throws Exception {
        document.put("cluster_id", admin.describeCluster().clusterId().get());
        for (Node node : admin.describeCluster().nodes().get()) {
            brokers.add(node.id());
        }
        brokers.sort(null);
        Collection<String> names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        topics.putAll(admin.describeTopics(names).allTopicNames().get());
        topics.forEach((name, topic) -> {
            for (TopicPartitionInfo partition : topic.partitions()) {
                if (!internal(name) && partition.leader() != null) {
                    readable.add(new TopicPartition(name, partition.partition()));
                }
            }
        });
        AnswersMetadata metadata = new AnswersMetadata(this);
        AnswersCoordinators coordinators = new AnswersCoordinators(this);
        AnswersMessages messages = new AnswersMessages(this);
        Map<String, Section> known = Map.ofEntries(
            Map.entry("features", metadata::features), Map.entry("topics", this::topics), Map.entry("configs", metadata::configs),
            Map.entry("acls", metadata::acls), Map.entry("scram", metadata::scram), Map.entry("quotas", metadata::quotas),
            Map.entry("groups", coordinators::groups), Map.entry("transactions", coordinators::transactions),
            Map.entry("offsets", messages::offsets), Map.entry("messages", messages::messages),
            Map.entry("producers", messages::producers), Map.entry("leadership", this::leadership));
        ExecutorService pool = Executors.newFixedThreadPool(4);
        Map<String, Future<Object>> asked = new TreeMap<>();
        for (String section : sections) {
            asked.put(section, pool.submit(() -> known.get(section).ask()));
        }
        for (Map.Entry<String, Future<Object>> section : asked.entrySet()) {
            try {
                document.put(section.getKey(), section.getValue().get(120, TimeUnit.SECONDS));
            } catch (Exception problem) {
                throw new Exception("section " + section.getKey(), problem);
            }
        }
        document.put("unsupported", unsupported);
    }

    /** Kafka's own topics are named so; older brokers do not flag the newer ones as internal. */
    static boolean internal(String topic) {
        return topic.startsWith("__");
    }

    private Object topics() {
        Map<String, Object> answer = new TreeMap<>();
        topics.forEach((name, topic) -> {
            Map<String, Object> replicas = new TreeMap<>();
            topic.partitions().forEach(p -> replicas.put(String.valueOf(p.partition()), ids(p.replicas())));
            answer.put(name, Map.of("id", topic.topicId().toString(), "replicas", replicas));
        });
        return answer;
    }

    /** What changes whenever a node comes or goes. */
    private Object leadership() throws Exception {
        Map<String, Object> partitions = new TreeMap<>();
        topics.forEach((name, topic) -> {
            for (TopicPartitionInfo p : topic.partitions()) {
                Map<String, Object> state = new TreeMap<>();
                state.put("leader", p.leader() == null ? -1 : p.leader().id());
                state.put("isr", ids(p.isr()));
                // Null from brokers that do not know of eligible leader replicas.
                state.put("elr", p.elr() == null ? List.of() : ids(p.elr()));
                state.put("last_known_elr", p.lastKnownElr() == null ? List.of() : ids(p.lastKnownElr()));
                partitions.put(name + "-" + p.partition(), state);
            }
        });
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        List<Integer> voters = quorum.voters().stream().map(QuorumInfo.ReplicaState::replicaId).sorted().toList();
        return Map.of("partitions", partitions, "brokers", brokers, "quorum_leader", quorum.leaderId(), "voters", voters);
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }
}
