import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Messages: every codec, idempotent or not, transactional; headers, nulls and empty fields among them. */
final class SeedData {
    /** Recent, because brokers forget the producers of old messages when they start. */
    private static final long FIRST_TIMESTAMP_MS = System.currentTimeMillis() - 3_600_000L;
    private final Seed seed;
    private final Names names;

    SeedData(Seed seed) {
        this.seed = seed;
        this.names = seed.names;
    }

    void messages() throws Exception {
        for (String codec : SeedMetadata.CODECS) {
            try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("compression.type", codec))) {
                fill(producer, "codec-" + codec, 2, seed.messages);
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            fill(producer, "plain", 3, seed.messages);
            fill(producer, "replicated", 4, seed.messages);
            fill(producer, "compacted", 2, seed.messages);
            fill(producer, "configured", 2, seed.messages / 2);
            fill(producer, "append-time", 1, seed.messages / 2);
            fill(producer, "dotted.name_with", 1, 5);
            fill(producer, "grown", 3, seed.messages / 4);
            fill(producer, "shortened", 1, 20);
            if (seed.brokers.size() >= 3) {
                fill(producer, "pair", 1, seed.messages / 4);
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of("enable.idempotence", "false", "acks", "1"))) {
            fill(producer, "plain", 3, seed.messages / 2);
        }
        TopicPartition shortened = new TopicPartition(names.of("shortened"), 0);
        seed.admin.deleteRecords(Map.of(shortened, RecordsToDelete.beforeOffset(7))).all().get();
    }

    /** More than two segments of bytes that do not compress, so that there are closed segments. */
    void segments() throws Exception {
        Random random = names.random("segments");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            for (int i = 0; i < 25; i++) {
                byte[] value = new byte[100_000];
                random.nextBytes(value);
                sent.add(producer.send(new ProducerRecord<>(names.of("segmented"), 0, FIRST_TIMESTAMP_MS + i, null, value)));
            }
            confirm(producer, sent);
        }
    }

    void transactions() throws Exception {
        String topic = names.of("transactions");
        try (KafkaProducer<byte[], byte[]> producer = transactional(names.of("txn-a"))) {
            producer.initTransactions();
            for (int round = 0; round < 4; round++) {
                producer.beginTransaction();
                fill(producer, "transactions", 2, 6);
                if (round == 2) {
                    Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(new TopicPartition(topic, 1), new OffsetAndMetadata(3, "in a transaction"));
                    producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(names.of("transactional-offsets")));
                }
                if (round % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = transactional(names.of("txn-aborted"))) {
            producer.initTransactions();
            producer.beginTransaction();
            fill(producer, "transactions", 2, 4);
            producer.abortTransaction();
        }
        try (KafkaProducer<byte[], byte[]> producer = transactional(names.of("txn-unused"))) {
            producer.initTransactions();
        }
    }

    /** A transaction that is open when the program ends; its time-out is the longest that brokers allow, a quarter of an hour. */
    void openTransaction() throws Exception {
        KafkaProducer<byte[], byte[]> producer = transactional(names.of("txn-open"));
        producer.initTransactions();
        producer.beginTransaction();
        fill(producer, "transactions", 2, 4);
    }

    /** What goes on in a cluster that was seeded before: more messages and transactions, first messages deleted, offsets moved on, a topic less, a config more. */
    void later() throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = producer(Map.of())) {
            fill(producer, "plain", 3, seed.messages);
            fill(producer, "replicated", 4, seed.messages);
            fill(producer, "codec-gzip", 2, seed.messages);
        }
        try (KafkaProducer<byte[], byte[]> producer = transactional(names.of("txn-a"))) {
            producer.initTransactions();
            producer.beginTransaction();
            fill(producer, "transactions", 2, 6);
            producer.commitTransaction();
            producer.beginTransaction();
            fill(producer, "transactions", 2, 6);
            producer.abortTransaction();
        }
        // Closed segments go, and first offsets move within active ones.
        seed.admin.deleteRecords(Map.of(
            new TopicPartition(names.of("segmented"), 0), RecordsToDelete.beforeOffset(15),
            new TopicPartition(names.of("plain"), 0), RecordsToDelete.beforeOffset(10),
            new TopicPartition(names.of("shortened"), 0), RecordsToDelete.beforeOffset(12))).all().get();
        seed.admin.alterConsumerGroupOffsets(names.of("simple"), Map.of(new TopicPartition(names.of("codec-zstd"), 0), new OffsetAndMetadata(7, "moved on"))).all().get();
        seed.admin.deleteTopics(List.of(names.of("grown"))).all().get();
        seed.admin.incrementalAlterConfigs(Map.of(SeedMetadata.resource(ConfigResource.Type.TOPIC, names.of("plain")),
            List.of(SeedMetadata.set("flush.messages", "77")))).all().get();
    }

    private void fill(KafkaProducer<byte[], byte[]> producer, String kind, int partitions, int count) throws Exception {
        Random random = names.random("messages of " + kind);
        boolean compacted = kind.equals("compacted") || kind.equals("configured");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] key = compacted ? bytes("key-" + i % 17) : i % 7 == 3 ? null : i % 7 == 4 ? new byte[0] : bytes("key-" + i);
            byte[] value = i % 11 == 5 ? null : i % 11 == 6 ? new byte[0] : text(random);
            Headers headers = new RecordHeaders();
            for (int h = 0; h < i % 4; h++) {
                headers.add("h\u00e9ader-" + h, h == 2 ? null : bytes("value-" + h));
            }
            long timestamp = FIRST_TIMESTAMP_MS + i * 1000L + random.nextInt(1000);
            sent.add(producer.send(new ProducerRecord<>(names.of(kind), i % partitions, timestamp, key, value, headers)));
        }
        confirm(producer, sent);
    }

    private static void confirm(KafkaProducer<byte[], byte[]> producer, List<Future<RecordMetadata>> sent) throws Exception {
        producer.flush();
        for (Future<RecordMetadata> one : sent) {
            one.get();
        }
    }

    private static byte[] text(Random random) {
        return bytes("message " + random.nextInt(1000) + " of many words, ".repeat(random.nextInt(8)));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private KafkaProducer<byte[], byte[]> transactional(String id) {
        return producer(Map.of("transactional.id", id, "transaction.timeout.ms", "900000"));
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, String> settings) {
        Properties properties = seed.client();
        properties.putAll(settings);
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
