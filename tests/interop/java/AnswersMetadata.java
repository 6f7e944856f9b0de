import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.UserScramCredentialsDescription;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/** What lives in the metadata log. */
final class AnswersMetadata {
    /** Where a value comes from that was set on a resource of a type; it may also be inherited from another one. */
    private static final Map<ConfigResource.Type, ConfigEntry.ConfigSource> SET_THERE = Map.of(
        ConfigResource.Type.TOPIC, ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigResource.Type.BROKER, ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG,
        ConfigResource.Type.CLIENT_METRICS, ConfigEntry.ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
        ConfigResource.Type.GROUP, ConfigEntry.ConfigSource.DYNAMIC_GROUP_CONFIG);
    private final Answers answers;
    private final Admin admin;

    AnswersMetadata(Answers answers) {
        this.answers = answers;
        this.admin = answers.admin;
    }

    Object features() throws Exception {
        Map<String, Object> levels = new TreeMap<>();
        for (Map.Entry<String, FinalizedVersionRange> feature : admin.describeFeatures().featureMetadata().get().finalizedFeatures().entrySet()) {
            levels.put(feature.getKey(), feature.getValue().maxVersionLevel());
        }
        return levels;
    }

    /** Per resource ("topic:x", "broker:1", "broker:" for the cluster's default, "client_metrics:x", "group:x"): what was set. */
    Object configs() throws Exception {
        List<ConfigResource> resources = new ArrayList<>();
        answers.topics.keySet().forEach(topic -> resources.add(new ConfigResource(ConfigResource.Type.TOPIC, topic)));
        answers.brokers.forEach(broker -> resources.add(new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(broker))));
        resources.add(new ConfigResource(ConfigResource.Type.BROKER, ""));
        resources.addAll(listed(ConfigResource.Type.CLIENT_METRICS));
        Map<String, Object> answer = new TreeMap<>();
        describe(resources, answer);
        Set<ConfigResource> groups = new java.util.HashSet<>(listed(ConfigResource.Type.GROUP));
        try {
            for (GroupListing group : admin.listGroups().all().get()) {
                groups.add(new ConfigResource(ConfigResource.Type.GROUP, group.groupId()));
            }
        } catch (ExecutionException problem) {
            unsupported("list of groups", problem);
        }
        answers.groupNames.forEach(group -> groups.add(new ConfigResource(ConfigResource.Type.GROUP, group)));
        try {
            describe(groups, answer);
        } catch (ExecutionException problem) {
            unsupported("configs of groups", problem);
        }
        return answer;
    }

    private Collection<ConfigResource> listed(ConfigResource.Type type) throws Exception {
        try {
            return admin.listConfigResources(Set.of(type), new ListConfigResourcesOptions()).all().get();
        } catch (ExecutionException problem) {
            unsupported("list of configs of " + type, problem);
            return List.of();
        }
    }

    private void describe(Collection<ConfigResource> resources, Map<String, Object> answer) throws Exception {
        for (Map.Entry<ConfigResource, Config> of : admin.describeConfigs(resources).all().get().entrySet()) {
            Map<String, String> set = new TreeMap<>();
            ConfigEntry.ConfigSource source = of.getKey().isDefault() ? ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG : SET_THERE.get(of.getKey().type());
            for (ConfigEntry entry : of.getValue().entries()) {
                if (entry.source() == source) {
                    set.put(entry.name(), entry.isSensitive() ? "(sensitive)" : entry.value());
                }
            }
            if (!set.isEmpty()) {
                answer.put(of.getKey().type().name().toLowerCase() + ":" + of.getKey().name(), set);
            }
        }
    }

    Object acls() throws Exception {
        Set<String> lines = new TreeSet<>();
        for (AclBinding acl : admin.describeAcls(AclBindingFilter.ANY).values().get()) {
            lines.add(String.join(" ", acl.pattern().resourceType().name(), acl.pattern().patternType().name(), acl.pattern().name(),
                acl.entry().permissionType().name(), acl.entry().operation().name(), acl.entry().principal(), acl.entry().host()));
        }
        return lines;
    }

    /**
     * User, mechanism: iterations and, where a SASL listener was named, whether the password is accepted. Kafka lets
     * nobody in whose name is not ASCII.
     */
    Object scram() throws Exception {
        Map<String, Object> users = new TreeMap<>();
        for (UserScramCredentialsDescription user : admin.describeUserScramCredentials().all().get().values()) {
            Map<String, Object> mechanisms = new TreeMap<>();
            for (ScramCredentialInfo credential : user.credentialInfos()) {
                Map<String, Object> facts = new TreeMap<>();
                facts.put("iterations", credential.iterations());
                if (!answers.scramServers.isEmpty()) {
                    facts.put("login", login(user.name(), credential.mechanism().mechanismName()));
                }
                mechanisms.put(credential.mechanism().mechanismName(), facts);
            }
            users.put(user.name(), mechanisms);
        }
        return users;
    }

    private boolean login(String user, String mechanism) throws Exception {
        Properties properties = answers.client();
        properties.put("bootstrap.servers", answers.scramServers);
        properties.put("security.protocol", "SASL_PLAINTEXT");
        properties.put("sasl.mechanism", mechanism);
        properties.put("sasl.jaas.config", "org.apache.kafka.common.security.scram.ScramLoginModule required username=\""
            + user + "\" password=\"" + Names.password(user) + "\";");
        try (Admin asUser = Admin.create(properties)) {
            asUser.describeCluster().clusterId().get();
            return true;
        } catch (ExecutionException problem) {
            if (problem.getCause() instanceof AuthenticationException) {
                return false;
            }
            throw problem;
        }
    }

    Object quotas() throws Exception {
        Map<String, Object> quotas = new TreeMap<>();
        for (Map.Entry<ClientQuotaEntity, Map<String, Double>> quota : admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().entrySet()) {
            List<String> entity = new ArrayList<>();
            quota.getKey().entries().forEach((type, name) -> entity.add(type + (name == null ? " (default)" : "=" + name)));
            entity.sort(null);
            quotas.put(String.join(", ", entity), new TreeMap<>(quota.getValue()));
        }
        return quotas;
    }

    /** Notes what these brokers do not know of; any other error is passed on. */
    private void unsupported(String what, ExecutionException problem) throws ExecutionException {
        if (problem.getCause() instanceof UnsupportedVersionException || problem.getCause() instanceof InvalidRequestException) {
            answers.unsupported.put(what, problem.getCause().getClass().getSimpleName());
        } else {
            throw problem;
        }
    }
}
