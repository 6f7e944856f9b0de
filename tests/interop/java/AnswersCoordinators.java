import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ClassicGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.DescribeTransactionsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.utils.Utils;

/** What the group and transaction coordinators know. Listing is only complete once every coordinator has loaded. */
final class AnswersCoordinators {
    private static final int PROBE_TIMEOUT_MS = 30_000;
    private static final String LOADED = "loaded";
    private final Answers answers;
    private final Admin admin;

    AnswersCoordinators(Answers answers) {
        this.answers = answers;
        this.admin = answers.admin;
    }

    Object groups() throws Exception {
        Map<String, String> coordinators = probe("__consumer_offsets", id ->
            admin.listConsumerGroupOffsets(id, new ListConsumerGroupOffsetsOptions().timeoutMs(PROBE_TIMEOUT_MS)).partitionsToOffsetAndMetadata().get());
        Map<GroupType, List<String>> byType = new HashMap<>();
        Map<String, Map<String, Object>> groups = new TreeMap<>();
        for (GroupListing group : admin.listGroups().valid().get()) {
            // Brokers before 3.8 tell no type; they list what they take for classic groups.
            byType.computeIfAbsent(group.type().orElse(GroupType.CLASSIC), type -> new ArrayList<>()).add(group.groupId());
            Map<String, Object> facts = new TreeMap<>();
            facts.put("type", group.type().map(GroupType::toString).orElse("untold"));
            facts.put("protocol_type", group.protocol());
            facts.put("simple", group.isSimpleConsumerGroup());
            groups.put(group.groupId(), facts);
        }
        classic(byType.getOrDefault(GroupType.CLASSIC, List.of()), groups);
        consumer(byType.getOrDefault(GroupType.CONSUMER, List.of()), groups);
        share(byType.getOrDefault(GroupType.SHARE, List.of()), groups);
        streams(byType.getOrDefault(GroupType.STREAMS, List.of()), groups);
        return Map.of("coordinators", coordinators, "groups", groups);
    }

    private void classic(List<String> ids, Map<String, Map<String, Object>> groups) throws Exception {
        for (ClassicGroupDescription group : admin.describeClassicGroups(ids).all().get().values()) {
            Map<String, Object> facts = groups.get(group.groupId());
            facts.put("state", group.state().toString());
            facts.put("assignor", group.protocolData());
            facts.put("members", members(group.members()));
        }
        committed(ids, groups);
    }

    private void consumer(List<String> ids, Map<String, Map<String, Object>> groups) throws Exception {
        for (ConsumerGroupDescription group : admin.describeConsumerGroups(ids).all().get().values()) {
            Map<String, Object> facts = groups.get(group.groupId());
            facts.put("state", group.groupState().toString());
            facts.put("assignor", group.partitionAssignor());
            facts.put("members", members(group.members()));
            facts.put("group_epoch", group.groupEpoch().orElse(-1));
        }
        committed(ids, groups);
    }

    private void share(List<String> ids, Map<String, Map<String, Object>> groups) throws Exception {
        Map<String, ShareGroupDescription> described;
        try {
            described = admin.describeShareGroups(ids).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof UnsupportedVersionException)) throw e;
            // 4.0 loads and lists share groups, and serves them only as an unstable feature.
            ids.forEach(id -> groups.get(id).put("state", "unsupported"));
            return;
        }
        for (ShareGroupDescription group : described.values()) {
            Map<String, Object> facts = groups.get(group.groupId());
            facts.put("state", group.groupState().toString());
            facts.put("group_epoch", group.groupEpoch());
            List<Object> members = new ArrayList<>();
            group.members().forEach(member -> members.add(member(member.consumerId(), member.clientId(), Optional.empty(), partitions(member.assignment().topicPartitions()))));
            facts.put("members", sorted(members));
        }
        Map<String, ListShareGroupOffsetsSpec> asked = new HashMap<>();
        ids.forEach(id -> asked.put(id, new ListShareGroupOffsetsSpec()));
        // Asked once: brokers take up to a second or two over it.
        for (Map.Entry<String, Map<TopicPartition, SharePartitionOffsetInfo>> group : admin.listShareGroupOffsets(asked).all().get().entrySet()) {
            Map<String, Object> offsets = new TreeMap<>();
            // None yet where nothing of the partition was delivered.
            group.getValue().forEach((partition, start) -> offsets.put(partition.toString(), start == null ? -1 : start.startOffset()));
            groups.get(group.getKey()).put("start_offsets", offsets);
        }
    }

    private void streams(List<String> ids, Map<String, Map<String, Object>> groups) throws Exception {
        Map<String, StreamsGroupDescription> described = Map.of();
        try {
            described = admin.describeStreamsGroups(ids).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof UnsupportedVersionException)) throw e;
            // 4.1 loads and lists streams groups, and serves them only as an unstable feature.
            ids.forEach(id -> groups.get(id).put("state", "unsupported"));
        }
        for (StreamsGroupDescription group : described.values()) {
            Map<String, Object> facts = groups.get(group.groupId());
            facts.put("state", group.groupState().toString());
            facts.put("group_epoch", group.groupEpoch());
            facts.put("topology_epoch", group.topologyEpoch());
            List<Object> members = new ArrayList<>();
            group.members().forEach(member -> {
                List<String> tasks = new ArrayList<>();
                member.assignment().activeTasks().forEach(task -> tasks.add(task.subtopologyId() + " " + new TreeSet<>(task.partitions())));
                members.add(member(member.memberId(), member.clientId(), member.instanceId(), tasks));
            });
            facts.put("members", sorted(members));
        }
        Map<String, ListStreamsGroupOffsetsSpec> asked = new HashMap<>();
        ids.forEach(id -> asked.put(id, new ListStreamsGroupOffsetsSpec()));
        for (Map.Entry<String, Map<TopicPartition, OffsetAndMetadata>> group : admin.listStreamsGroupOffsets(asked).all().get().entrySet()) {
            groups.get(group.getKey()).put("committed", offsets(group.getValue()));
        }
    }

    private void committed(List<String> ids, Map<String, Map<String, Object>> groups) throws Exception {
        Map<String, ListConsumerGroupOffsetsSpec> asked = new HashMap<>();
        ids.forEach(id -> asked.put(id, new ListConsumerGroupOffsetsSpec()));
        for (Map.Entry<String, Map<TopicPartition, OffsetAndMetadata>> group : admin.listConsumerGroupOffsets(asked).all().get().entrySet()) {
            groups.get(group.getKey()).put("committed", offsets(group.getValue()));
        }
    }

    private static Map<String, Object> offsets(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, Object> answer = new TreeMap<>();
        offsets.forEach((partition, offset) -> answer.put(partition.toString(), Map.of("offset", offset.offset(),
            "leader_epoch", offset.leaderEpoch().orElse(-1), "metadata", offset.metadata())));
        return answer;
    }

    private static List<Object> members(Collection<MemberDescription> members) {
        List<Object> answer = new ArrayList<>();
        members.forEach(member -> answer.add(member(member.consumerId(), member.clientId(), member.groupInstanceId(), partitions(member.assignment().topicPartitions()))));
        return sorted(answer);
    }

    private static Map<String, Object> member(String id, String clientId, Optional<String> instance, Object assignment) {
        return new TreeMap<>(Map.of("id", id, "client_id", clientId, "instance_id", instance.orElse(""), "assignment", assignment));
    }

    private static List<Object> sorted(List<Object> members) {
        members.sort(java.util.Comparator.comparing(Object::toString));
        return members;
    }

    private static Collection<String> partitions(Collection<TopicPartition> partitions) {
        return new TreeSet<>(partitions.stream().map(TopicPartition::toString).toList());
    }

    Object transactions() throws Exception {
        Map<String, String> coordinators = probe("__transaction_state", id -> {
            try {
                admin.describeTransactions(List.of(id), new DescribeTransactionsOptions().timeoutMs(PROBE_TIMEOUT_MS)).description(id).get();
            } catch (ExecutionException problem) {
                if (!(problem.getCause() instanceof TransactionalIdNotFoundException)) {
                    throw problem;
                }
            }
        });
        Map<String, Object> transactions = new TreeMap<>();
        List<String> ids = new ArrayList<>();
        for (TransactionListing listing : settled()) {
            ids.add(listing.transactionalId());
        }
        if (!ids.isEmpty()) {
            for (Map.Entry<String, TransactionDescription> one : admin.describeTransactions(ids).all().get().entrySet()) {
                transactions.put(one.getKey(), Map.of("state", one.getValue().state().toString(), "producer_id", one.getValue().producerId(),
                    "producer_epoch", one.getValue().producerEpoch(), "partitions", partitions(one.getValue().topicPartitions())));
            }
        }
        return Map.of("coordinators", coordinators, "transactions", transactions);
    }

    /** A transaction that is being ended is so for a moment only. */
    private Collection<TransactionListing> settled() throws Exception {
        for (int tries = 0; ; tries++) {
            Collection<TransactionListing> all;
            try {
                all = admin.listTransactions().all().get();
            } catch (ExecutionException problem) {
                // Kafka's client stumbles over its own key ("Unexpected key set") when it asks a broker again that hung up.
                if (!(problem.getCause() instanceof IllegalArgumentException) || tries == 100) {
                    throw problem;
                }
                Thread.sleep(20);
                continue;
            }
            boolean ending = all.stream().map(TransactionListing::state)
                .anyMatch(state -> state == TransactionState.PREPARE_COMMIT || state == TransactionState.PREPARE_ABORT);
            if (!ending || tries == 100) {
                return all;
            }
            Thread.sleep(20);
        }
    }

    private interface Probe {
        void ask(String id) throws Exception;
    }

    /** For each partition of a coordinator's topic: whether its coordinator answers for an id that belongs there. */
    private Map<String, String> probe(String topic, Probe probe) {
        Map<String, String> answer = new TreeMap<>();
        TopicDescription description = answers.topics.get(topic);
        int partitions = description == null ? 0 : description.partitions().size();
        for (int number = 0; answer.size() < partitions; number++) {
            String id = "probe-" + number;
            String partition = String.valueOf(Utils.abs(id.hashCode()) % partitions);
            if (!answer.containsKey(partition)) {
                answer.put(partition, ask(probe, id));
            }
        }
        return answer;
    }

    private static String ask(Probe probe, String id) {
        try {
            probe.ask(id);
            return LOADED;
        } catch (Exception problem) {
            return "failed: " + (problem.getCause() == null ? problem : problem.getCause()).getClass().getSimpleName();
        }
    }
}
