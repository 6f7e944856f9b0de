import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.ProducerIdsRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * Makes the snapshot of a large cluster with Kafka's own image and snapshot writers.
 *
 * <pre>
 *   MakeSnapshot FOLDER TOPICS PARTITIONS_PER_TOPIC SEED
 * </pre>
 *
 * Twelve brokers with two log dirs each, three replicas a partition; one partition in fifty has a shrunk ISR and an
 * eligible leader replica. One topic in five has a config, and there are some ACLs.
 */
public final class MakeSnapshot {
    private static final int BROKERS = 12;
    private static final int REPLICAS = 3;
    private static final int ACLS_MAX = 2000;
    private static final int BATCH_BYTES_MAX = 8 * 1024 * 1024;
    /** How many records a node hands to its snapshot writer at a time. */
    private static final int APPENDED_RECORDS = 1024;
    private static final OffsetAndEpoch SNAPSHOT_ID = new OffsetAndEpoch(5_000_001L, 12);
    private static final long TIME_MS = 1_770_000_000_000L;

    private final Random random;
    private final List<List<Uuid>> directories = new ArrayList<>();
    private final MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();

    private MakeSnapshot(long seed) {
        random = new Random(seed);
    }

    public static void main(String[] arguments) throws Exception {
        MakeSnapshot maker = new MakeSnapshot(Long.parseLong(arguments[3]));
        MetadataImage image = maker.image(Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
        long bytes = write(image, Path.of(arguments[0]));
        System.out.printf("{\"bytes\": %d}%n", bytes);
    }

    private MetadataImage image(int topics, int partitions) {
        MetadataVersion version = MetadataVersion.latestProduction();
        delta.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(version.featureLevel()));
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            if (feature != Feature.KRAFT_VERSION && feature.defaultLevel(version) > 0) {
                delta.replay(new FeatureLevelRecord().setName(feature.featureName()).setFeatureLevel(feature.defaultLevel(version)));
            }
        }
        for (int broker = 0; broker < BROKERS; broker++) {
            broker(broker, version);
        }
        for (int topic = 0; topic < topics; topic++) {
            topic(topic, partitions);
        }
        for (int acl = 0; acl < Math.min(ACLS_MAX, topics); acl++) {
            delta.replay(new AccessControlEntryRecord().setId(uuid()).setResourceType((byte) 2).setResourceName(word())
                .setPatternType((byte) (3 + random.nextInt(2))).setPrincipal("User:" + word()).setHost("*")
                .setOperation((byte) (3 + random.nextInt(5))).setPermissionType((byte) 3));
        }
        delta.replay(new ProducerIdsRecord().setBrokerId(1).setBrokerEpoch(1001).setNextProducerId(7000));
        return delta.apply(new MetadataProvenance(SNAPSHOT_ID.offset() - 1, SNAPSHOT_ID.epoch(), TIME_MS, true));
    }

    private void broker(int id, MetadataVersion version) {
        List<Uuid> own = new ArrayList<>(List.of(uuid(), uuid()));
        Collections.sort(own);
        directories.add(own);
        RegisterBrokerRecord.BrokerEndpointCollection endpoints = new RegisterBrokerRecord.BrokerEndpointCollection();
        endpoints.add(new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("broker-" + id)
            .setPort(9092).setSecurityProtocol((short) 0));
        RegisterBrokerRecord.BrokerFeatureCollection features = new RegisterBrokerRecord.BrokerFeatureCollection();
        features.add(new RegisterBrokerRecord.BrokerFeature().setName(MetadataVersion.FEATURE_NAME)
            .setMinSupportedVersion((short) 7).setMaxSupportedVersion(version.featureLevel()));
        delta.replay(new RegisterBrokerRecord().setBrokerId(id).setIncarnationId(uuid()).setBrokerEpoch(1000 + id)
            .setEndPoints(endpoints).setFeatures(features).setRack("rack-" + id % 3).setFenced(false).setLogDirs(own));
    }

    private void topic(int number, int partitions) {
        Uuid id = uuid();
        String name = word() + "." + word() + "-" + number;
        delta.replay(new TopicRecord().setName(name).setTopicId(id));
        for (int partition = 0; partition < partitions; partition++) {
            delta.replay(partition(id, partition));
        }
        if (number % 5 == 0) {
            delta.replay(new ConfigRecord().setResourceType((byte) 2).setResourceName(name)
                .setName("retention.ms").setValue("" + random.nextInt(999_999_999)));
        }
    }

    private PartitionRecord partition(Uuid topic, int number) {
        int first = random.nextInt(BROKERS);
        List<Integer> replicas = new ArrayList<>();
        List<Uuid> places = new ArrayList<>();
        for (int index = 0; index < REPLICAS; index++) {
            int broker = (first + index) % BROKERS;
            replicas.add(broker);
            places.add(directories.get(broker).get(random.nextInt(2)));
        }
        boolean shrunk = random.nextInt(50) == 0;
        PartitionRecord record = new PartitionRecord().setPartitionId(number).setTopicId(topic).setReplicas(replicas)
            .setIsr(shrunk ? List.of(replicas.get(0)) : replicas).setLeader(replicas.get(0))
            .setLeaderEpoch(random.nextInt(500)).setPartitionEpoch(random.nextInt(2000)).setDirectories(places);
        return shrunk ? record.setEligibleLeaderReplicas(List.of(replicas.get(1))) : record;
    }

    private Uuid uuid() {
        return new Uuid(random.nextLong() & Long.MAX_VALUE | 1, random.nextLong());
    }

    private String word() {
        StringBuilder word = new StringBuilder();
        for (int syllable = 0; syllable < 2 + random.nextInt(3); syllable++) {
            word.append("bcdfghklmnprstvz".charAt(random.nextInt(16))).append("aeiou".charAt(random.nextInt(5)));
        }
        return word.toString();
    }

    private static long write(MetadataImage image, Path folder) throws Exception {
        Files.createDirectories(folder);
        RecordsSnapshotWriter<ApiMessageAndVersion> records = new RecordsSnapshotWriter.Builder()
            .setLastContainedLogTimestamp(image.provenance().lastContainedLogTimeMs())
            .setTime(Time.SYSTEM)
            .setMaxBatchSizeBytes(BATCH_BYTES_MAX)
            .setMemoryPool(MemoryPool.NONE)
            .setKraftVersion(KRaftVersion.KRAFT_VERSION_0)
            .setVoterSet(Optional.empty())
            .setRawSnapshotWriter(FileRawSnapshotWriter.create(folder, SNAPSHOT_ID))
            .build(new MetadataRecordSerde());
        RaftSnapshotWriter writer = new RaftSnapshotWriter(records, APPENDED_RECORDS);
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        writer.close(true);
        return writer.frozenSize().orElseThrow();
    }
}
