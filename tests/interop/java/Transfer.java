import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Moves records from one topic to another, exactly once (KIP-447), until it is killed.
 *
 * <pre>
 *   Transfer --bootstrap SERVERS --source TOPIC --target TOPIC --name NAME [--group NAME] [--pause MS] [--session MS]
 * </pre>
 *
 * The name is its transactional id, and its group unless that is given. After any error it ends; whoever runs it starts
 * it again, and the next one fences this one's transaction. Some transactions are aborted, and their records read again.
 */
public final class Transfer {
    private static final int ABORTS_OF_100 = 4;

    public static void main(String[] words) {
        Arguments arguments = new Arguments(words, Set.of("bootstrap", "source", "target", "name", "group", "pause", "session"), Set.of());
        String name = arguments.get("name", "transfer");
        int pauseMs = Integer.parseInt(arguments.get("pause", "0"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(arguments, name);
                KafkaProducer<byte[], byte[]> producer = producer(arguments, name)) {
            producer.initTransactions();
            consumer.subscribe(List.of(arguments.get("source", "")));
            Random random = new Random();
            while (true) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(500));
                if (!records.isEmpty()) {
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    for (ConsumerRecord<byte[], byte[]> each : records) {
                        producer.send(new ProducerRecord<>(arguments.get("target", ""), each.key(), each.value()));
                        offsets.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                    if (random.nextInt(100) < ABORTS_OF_100) {
                        producer.abortTransaction();
                        for (TopicPartition partition : records.partitions()) {
                            consumer.seek(partition, records.records(partition).get(0).offset());
                        }
                    } else {
                        pause(pauseMs);
                        producer.commitTransaction();
                    }
                }
            }
        } catch (RuntimeException error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void pause(int pauseMs) {
        try {
            Thread.sleep(pauseMs);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Arguments arguments, String name) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments.get("bootstrap", ""));
        properties.put("group.id", arguments.get("group", name));
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("isolation.level", "read_committed");
        properties.put("session.timeout.ms", arguments.get("session", "6000"));
        properties.put("heartbeat.interval.ms", "1000");
        properties.put("max.poll.records", "20");
        return new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static KafkaProducer<byte[], byte[]> producer(Arguments arguments, String name) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments.get("bootstrap", ""));
        properties.put("transactional.id", name);
        properties.put("transaction.timeout.ms", "10000");
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private Transfer() {}
}
