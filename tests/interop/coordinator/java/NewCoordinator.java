import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.timeline.SnapshotRegistry;

/** A shard of the group coordinator that came with KIP-848, its deserialiser, and the end of its load. */
final class NewCoordinator implements LoadJudge.Partition {
    private static final String PACKAGE = "org.apache.kafka.coordinator.group.";
    private static Object broker;
    private static Object config;
    private static Object metrics;

    private final Object serde = Reflection.make(Reflection.type(
        PACKAGE + "GroupCoordinatorRecordSerde", PACKAGE + "CoordinatorRecordSerde", PACKAGE + "RecordSerde"));
    private final SnapshotRegistry snapshots = (SnapshotRegistry) Reflection.make(SnapshotRegistry.class, logContext());
    private final Object shard;
    private long epoch = 0;

    NewCoordinator() throws Exception {
        if (config == null) {
            config = config();
            metrics = Reflection.make(Class.forName(PACKAGE + "metrics.GroupCoordinatorMetrics"));
        }
        Object builder = builder();
        Reflection.with(builder, "withLogContext", logContext());
        Reflection.with(builder, "withTime", Time.SYSTEM);
        Reflection.with(builder, "withTimer");
        Reflection.with(builder, "withExecutor");
        Reflection.with(builder, "withCoordinatorMetrics", metrics);
        Reflection.with(builder, "withTopicPartition", new TopicPartition("__consumer_offsets", 0));
        Reflection.with(builder, "withSnapshotRegistry", snapshots);
        Reflection.with(builder, "withAuthorizer", Optional.empty());
        Reflection.with(builder, "withAuthorizerPlugin", Optional.empty());
        shard = Reflection.call(builder, "build");
    }

    @Override
    public String replay(long offset, long producerId, ByteBuffer key, ByteBuffer value) throws Exception {
        Object record = Reflection.call(serde, "deserialize", key, value);
        remember();
        try {
            // 3.7 alone hands no offset to the replay; its deserialiser has a name of its own.
            if (serde.getClass().getSimpleName().equals("RecordSerde")) {
                Reflection.call(shard, "replay", producerId, (short) 0, record);
            } else {
                Reflection.call(shard, "replay", offset, producerId, (short) 0, record);
            }
            return "read";
        } catch (InvocationTargetException thrown) {
            snapshots.revertToSnapshot(epoch);
            throw thrown;
        }
    }

    @Override
    public void endTransaction(long producerId, boolean isCommit) throws Exception {
        TransactionResult result = isCommit ? TransactionResult.COMMIT : TransactionResult.ABORT;
        Reflection.call(shard, "replayEndTransactionMarker", producerId, (short) 0, result);
    }

    @Override
    public String finish() throws Exception {
        Object manager = Reflection.field(shard, "groupMetadataManager");
        StringBuilder answer = new StringBuilder("loaded");
        describe(answer, (Map<?, ?>) Reflection.field(manager, "groups"));
        Reflection.call(manager, "onLoaded");
        return answer.toString();
    }

    static Object logContext() throws Exception {
        return Reflection.type(
            "org.apache.kafka.common.utils.internals.LogContext", "org.apache.kafka.common.utils.LogContext"
        ).getDeclaredConstructor().newInstance();
    }

    /** Makes a snapshot to go back to. */
    private void remember() throws Exception {
        snapshots.deleteSnapshotsUpTo(epoch);
        epoch++;
        boolean isNewer = Reflection.has(snapshots, "idempotentCreateSnapshot");
        Reflection.call(snapshots, isNewer ? "idempotentCreateSnapshot" : "getOrCreateSnapshot", epoch);
    }

    /** Writes "group ID TYPE MEMBERS COMMITTED PENDING" for every group, IDs in hex. */
    private void describe(StringBuilder answer, Map<?, ?> groups) throws Exception {
        Object offsets = Reflection.field(shard, "offsetMetadataManager");
        Map<?, ?> pending = (Map<?, ?>) Reflection.field(offsets, "pendingTransactionalOffsets");
        for (Map.Entry<?, ?> entry : new TreeMap<>(groups).entrySet()) {
            String id = (String) entry.getKey();
            java.util.Set<String> waiting = new java.util.HashSet<>();
            for (Object transaction : pending.values()) {
                waiting.addAll(partitions(transaction, id));
            }
            int committed = partitions(Reflection.field(offsets, "offsets"), id).size();
            answer.append("\ngroup ").append(HexFormat.of().formatHex(id.getBytes(StandardCharsets.UTF_8)));
            answer.append(' ').append(typeAndMembers(entry.getValue())).append(' ').append(committed);
            answer.append(' ').append(waiting.size());
        }
    }

    private static Collection<String> partitions(Object offsets, String groupId) throws Exception {
        Collection<String> found = new java.util.ArrayList<>();
        Map<?, ?> topics = (Map<?, ?>) ((Map<?, ?>) Reflection.field(offsets, "offsetsByGroup")).get(groupId);
        if (topics != null) {
            topics.forEach((topic, ofTopic) ->
                ((Map<?, ?>) ofTopic).keySet().forEach(partition -> found.add(topic + " " + partition)));
        }
        return found;
    }

    private static String typeAndMembers(Object group) throws Exception {
        String type = Reflection.call(group, "type").toString().toLowerCase(java.util.Locale.ROOT);
        if (!type.equals("classic")) {
            return type + " " + ((Map<?, ?>) Reflection.call(group, "members")).size();
        }
        int members = ((Collection<?>) Reflection.call(group, "allMembers")).size();
        boolean isSimple = members == 0 && ((Optional<?>) Reflection.call(group, "protocolType")).isEmpty();
        return (isSimple ? "simple " : "classic ") + members;
    }

    private static Object builder() throws Exception {
        Class<?> type = Class.forName(PACKAGE + "GroupCoordinatorShard$Builder");
        try {
            return Reflection.make(type, config, groupConfigs());
        } catch (ClassNotFoundException missing) {
            return Reflection.make(type, config);
        }
    }

    private static Object groupConfigs() throws Exception {
        Class<?> type = Class.forName(PACKAGE + "GroupConfigManager");
        try {
            Object share = Reflection.make(Class.forName(PACKAGE + "modern.share.ShareGroupConfig"), broker);
            return Reflection.make(type, config, share, Map.of());
        } catch (ClassNotFoundException missing) {
            return Reflection.make(type, config, Map.of());
        }
    }

    private static Object config() throws Exception {
        Class<?> type = Class.forName(PACKAGE + "GroupCoordinatorConfig");
        if (type.getDeclaredConstructors()[0].getParameterCount() > 1) {
            return oldestConfig(type);
        }
        broker = BrokerConfig.of(Map.of());
        return Reflection.call(broker, "groupCoordinatorConfig");
    }

    /** That of 3.7 and 3.8: numbers, and the assignors among them; 3.8 has enumerations too, of no use to a load. */
    private static Object oldestConfig(Class<?> type) throws Exception {
        Class<?>[] parameters = type.getDeclaredConstructors()[0].getParameterTypes();
        Object assignor = Reflection.make(Class.forName(PACKAGE + "assignor.RangeAssignor"));
        Object[] arguments = new Object[parameters.length];
        for (int i = 0; i < parameters.length; i++) {
            arguments[i] = parameters[i] == int.class ? (Object) Integer.MAX_VALUE
                : parameters[i] == long.class ? (Object) Long.MAX_VALUE
                : parameters[i].isEnum() ? parameters[i].getEnumConstants()[0] : List.of(assignor);
        }
        return type.getDeclaredConstructors()[0].newInstance(arguments);
    }
}
