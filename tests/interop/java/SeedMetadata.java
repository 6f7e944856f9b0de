import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What lives in the metadata log: topics, configs, ACLs, users, quotas. */
final class SeedMetadata {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private final Seed seed;
    private final Names names;

    SeedMetadata(Seed seed) {
        this.seed = seed;
        this.names = seed.names;
    }

    void topics() throws Exception {
        int all = Math.min(3, seed.brokers.size());
        List<NewTopic> topics = new ArrayList<>();
        for (String codec : CODECS) {
            topics.add(topic("codec-" + codec, 2, 1, Map.of()));
        }
        topics.add(topic("plain", 3, 1, Map.of()));
        topics.add(topic("empty", 5, 1, Map.of()));
        topics.add(topic("dotted.name_with", 1, 1, Map.of()));
        topics.add(topic("compacted", 2, 1, Map.of("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.9")));
        topics.add(topic("segmented", 1, 1, Map.of("segment.bytes", "1048576", "retention.ms", "-1")));
        topics.add(topic("configured", 2, 1, Map.of("cleanup.policy", "compact,delete", "retention.ms", "86400000000",
            "segment.ms", "604800001", "flush.messages", "1000", "unclean.leader.election.enable", "true")));
        topics.add(topic("append-time", 1, 1, Map.of("message.timestamp.type", "LogAppendTime")));
        topics.add(topic("transactions", 2, 1, Map.of()));
        topics.add(topic("replicated", 4, all, Map.of("min.insync.replicas", String.valueOf(Math.min(2, all)))));
        topics.add(topic("grown", 1, 1, Map.of()));
        // Replicated, because a broker that is killed may forget the new first offset, and ask its leader.
        topics.add(topic("shortened", 1, all, Map.of()));
        topics.add(topic("deleted-a", 2, 1, Map.of("retention.ms", "12345678")));
        topics.add(topic("deleted-b", 1, all, Map.of()));
        if (seed.brokers.size() >= 3) {
            // On the last two brokers alone: when both are gone, the partition has no in-sync replica left.
            List<Integer> last = seed.brokers.subList(seed.brokers.size() - 2, seed.brokers.size());
            topics.add(new NewTopic(names.of("pair"), Map.of(0, last)).configs(Map.of("min.insync.replicas", "2")));
        }
        seed.admin.createTopics(topics).all().get();
        List<String> made = topics.stream().map(NewTopic::name).toList();
        awaitTopics(made);
        seed.admin.createPartitions(Map.of(names.of("grown"), NewPartitions.increaseTo(3))).all().get();
        seed.admin.deleteTopics(List.of(names.of("deleted-a"), names.of("deleted-b"))).all().get();
        Seed.until("partitions added", () -> seed.admin.describeTopics(List.of(names.of("grown"))).allTopicNames().get()
            .get(names.of("grown")).partitions().size() == 3);
    }

    /** Topics that only make the image larger. */
    void filler(int count, int partitions) throws Exception {
        int batch = Math.max(1, 2000 / partitions);
        for (int first = 0; first < count; first += batch) {
            List<NewTopic> topics = new ArrayList<>();
            for (int i = first; i < Math.min(count, first + batch); i++) {
                topics.add(topic("filler-" + i, partitions, 1, i % 5 == 0 ? Map.of("retention.ms", "" + (i + 1) * 60_000L) : Map.of()));
            }
            seed.admin.createTopics(topics).all().get();
        }
    }

    void configs() throws Exception {
        String broker = String.valueOf(seed.brokers.get(0));
        Random random = names.random("configs");
        Map<ConfigResource, Collection<AlterConfigOp>> first = new HashMap<>();
        first.put(resource(ConfigResource.Type.TOPIC, names.of("plain")),
            List.of(set("retention.bytes", "" + (1_000_000_000L + random.nextInt(1000))), set("flush.ms", "9000"), set("max.message.bytes", "2000000")));
        first.put(resource(ConfigResource.Type.BROKER, broker), List.of(set("log.cleaner.threads", "2"), set("num.io.threads", "9")));
        first.put(resource(ConfigResource.Type.BROKER, ""), List.of(set("message.max.bytes", "" + (2_097_152 + random.nextInt(1000))), set("background.threads", "9")));
        first.put(resource(ConfigResource.Type.CLIENT_METRICS, names.of("metrics")),
            List.of(set("interval.ms", "" + (10_000 + random.nextInt(1000))), set("metrics", "org.apache.kafka.producer."), set("match", "client_id=.*")));
        if (seed.metadataLevel() >= Seed.LEVEL_4_0) {
            first.put(resource(ConfigResource.Type.GROUP, names.of("group-with-config")), List.of(set("consumer.heartbeat.interval.ms", "5000")));
            first.put(resource(ConfigResource.Type.GROUP, names.of("consumer-joined")), List.of(set("consumer.heartbeat.interval.ms", "400")));
        }
        if (seed.features.getOrDefault("streams.version", 0) > 0) {
            first.put(resource(ConfigResource.Type.GROUP, names.of("streams-joined")), List.of(set("streams.num.standby.replicas", "1")));
        }
        // Not num.network.threads: fewer of them closes connections of other steps.
        alter(first);
        alter(Map.of(resource(ConfigResource.Type.TOPIC, names.of("plain")),
            List.of(new AlterConfigOp(new ConfigEntry("flush.ms", ""), AlterConfigOp.OpType.DELETE), set("preallocate", "false")),
            resource(ConfigResource.Type.TOPIC, names.of("empty")),
            List.of(new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND))));
        alter(Map.of(resource(ConfigResource.Type.BROKER, ""),
            List.of(new AlterConfigOp(new ConfigEntry("background.threads", ""), AlterConfigOp.OpType.DELETE))));
    }

    void acls() throws Exception {
        List<AclBinding> bindings = new ArrayList<>();
        Map<ResourceType, AclOperation> operations = new LinkedHashMap<>();
        operations.put(ResourceType.TOPIC, AclOperation.READ);
        operations.put(ResourceType.GROUP, AclOperation.READ);
        operations.put(ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE);
        operations.put(ResourceType.DELEGATION_TOKEN, AclOperation.DESCRIBE);
        operations.put(ResourceType.USER, AclOperation.DESCRIBE_TOKENS);
        for (Map.Entry<ResourceType, AclOperation> of : operations.entrySet()) {
            String kind = of.getKey().name().toLowerCase();
            bindings.add(acl(of.getKey(), names.of(kind), PatternType.LITERAL, "reader", "*", of.getValue(), AclPermissionType.ALLOW));
            bindings.add(acl(of.getKey(), names.of(kind), PatternType.LITERAL, "banned", "10.1.2.3", of.getValue(), AclPermissionType.DENY));
            bindings.add(acl(of.getKey(), names.of(kind).substring(0, kind.length() + 2), PatternType.PREFIXED, "team", "10.9.8.7", of.getValue(), AclPermissionType.ALLOW));
            bindings.add(acl(of.getKey(), "*", PatternType.LITERAL, "everywhere", "*", of.getValue(), AclPermissionType.DENY));
        }
        bindings.add(acl(ResourceType.TOPIC, names.of("topic"), PatternType.LITERAL, "admin", "*", AclOperation.ALL, AclPermissionType.ALLOW));
        bindings.add(acl(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, "admin", "*", AclOperation.ALTER, AclPermissionType.ALLOW));
        bindings.add(acl(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, "banned", "*", AclOperation.IDEMPOTENT_WRITE, AclPermissionType.DENY));
        if (seed.metadataLevel() >= Seed.LEVEL_CIDR) {
            bindings.add(acl(ResourceType.TOPIC, names.of("topic"), PatternType.LITERAL, "network", "10.3.0.0/16", AclOperation.READ, AclPermissionType.ALLOW));
            bindings.add(acl(ResourceType.GROUP, names.of("group"), PatternType.LITERAL, "network", "10.4.0.0/16", AclOperation.READ, AclPermissionType.DENY));
        }
        AclBinding removed = acl(ResourceType.TOPIC, names.of("removed"), PatternType.LITERAL, "gone", "*", AclOperation.READ, AclPermissionType.ALLOW);
        bindings.add(removed);
        seed.admin.createAcls(bindings).all().get();
        seed.admin.deleteAcls(List.of(removed.toFilter())).all().get();
    }

    void scram() throws Exception {
        List<UserScramCredentialAlteration> users = new ArrayList<>();
        users.add(user(names.of("alice"), ScramMechanism.SCRAM_SHA_256, 4096));
        users.add(user(names.of("bob"), ScramMechanism.SCRAM_SHA_512, 8192));
        users.add(user(names.of("\u043a\u043b\u044e\u0447"), ScramMechanism.SCRAM_SHA_256, 5000));
        users.add(user(names.of("dropped"), ScramMechanism.SCRAM_SHA_256, 4096));
        seed.admin.alterUserScramCredentials(users).all().get();
        // One request may alter a user once only.
        seed.admin.alterUserScramCredentials(List.of(user(names.of("alice"), ScramMechanism.SCRAM_SHA_512, 4100))).all().get();
        Seed.until("users known", () -> seed.admin.describeUserScramCredentials().users().get().contains(names.of("dropped")));
        seed.admin.alterUserScramCredentials(List.of(new UserScramCredentialDeletion(names.of("dropped"), ScramMechanism.SCRAM_SHA_256))).all().get();
    }

    void quotas() throws Exception {
        String user = names.of("alice");
        String client = names.of("client");
        List<ClientQuotaAlteration> quotas = new ArrayList<>();
        quotas.add(quota(Map.of("user", user), Map.of("producer_byte_rate", 1_000_000.0, "consumer_byte_rate", 2_000_000.0)));
        quotas.add(quota(Map.of("client-id", client), Map.of("request_percentage", 75.25)));
        quotas.add(quota(Map.of("user", user, "client-id", client), Map.of("producer_byte_rate", 123_456.0)));
        quotas.add(quota(named("user", null), Map.of("controller_mutation_rate", 50.5)));
        quotas.add(quota(named("client-id", null), Map.of("consumer_byte_rate", 1.0e9)));
        Map<String, String> both = named("user", null);
        both.put("client-id", null);
        quotas.add(quota(both, Map.of("producer_byte_rate", 9.0e9)));
        quotas.add(quota(Map.of("ip", "10.0.0.83"), Map.of("connection_creation_rate", 43.0)));
        quotas.add(quota(named("ip", null), Map.of("connection_creation_rate", 1000.0)));
        seed.admin.alterClientQuotas(quotas).all().get();
    }

    private NewTopic topic(String kind, int partitions, int replicas, Map<String, String> configs) {
        return new NewTopic(names.of(kind), Optional.of(partitions), Optional.of((short) replicas)).configs(configs);
    }

    private void awaitTopics(List<String> topics) throws Exception {
        Seed.until("all topics known with leaders", () -> {
            try {
                return seed.admin.describeTopics(topics).allTopicNames().get().values().stream()
                    .allMatch(topic -> topic.partitions().stream().allMatch(partition -> partition.leader() != null));
            } catch (java.util.concurrent.ExecutionException unknown) {
                return false;
            }
        });
    }

    private void alter(Map<ConfigResource, Collection<AlterConfigOp>> changes) throws Exception {
        seed.admin.incrementalAlterConfigs(changes).all().get();
    }

    static ConfigResource resource(ConfigResource.Type type, String name) {
        return new ConfigResource(type, name);
    }

    static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    private AclBinding acl(ResourceType type, String resource, PatternType pattern, String who, String host, AclOperation operation, AclPermissionType permission) {
        return new AclBinding(new ResourcePattern(type, resource, pattern), new AccessControlEntry("User:" + names.of(who), host, operation, permission));
    }

    private static UserScramCredentialUpsertion user(String user, ScramMechanism mechanism, int iterations) {
        return new UserScramCredentialUpsertion(user, new ScramCredentialInfo(mechanism, iterations), Names.password(user));
    }

    /** A map that may hold null, which stands for the default entity. */
    private static Map<String, String> named(String type, String name) {
        Map<String, String> entity = new HashMap<>();
        entity.put(type, name);
        return entity;
    }

    private static ClientQuotaAlteration quota(Map<String, String> entity, Map<String, Double> limits) {
        List<ClientQuotaAlteration.Op> changes = new ArrayList<>();
        limits.forEach((key, value) -> changes.add(new ClientQuotaAlteration.Op(key, value)));
        return new ClientQuotaAlteration(new ClientQuotaEntity(entity), changes);
    }
}
