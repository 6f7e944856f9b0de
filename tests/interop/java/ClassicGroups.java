import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.ConsumerGroupHeartbeatRequest;
import org.apache.kafka.common.requests.HeartbeatRequest;
import org.apache.kafka.common.requests.JoinGroupRequest;
import org.apache.kafka.common.requests.JoinGroupResponse;
import org.apache.kafka.common.requests.LeaveGroupRequest;
import org.apache.kafka.common.requests.LeaveGroupResponse;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.SyncGroupRequest;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Lets a shard of the real group coordinator take requests of groups' members, one line of the named file each:
 *
 * <pre>
 * N nowMs maxSize key=value...  a new shard, without anything; configs besides group.max.size
 * M name id partitions          a topic that is there from the next I on; the id in hex
 * R key value                   a record that it loads, in hex; I: it has loaded
 * U bytes                       the 16 bytes of the next member id
 * X true|false                  whether the log refuses records
 * Q api version token request   a request (JoinGroup ...), in hex
 * T ms                          time passes
 * </pre>
 *
 * <p>Each line is answered by lines "A token response" and "W value" for what was answered and written, and then by
 * "D description", the group "g" in version 5 of DescribeGroups.
 */
public final class ClassicGroups {
    private static final HexFormat HEX = HexFormat.of();
    private static final ArrayDeque<byte[]> IDS = new ArrayDeque<>();
    private static final PrintStream OUT = new PrintStream(System.out, false);
    private static final GroupCoordinatorMetrics METRICS = new GroupCoordinatorMetrics();

    private final GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
    private final SnapshotRegistry snapshots = new SnapshotRegistry(new LogContext());
    private final Timers timers = new Timers();
    private final GroupCoordinatorShard shard;
    private long nowMs;
    private long epoch = 0;
    private boolean refuses = false;
    private final Topics topics = new Topics(new HashMap<>());

    private ClassicGroups(long nowMs, Map<String, String> configs) {
        this.nowMs = nowMs;
        ConfigDef known = new ConfigDef(GroupCoordinatorConfig.CONFIG_DEF);
        ShareGroupConfig.CONFIG_DEF.configKeys().values().forEach(known::define);
        AbstractConfig config = new AbstractConfig(known, configs, false);
        GroupCoordinatorConfig groupConfig = new GroupCoordinatorConfig(config);
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(
            groupConfig, new GroupConfigManager(Map.of(), groupConfig, new ShareGroupConfig(config)));
        builder.withLogContext(new LogContext()).withTime(new ShardTime()).withTimer(timers)
            .withExecutor(new NoExecutor()).withCoordinatorMetrics(METRICS)
            .withTopicPartition(new TopicPartition("__consumer_offsets", 0)).withSnapshotRegistry(snapshots);
        shard = builder.withAuthorizerPlugin(Optional.empty()).build();
    }

    public static void main(String[] arguments) throws Exception {
        Security.insertProviderAt(new Given(), 1);
        ClassicGroups groups = null;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split(" ", -1);
            switch (words[0]) {
                case "N" -> {
                    IDS.clear();
                    groups = new ClassicGroups(Long.parseLong(words[1]), configs(words));
                }
                case "M" -> groups.topics.add(words[1], HEX.parseHex(words[2]), Integer.parseInt(words[3]));
                case "R" -> groups.load(words[1], words[2]);
                case "I" -> groups.begin();
                case "U" -> IDS.add(HEX.parseHex(words[1]));
                case "X" -> groups.refuses = Boolean.parseBoolean(words[1]);
                case "Q" -> groups.ask(words[1], Short.parseShort(words[2]), words[3], HEX.parseHex(words[4]));
                case "T" -> groups.pass(Long.parseLong(words[1]));
                default -> throw new IllegalArgumentException(line);
            }
            DescribeGroupsResponseData described = new DescribeGroupsResponseData()
                .setGroups(groups.shard.describeGroups(context((short) 5), List.of("g"), Long.MAX_VALUE));
            OUT.println("D " + hex(described, (short) 5));
        }
        OUT.flush();
    }

    private static Map<String, String> configs(String[] words) {
        Map<String, String> configs = new HashMap<>(Map.of("group.max.size", words[2]));
        for (int at = 3; at < words.length; at++) {
            String[] parts = words[at].split("=", 2);
            configs.put(parts[0], parts[1]);
        }
        return configs;
    }

    private void load(String key, String value) throws Exception {
        CoordinatorRecord record = (CoordinatorRecord) serde.deserialize(
            ByteBuffer.wrap(HEX.parseHex(key)), value.equals("-") ? null : ByteBuffer.wrap(HEX.parseHex(value)));
        shard.replay(0L, -1L, (short) -1, record);
    }

    private void begin() {
        shard.onLoaded(topics);
        // What every shard does now and then is not asked about.
        timers.cancel("expire-group-metadata");
        timers.cancel("group-size-counter");
    }

    private void pass(long ms) {
        long endMs = nowMs + ms;
        for (Timers.Entry due = timers.pop(endMs); due != null; due = timers.pop(endMs)) {
            nowMs = Math.max(nowMs, due.dueMs());
            Timers.Entry entry = due;
            run(() -> entry.operation().generateRecords());
        }
        nowMs = endMs;
    }

    private void ask(String api, short version, String token, byte[] bytes) throws Exception {
        ByteBufferAccessor data = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
        RequestContext context = context(version);
        switch (api) {
            case "JoinGroup" -> {
                CompletableFuture<JoinGroupResponseData> future = new CompletableFuture<>();
                future.thenAccept(answer -> answer(token, new JoinGroupResponse(answer, version).data(), version));
                run(() -> shard.classicGroupJoin(context, JoinGroupRequest.parse(data, version).data(), future),
                    error -> failed(future, new JoinGroupResponseData().setErrorCode(error.code())));
            }
            case "SyncGroup" -> {
                CompletableFuture<SyncGroupResponseData> future = new CompletableFuture<>();
                future.thenAccept(answer -> answer(token, answer, version));
                run(() -> shard.classicGroupSync(context, SyncGroupRequest.parse(data, version).data(), future),
                    error -> failed(future, new SyncGroupResponseData().setErrorCode(error.code())));
            }
            case "ConsumerGroupHeartbeat" -> {
                ConsumerGroupHeartbeatResponseData answer = run(
                    () -> shard.consumerGroupHeartbeat(context, ConsumerGroupHeartbeatRequest.parse(data, version).data()),
                    error -> new ConsumerGroupHeartbeatResponseData().setErrorCode(error.code()));
                answer(token, answer, version);
            }
            case "Heartbeat" -> {
                HeartbeatResponseData answer = run(
                    () -> shard.classicGroupHeartbeat(context, HeartbeatRequest.parse(data, version).data()),
                    error -> new HeartbeatResponseData().setErrorCode(error.code()));
                answer(token, answer, version);
            }
            case "LeaveGroup" -> {
                LeaveGroupRequest request = LeaveGroupRequest.parse(data, version);
                LeaveGroupResponseData answer = run(
                    () -> shard.classicGroupLeave(context, request.normalizedData()),
                    error -> refused(request, error));
                answer(token, new LeaveGroupResponse(answer, version).data(), version);
            }
            default -> throw new IllegalArgumentException(api);
        }
    }

    /** As the service around the shard does: what was not answered is. */
    private static <T> Void failed(CompletableFuture<T> future, T answer) {
        future.complete(answer);
        return null;
    }

    /** As the service around the shard does. */
    private static LeaveGroupResponseData refused(LeaveGroupRequest request, Errors error) {
        if (error != Errors.UNKNOWN_MEMBER_ID) {
            return new LeaveGroupResponseData().setErrorCode(error.code());
        }
        return new LeaveGroupResponseData().setMembers(request.normalizedData().members().stream()
            .map(member -> new LeaveGroupResponseData.MemberResponse().setMemberId(member.memberId())
                .setGroupInstanceId(member.groupInstanceId()).setErrorCode(error.code()))
            .toList());
    }

    private void run(Supplier<CoordinatorResult<Void, CoordinatorRecord>> operation) {
        run(operation, error -> null);
    }

    /** Writes and replays what an operation gives, as the runtime around the shard does. */
    private <T> T run(
        Supplier<CoordinatorResult<T, CoordinatorRecord>> operation, java.util.function.Function<Errors, T> failed
    ) {
        snapshots.deleteSnapshotsUpTo(epoch);
        snapshots.idempotentCreateSnapshot(++epoch);
        CoordinatorResult<T, CoordinatorRecord> result;
        try {
            result = operation.get();
        } catch (ApiException | IllegalStateException error) {
            // The runtime logs what is no error of a client's.
            return failed.apply(Errors.forException(error));
        }
        if (refuses && !result.records().isEmpty()) {
            snapshots.revertToSnapshot(epoch);
            if (result.appendFuture() != null) {
                result.appendFuture().completeExceptionally(Errors.COORDINATOR_NOT_AVAILABLE.exception());
            }
            return failed.apply(Errors.COORDINATOR_NOT_AVAILABLE);
        }
        for (CoordinatorRecord record : result.records()) {
            OUT.println("W " + (record.value() == null ? "-" : HEX.formatHex(serde.serializeValue(record))));
            if (result.replayRecords()) {
                shard.replay(0L, -1L, (short) -1, record);
            }
        }
        if (result.appendFuture() != null) {
            result.appendFuture().complete(null);
        }
        return result.response();
    }

    private static void answer(String token, Message answer, short version) {
        OUT.println("A " + token + " " + hex(answer, version));
    }

    private static String hex(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HEX.formatHex(bytes);
    }

    private static RequestContext context(short version) throws Exception {
        return new RequestContext(
            new RequestHeader(ApiKeys.JOIN_GROUP, version, "c", 0), "0", InetAddress.getByName("127.0.0.1"),
            KafkaPrincipal.ANONYMOUS, ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }

    /** The topics that lines tell, none of whose brokers has a rack. */
    private record Topics(Map<String, Topic> byName) implements CoordinatorMetadataImage {
        void add(String name, byte[] id, int partitions) {
            ByteBuffer bits = ByteBuffer.wrap(id);
            byName.put(name, new Topic(name, new Uuid(bits.getLong(), bits.getLong()), partitions));
        }

        @Override
        public Set<Uuid> topicIds() {
            return byName.values().stream().map(Topic::id).collect(java.util.stream.Collectors.toSet());
        }

        @Override
        public Set<String> topicNames() {
            return byName.keySet();
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(String name) {
            return Optional.ofNullable(byName.get(name));
        }

        @Override
        public Optional<TopicMetadata> topicMetadata(Uuid id) {
            return byName.values().stream().filter(topic -> topic.id().equals(id)).map(TopicMetadata.class::cast).findFirst();
        }

        @Override
        public CoordinatorMetadataDelta emptyDelta() {
            return CoordinatorMetadataDelta.EMPTY;
        }

        @Override
        public long version() {
            return 1;
        }

        @Override
        public boolean isEmpty() {
            return byName.isEmpty();
        }
    }

    private record Topic(String name, Uuid id, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        @Override
        public List<String> partitionRacks(int partition) {
            return new java.util.ArrayList<>();
        }
    }

    /** The time that lines tell. */
    private final class ShardTime implements Time {
        @Override
        public long milliseconds() {
            return nowMs;
        }

        @Override
        public long nanoseconds() {
            return nowMs * 1_000_000;
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    /** Timers that run when a line says that time passes. */
    private final class Timers implements CoordinatorTimer<CoordinatorRecord> {
        record Entry(String key, long dueMs, long number, TimeoutOperation<CoordinatorRecord> operation) {
        }

        private final Map<String, Entry> entries = new HashMap<>();
        private long count = 0;

        Entry pop(long untilMs) {
            Entry first = entries.values().stream()
                .min(Comparator.comparingLong(Entry::dueMs).thenComparingLong(Entry::number)).orElse(null);
            return first == null || first.dueMs() > untilMs ? null : entries.remove(first.key());
        }

        @Override
        public void schedule(
            String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation
        ) {
            entries.put(key, new Entry(key, nowMs + unit.toMillis(delay), count++, operation));
        }

        @Override
        public void schedule(
            String key, long delay, TimeUnit unit, boolean retry, long backoff,
            TimeoutOperation<CoordinatorRecord> operation
        ) {
            schedule(key, delay, unit, retry, operation);
        }

        @Override
        public void scheduleIfAbsent(
            String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation
        ) {
            if (!isScheduled(key)) {
                schedule(key, delay, unit, retry, operation);
            }
        }

        @Override
        public void cancel(String key) {
            entries.remove(key);
        }

        @Override
        public boolean isScheduled(String key) {
            return entries.containsKey(key);
        }
    }

    /** Nothing is done elsewhere. */
    private static final class NoExecutor implements CoordinatorExecutor<CoordinatorRecord> {
        @Override
        public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isScheduled(String key) {
            return false;
        }

        @Override
        public void cancel(String key) {
        }
    }

    /** Chance that gives the bytes of the lines to whoever asks for a uuid. */
    public static final class GivenBytes extends SecureRandomSpi {
        @Override
        protected void engineSetSeed(byte[] seed) {
        }

        @Override
        protected void engineNextBytes(byte[] bytes) {
            if (bytes.length == 16 && !IDS.isEmpty()) {
                System.arraycopy(IDS.remove(), 0, bytes, 0, 16);
            }
        }

        @Override
        protected byte[] engineGenerateSeed(int count) {
            return new byte[count];
        }
    }

    /** Makes GivenBytes the chance of this JVM. */
    private static final class Given extends Provider {
        Given() {
            super("given", "1", "bytes of a file");
            put("SecureRandom.GIVEN", GivenBytes.class.getName());
        }
    }
}
