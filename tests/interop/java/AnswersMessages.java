import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.DescribeProducersResult;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** What lives in the logs of topics that are not Kafka's own. */
final class AnswersMessages {
    private final Answers answers;

    AnswersMessages(Answers answers) {
        this.answers = answers;
    }

    /** Per partition: first offset, end for readers of everything, end for readers of committed messages. */
    Object offsets() throws Exception {
        Map<TopicPartition, Long> earliest = ask(OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED);
        Map<TopicPartition, Long> latest = ask(OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
        Map<TopicPartition, Long> stable = ask(OffsetSpec.latest(), IsolationLevel.READ_COMMITTED);
        Map<String, Object> answer = new TreeMap<>();
        for (TopicPartition partition : answers.readable) {
            answer.put(partition.toString(), Map.of("earliest", earliest.get(partition), "latest", latest.get(partition),
                "latest_committed", stable.get(partition)));
        }
        return answer;
    }

    private Map<TopicPartition, Long> ask(OffsetSpec spec, IsolationLevel isolation) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        answers.readable.forEach(partition -> asked.put(partition, spec));
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (Map.Entry<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> one :
                answers.admin.listOffsets(asked, new ListOffsetsOptions(isolation)).all().get().entrySet()) {
            offsets.put(one.getKey(), one.getValue().offset());
        }
        return offsets;
    }

    /** Per partition and isolation level: how many messages, and the SHA-256 over all that a consumer sees of them. */
    Object messages() throws Exception {
        Map<String, Map<String, Object>> answer = new TreeMap<>();
        answers.readable.forEach(partition -> answer.put(partition.toString(), new TreeMap<>()));
        read("read_uncommitted", answer);
        read("read_committed", answer);
        return answer;
    }

    private static final class Digest {
        final MessageDigest sha256;
        long count;

        Digest() throws Exception {
            sha256 = MessageDigest.getInstance("SHA-256");
        }
    }

    private void read(String isolation, Map<String, Map<String, Object>> answer) throws Exception {
        Map<TopicPartition, Digest> digests = new HashMap<>();
        for (TopicPartition partition : answers.readable) {
            digests.put(partition, new Digest());
        }
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
            Map<TopicPartition, Long> ends = consumer.endOffsets(answers.readable);
            Set<TopicPartition> unfinished = new HashSet<>();
            Map<TopicPartition, Long> starts = consumer.beginningOffsets(answers.readable);
            ends.forEach((partition, end) -> {
                if (starts.get(partition) < end) {
                    unfinished.add(partition);
                }
            });
            consumer.assign(unfinished);
            consumer.seekToBeginning(unfinished);
            long deadline = System.nanoTime() + 90_000_000_000L;
            while (!unfinished.isEmpty()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                    add(digests.get(new TopicPartition(record.topic(), record.partition())), record);
                }
                // The position also moves over control batches and aborted messages, which are not delivered.
                List<TopicPartition> done = unfinished.stream().filter(partition -> consumer.position(partition) >= ends.get(partition)).toList();
                if (!done.isEmpty()) {
                    done.forEach(unfinished::remove);
                    consumer.pause(done);
                }
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("not read to the end in time: " + unfinished);
                }
            }
        }
        digests.forEach((partition, digest) -> answer.get(partition.toString()).put(isolation,
            Map.of("count", digest.count, "sha256", HexFormat.of().formatHex(digest.sha256.digest()))));
    }

    private static void add(Digest digest, ConsumerRecord<byte[], byte[]> record) {
        digest.count++;
        digest.sha256.update(ByteBuffer.allocate(16).putLong(record.offset()).putLong(record.timestamp()).array());
        digest.sha256.update(record.timestampType().name.getBytes(StandardCharsets.UTF_8));
        add(digest, record.key());
        add(digest, record.value());
        for (Header header : record.headers()) {
            add(digest, header.key().getBytes(StandardCharsets.UTF_8));
            add(digest, header.value());
        }
        digest.sha256.update((byte) '.');
    }

    /** With its length before it, so that no two different messages give the same bytes. */
    private static void add(Digest digest, byte[] bytes) {
        digest.sha256.update(ByteBuffer.allocate(4).putInt(bytes == null ? -1 : bytes.length).array());
        if (bytes != null) {
            digest.sha256.update(bytes);
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(String isolation) {
        Properties properties = answers.client();
        properties.put("isolation.level", isolation);
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "none");
        properties.put("fetch.max.wait.ms", "10");
        properties.put("max.poll.records", "100000");
        properties.put("max.partition.fetch.bytes", "16777216");
        properties.put("check.crcs", "true");
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Per partition: the producers whose sequence numbers the leader remembers. */
    Object producers() throws Exception {
        Map<String, Object> answer = new TreeMap<>();
        DescribeProducersResult result = answers.admin.describeProducers(answers.readable);
        for (TopicPartition partition : answers.readable) {
            Map<String, Object> states = new TreeMap<>();
            for (ProducerState state : result.partitionResult(partition).get().activeProducers()) {
                states.put(String.valueOf(state.producerId()), Map.of("epoch", state.producerEpoch(), "last_sequence", state.lastSequence()));
            }
            answer.put(partition.toString(), states);
        }
        return answer;
    }
}
