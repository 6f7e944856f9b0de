import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Lets the server-side assignors share out partitions: one group for each line (JSON) of the file that is named, one
 * line of assignments for each. Members, topics of an assignment and partitions come in the order of the line.
 *
 * {"assignor": "range" | "uniform", "homogeneous": bool, "topics": {id: partitions},
 *  "members": [{"id": text, "instance": text | null, "topics": [id], "target": {id: [partition]}}]}
 */
public final class Assign {
    private static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("range", new RangeAssignor(), "uniform", new UniformAssignor());

    private Assign() {
    }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        PrintStream out = new PrintStream(System.out, false);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            out.println(mapper.writeValueAsString(assign(mapper.readTree(line))));
        }
        out.flush();
    }

    private static Map<String, Map<String, Set<Integer>>> assign(JsonNode group) {
        Map<Uuid, Integer> counts = new HashMap<>();
        group.get("topics").properties()
            .forEach(topic -> counts.put(Uuid.fromString(topic.getKey()), topic.getValue().asInt()));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : group.get("members")) {
            String id = member.get("id").asText();
            Map<Uuid, Set<Integer>> target = target(member.get("target"));
            target.forEach((topic, partitions) -> partitions.forEach(
                partition -> owners.computeIfAbsent(topic, __ -> new HashMap<>()).put(partition, id)));
            Set<Uuid> topics = new HashSet<>();
            member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
            Optional<String> instance = Optional.ofNullable(member.get("instance").textValue());
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(Collections.unmodifiableMap(target))));
        }
        SubscriptionType type =
            group.get("homogeneous").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        GroupAssignment made = ASSIGNORS.get(group.get("assignor").asText())
            .assign(new GroupSpecImpl(members, type, owners), new Counts(counts));
        Map<String, Map<String, Set<Integer>>> printed = new TreeMap<>();
        for (Map.Entry<String, MemberAssignment> member : made.members().entrySet()) {
            Map<String, Set<Integer>> topics = new TreeMap<>();
            member.getValue().partitions()
                .forEach((topic, partitions) -> topics.put(topic.toString(), new TreeSet<>(partitions)));
            printed.put(member.getKey(), topics);
        }
        return printed;
    }

    private static Map<Uuid, Set<Integer>> target(JsonNode node) {
        Map<Uuid, Set<Integer>> target = new LinkedHashMap<>();
        node.properties().forEach(topic -> {
            Set<Integer> partitions = new TreeSet<>();
            topic.getValue().forEach(partition -> partitions.add(partition.asInt()));
            target.put(Uuid.fromString(topic.getKey()), partitions);
        });
        return target;
    }

    private record Counts(Map<Uuid, Integer> counts) implements SubscribedTopicDescriber {
        @Override
        public int numPartitions(Uuid topicId) {
            return counts.getOrDefault(topicId, -1);
        }

        @Override
        public Set<String> racksForPartition(Uuid topicId, int partition) {
            return Set.of();
        }
    }
}
