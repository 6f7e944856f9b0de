import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Groups whose members are Kafka's own consumers: classic, consumer (KIP-848) and share groups. */
final class SeedGroups {
    private static final Duration MOMENT = Duration.ofMillis(30);
    private final Seed seed;
    private final Names names;
    /** Consumers that stay members; kept so that nothing closes them. */
    private final List<AutoCloseable> joined = new ArrayList<>();

    SeedGroups(Seed seed) {
        this.seed = seed;
        this.names = seed.names;
    }

    void classicGroups() throws Exception {
        List<String> topics = List.of(names.of("codec-none"), names.of("codec-gzip"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(names.of("classic-empty"), "classic", Map.of())) {
            consumer.subscribe(topics);
            join(List.of(consumer));
            consumer.commitSync(committed(consumer, "left"));
        }
        String group = names.of("classic-joined");
        Map<String, String> session = Map.of("session.timeout.ms", "1800000", "heartbeat.interval.ms", "300");
        List<KafkaConsumer<byte[], byte[]>> members = List.of(
            consumer(group, "classic", with(session, "group.instance.id", names.of("instance"))), consumer(group, "classic", session));
        joined.addAll(members);
        stay(group, members, topics);
        String cooperative = names.of("classic-cooperative-joined");
        KafkaConsumer<byte[], byte[]> sticky = consumer(cooperative, "classic",
            with(session, "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));
        joined.add(sticky);
        stay(cooperative, List.of(sticky), topics);
        Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(
            new TopicPartition(names.of("codec-zstd"), 0), new OffsetAndMetadata(3, Optional.of(0), "by hand"),
            new TopicPartition(names.of("codec-zstd"), 1), new OffsetAndMetadata(1));
        seed.admin.alterConsumerGroupOffsets(names.of("simple"), offsets).all().get();
        seed.admin.alterConsumerGroupOffsets(names.of("simple-deleted"), offsets).all().get();
        seed.admin.deleteConsumerGroups(List.of(names.of("simple-deleted"))).all().get();
    }

    void consumerGroups() throws Exception {
        List<String> topics = List.of(names.of("codec-lz4"), names.of("codec-snappy"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(names.of("consumer-empty"), "consumer", Map.of())) {
            consumer.subscribe(topics);
            join(List.of(consumer));
            consumer.commitSync(committed(consumer, "left"));
        }
        String group = names.of("consumer-joined");
        List<KafkaConsumer<byte[], byte[]>> members = List.of(
            consumer(group, "consumer", Map.of("group.instance.id", names.of("instance"))), consumer(group, "consumer", Map.of("client.rack", "rack-a")));
        joined.addAll(members);
        stay(group, members, topics);
        String regex = names.of("consumer-regex-joined");
        KafkaConsumer<byte[], byte[]> matching = consumer(regex, "consumer", Map.of());
        joined.add(matching);
        matching.subscribe(new SubscriptionPattern("codec-(gzip|zstd)-.*"));
        join(List.of(matching));
        matching.commitSync(committed(matching, "by pattern"));
        awaitStable(regex, List.of(matching));
    }

    void shareGroups() throws Exception {
        for (String group : List.of(names.of("share-empty"), names.of("share-joined"))) {
            seed.admin.incrementalAlterConfigs(Map.of(SeedMetadata.resource(ConfigResource.Type.GROUP, group),
                List.of(SeedMetadata.set("share.auto.offset.reset", "earliest")))).all().get();
        }
        KafkaShareConsumer<byte[], byte[]> stays = share(names.of("share-joined"));
        joined.add(stays);
        KafkaShareConsumer<byte[], byte[]> leaves = share(names.of("share-empty"));
        stays.subscribe(List.of(names.of("codec-none"), names.of("plain")));
        leaves.subscribe(List.of(names.of("codec-gzip")));
        // Both at once: each waits for its own partitions.
        acknowledgeSome(List.of(stays, leaves));
        leaves.close();
        Seed.until("share group without members", () -> seed.admin.describeShareGroups(List.of(names.of("share-empty"))).all().get()
            .get(names.of("share-empty")).groupState() == GroupState.EMPTY);
        seed.admin.alterShareGroupOffsets(names.of("share-by-hand"), Map.of(new TopicPartition(names.of("plain"), 0), 2L)).all().get();
    }

    /** Accepts, releases and rejects the first deliveries, so that delivery state is written. */
    private void acknowledgeSome(List<KafkaShareConsumer<byte[], byte[]>> consumers) throws Exception {
        Map<KafkaShareConsumer<byte[], byte[]>, AtomicInteger> delivered = new HashMap<>();
        consumers.forEach(consumer -> delivered.put(consumer, new AtomicInteger()));
        Seed.until("deliveries to share groups", () -> {
            for (KafkaShareConsumer<byte[], byte[]> consumer : consumers) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(MOMENT)) {
                    int number = delivered.get(consumer).getAndIncrement();
                    consumer.acknowledge(record, number % 10 == 3 ? AcknowledgeType.RELEASE : number % 10 == 6 ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT);
                }
                consumer.commitSync();
            }
            return delivered.values().stream().allMatch(count -> count.get() > 40);
        });
    }

    /** Subscribe all members, wait until each owns partitions and the group is stable, commit, and stay. */
    private void stay(String group, List<KafkaConsumer<byte[], byte[]>> members, List<String> topics) throws Exception {
        members.forEach(member -> member.subscribe(topics));
        join(members);
        awaitStable(group, members);
        for (KafkaConsumer<byte[], byte[]> member : members) {
            member.commitSync(committed(member, "still here"));
        }
    }

    private static void join(List<KafkaConsumer<byte[], byte[]>> members) throws Exception {
        Seed.until("every member owns partitions", () -> {
            members.forEach(member -> member.poll(MOMENT));
            return members.stream().noneMatch(member -> member.assignment().isEmpty());
        });
    }

    private void awaitStable(String group, List<KafkaConsumer<byte[], byte[]>> members) throws Exception {
        Seed.until("stable group " + group, () -> {
            members.forEach(member -> member.poll(MOMENT));
            return seed.admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState() == GroupState.STABLE;
        });
    }

    /** Offsets that depend on the partition alone, whoever owns it. */
    private static Map<TopicPartition, OffsetAndMetadata> committed(KafkaConsumer<byte[], byte[]> consumer, String metadata) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            offsets.put(partition, new OffsetAndMetadata(5L + partition.partition() + partition.topic().length(), Optional.of(0), metadata));
        }
        return offsets;
    }

    private static Map<String, String> with(Map<String, String> settings, String name, String value) {
        Map<String, String> more = new HashMap<>(settings);
        more.put(name, value);
        return more;
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group, String protocol, Map<String, String> settings) {
        Properties properties = seed.client();
        properties.put("group.id", group);
        properties.put("group.protocol", protocol);
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("fetch.max.wait.ms", "20");
        properties.putAll(settings);
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private KafkaShareConsumer<byte[], byte[]> share(String group) {
        Properties properties = seed.client();
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        properties.put("fetch.max.wait.ms", "20");
        return new KafkaShareConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }
}
