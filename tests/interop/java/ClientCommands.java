import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Does what each line of standard input says, a JSON object, with the clients of the release that it runs on, and
 * answers each with a line: {"result": ...} or {"error": CODE, "class": ..., "message": ...}.
 *
 * <p>Every command has "command", "config" (of clients) and "patience_ms"; clients are kept for each config. Bytes are
 * base64.
 */
public final class ClientCommands {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, String> config = new HashMap<>();
    private final int patienceMs;
    private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
    private Admin admin;

    private ClientCommands(JsonNode config, int patienceMs) {
        config.fields().forEachRemaining(entry -> this.config.put(entry.getKey(), entry.getValue().asText()));
        this.patienceMs = patienceMs;
    }

    public static void main(String[] arguments) throws IOException {
        Map<JsonNode, ClientCommands> clients = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                ClientCommands client = clients.computeIfAbsent(command.get("config"),
                    config -> new ClientCommands(config, command.get("patience_ms").asInt()));
                answer.put("result", client.run(command));
            } catch (Exception e) {
                Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
                answer.put("error", Errors.forException(cause).code());
                answer.put("class", cause.getClass().getSimpleName());
                answer.put("message", String.valueOf(cause.getMessage()));
            }
            System.out.println(JSON.writeValueAsString(answer));
            System.out.flush();
        }
    }

    private Object run(JsonNode command) throws Exception {
        switch (command.get("command").asText()) {
            case "create_topic": return createTopic(command);
            case "delete_topic": return done(admin().deleteTopics(List.of(name(command))).all());
            case "topics": return done(admin().listTopics().names());
            case "describe_topic": return describeTopic(command);
            case "create_partitions": return done(admin().createPartitions(
                Map.of(name(command), NewPartitions.increaseTo(command.get("total").asInt()))).all());
            case "set_topic_config": return setTopicConfig(command);
            case "topic_config": return done(admin().describeConfigs(List.of(topicResource(command))).all())
                .get(topicResource(command)).get(command.get("key").asText()).value();
            case "describe_cluster": return describeCluster();
            case "delete_records": return done(admin().deleteRecords(Map.of(where(command),
                RecordsToDelete.beforeOffset(command.get("before").asLong()))).lowWatermarks().get(where(command)))
                .lowWatermark();
            case "create_acl": return createAcl(command);
            case "acls": return acls(command);
            case "delete_acls": return done(admin().deleteAcls(List.of(aclFilter(command))).all()).size();
            case "produce": return produce(command);
            case "consume": return consume(command);
            case "offset": return offset(command);
            case "close": return close();
            default: throw new IllegalArgumentException("no such command: " + command.get("command"));
        }
    }

    private Object createTopic(JsonNode command) throws Exception {
        Map<String, String> configs = new HashMap<>();
        command.get("configs").fields().forEachRemaining(one -> configs.put(one.getKey(), one.getValue().asText()));
        NewTopic topic = new NewTopic(name(command), Optional.of(command.get("partitions").asInt()),
            Optional.of((short) command.get("replicas").asInt())).configs(configs);
        return done(admin().createTopics(List.of(topic)).all());
    }

    private Object describeTopic(JsonNode command) throws Exception {
        List<Map<String, Object>> partitions = new ArrayList<>();
        for (TopicPartitionInfo info :
                done(admin().describeTopics(List.of(name(command))).allTopicNames()).get(name(command)).partitions()) {
            partitions.add(Map.of("partition", info.partition(), "leader", info.leader() == null ? -1 : info.leader().id(),
                "replicas", info.replicas().stream().map(Node::id).toList(),
                "isr", info.isr().stream().map(Node::id).toList()));
        }
        return partitions;
    }

    private Object setTopicConfig(JsonNode command) throws Exception {
        ConfigEntry entry = new ConfigEntry(command.get("key").asText(), command.get("value").asText());
        return done(admin().incrementalAlterConfigs(
            Map.of(topicResource(command), List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET)))).all());
    }

    private Object describeCluster() throws Exception {
        var told = admin().describeCluster();
        return Map.of("cluster_id", done(told.clusterId()), "nodes", done(told.nodes()).stream().map(Node::id).toList());
    }

    private Object createAcl(JsonNode command) throws Exception {
        ResourcePattern topic = new ResourcePattern(ResourceType.TOPIC, command.get("topic").asText(), PatternType.LITERAL);
        AccessControlEntry entry = new AccessControlEntry(command.get("principal").asText(), "*",
            AclOperation.valueOf(command.get("operation").asText()),
            AclPermissionType.valueOf(command.get("permission").asText()));
        return done(admin().createAcls(List.of(new AclBinding(topic, entry))).all());
    }

    private Object acls(JsonNode command) throws Exception {
        List<Map<String, String>> found = new ArrayList<>();
        for (AclBinding acl : done(admin().describeAcls(aclFilter(command)).values())) {
            found.add(Map.of("principal", acl.entry().principal(), "operation", acl.entry().operation().name(),
                "permission", acl.entry().permissionType().name()));
        }
        return found;
    }

    private Object produce(JsonNode command) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer(command.get("codec").asText());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode record : command.get("records")) {
            List<Header> headers = new ArrayList<>();
            for (JsonNode header : record.get("headers")) {
                headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
            }
            sent.add(producer.send(new ProducerRecord<>(command.get("topic").asText(), record.get("partition").asInt(),
                record.get("timestamp").asLong(), bytes(record.get("key")), bytes(record.get("value")), headers)));
        }
        List<Long> offsets = new ArrayList<>();
        for (Future<RecordMetadata> one : sent) {
            offsets.add(done(one).offset());
        }
        return offsets;
    }

    private Object consume(JsonNode command) {
        TopicPartition where = where(command);
        List<Map<String, Object>> found = new ArrayList<>();
        int count = command.get("count").asInt();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer()) {
            consumer.assign(List.of(where));
            consumer.seek(where, command.get("offset").asLong());
            while (found.size() < count) {
                List<ConsumerRecord<byte[], byte[]>> polled =
                    consumer.poll(Duration.ofMillis(patienceMs)).records(where);
                if (polled.isEmpty()) {
                    throw new org.apache.kafka.common.errors.TimeoutException(found.size() + " of " + count);
                }
                polled.stream().limit(count - found.size()).forEach(record -> found.add(received(record)));
            }
        }
        return found;
    }

    private Object offset(JsonNode command) throws Exception {
        TopicPartition where = where(command);
        long timestamp = command.get("timestamp").asLong();
        OffsetSpec spec = timestamp == -2 ? OffsetSpec.earliest()
            : timestamp == -1 ? OffsetSpec.latest() : OffsetSpec.forTimestamp(timestamp);
        return done(admin().listOffsets(Map.of(where, spec)).all()).get(where).offset();
    }

    private Object close() {
        producers.values().forEach(one -> one.close(Duration.ofSeconds(1)));
        producers.clear();
        if (admin != null) {
            admin.close(Duration.ofSeconds(1));
            admin = null;
        }
        return null;
    }

    private Admin admin() {
        if (admin == null) {
            Map<String, Object> all = new HashMap<>(config);
            all.put("default.api.timeout.ms", String.valueOf(patienceMs));
            all.put("request.timeout.ms", String.valueOf(Math.min(patienceMs, 30_000)));
            admin = Admin.create(all);
        }
        return admin;
    }

    private KafkaProducer<byte[], byte[]> producer(String codec) {
        return producers.computeIfAbsent(codec, name -> {
            Map<String, Object> all = new HashMap<>(config);
            all.putAll(Map.of("acks", "all", "enable.idempotence", "true", "compression.type", name, "linger.ms", "20",
                "max.block.ms", String.valueOf(patienceMs)));
            return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
        });
    }

    private KafkaConsumer<byte[], byte[]> consumer() {
        Map<String, Object> all = new HashMap<>(config);
        all.putAll(Map.of("enable.auto.commit", "false", "auto.offset.reset", "none"));
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static Map<String, Object> received(ConsumerRecord<byte[], byte[]> record) {
        List<List<String>> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<String> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(text(header.value()));
            headers.add(pair);
        }
        Map<String, Object> told = new HashMap<>();
        told.put("offset", record.offset());
        told.put("timestamp", record.timestamp());
        told.put("key", text(record.key()));
        told.put("value", text(record.value()));
        told.put("headers", headers);
        return told;
    }

    private <T> T done(Future<T> future) throws Exception {
        return future.get(patienceMs + 5_000L, TimeUnit.MILLISECONDS);
    }

    private static String name(JsonNode command) {
        return command.get("name").asText();
    }

    private static ConfigResource topicResource(JsonNode command) {
        return new ConfigResource(ConfigResource.Type.TOPIC, name(command));
    }

    private static TopicPartition where(JsonNode command) {
        return new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
    }

    private static AclBindingFilter aclFilter(JsonNode command) {
        return new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.TOPIC, command.get("topic").asText(), PatternType.LITERAL),
            AccessControlEntryFilter.ANY);
    }

    private static byte[] bytes(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
