import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces numbered records to all partitions of a topic with acks=all until its standard input ends, then reads
 * everything back.
 *
 * <pre>
 *   Load --bootstrap SERVERS --topic NAME [--codec NAME]
 * </pre>
 *
 * Prints the count of records acked so far a few times a second, one line each, and at the end one JSON document:
 * how many were acked, which of these are missing, how many failed and why, and the longest time without an ack.
 */
public final class Load {
    private static final int PAUSE_MS = 2;
    private static final int TELL_MS = 200;

    private final Arguments arguments;
    private final BitSet acked = new BitSet();
    private final Map<String, Integer> failures = new TreeMap<>();
    private long lastAckMs = System.currentTimeMillis();
    private long longestPauseMs;
    private volatile boolean isOver;

    private Load(Arguments arguments) {
        this.arguments = arguments;
    }

    public static void main(String[] arguments) throws Exception {
        new Load(new Arguments(arguments, Set.of("bootstrap", "topic", "codec"), Set.of())).run();
    }

    private void run() throws Exception {
        Thread waiting = new Thread(this::awaitEnd);
        waiting.setDaemon(true);
        waiting.start();
        produce();
        Map<String, Object> document = new TreeMap<>();
        document.put("acked", acked.cardinality());
        document.put("failures", failures);
        document.put("longest_pause_ms", longestPauseMs);
        document.put("missing", missing());
        System.out.println(new ObjectMapper().writeValueAsString(document));
    }

    private void awaitEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (java.io.IOException e) {
            // The reader is gone: the end as well.
        }
        isOver = true;
    }

    private void produce() throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments.get("bootstrap", ""));
        properties.put("acks", "all");
        properties.put("linger.ms", "5");
        properties.put("compression.type", arguments.get("codec", "none"));
        properties.put("metadata.max.age.ms", "5000");
        try (KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            String topic = arguments.get("topic", "");
            int partitions = producer.partitionsFor(topic).size();
            long toldMs = 0;
            for (int number = 0; !isOver; number++) {
                int sent = number;
                byte[] value = ByteBuffer.allocate(4).putInt(sent).array();
                producer.send(new ProducerRecord<>(topic, sent % partitions, null, value),
                    (metadata, error) -> answered(sent, error));
                Thread.sleep(PAUSE_MS);
                if (System.currentTimeMillis() - toldMs > TELL_MS) {
                    toldMs = System.currentTimeMillis();
                    tell();
                }
            }
        }
    }

    private synchronized void tell() {
        System.out.println(acked.cardinality());
        System.out.flush();
    }

    private synchronized void answered(int number, Exception error) {
        if (error != null) {
            failures.merge(error.toString(), 1, Integer::sum);
            return;
        }
        acked.set(number);
        long now = System.currentTimeMillis();
        longestPauseMs = Math.max(longestPauseMs, now - lastAckMs);
        lastAckMs = now;
    }

    private List<Integer> missing() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments.get("bootstrap", ""));
        properties.put("auto.offset.reset", "earliest");
        Set<Integer> found = new HashSet<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(arguments.get("topic", ""))) {
                partitions.add(new TopicPartition(info.topic(), info.partition()));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    found.add(ByteBuffer.wrap(record.value()).getInt());
                }
            }
        }
        return acked.stream().filter(number -> !found.contains(number)).boxed().toList();
    }
}
