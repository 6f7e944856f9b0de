import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Decides on changes of partitions by a Kafka release's own PartitionChangeBuilder. Each line of stdin has words
 * NAME=VALUE (lists with commas; what is not named stays as it is) and is answered by one line: the record in hex, "none"
 * if nothing changes, or: error REASON. A directory is the number that ends its id.
 */
public class ChangePartition {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                Map<String, String> words = new HashMap<>();
                for (String word : line.split(" ")) {
                    String[] parts = word.split("=", 2);
                    words.put(parts[0], parts[1]);
                }
                answer = answer(words);
            } catch (Exception | Error error) {
                answer = "error " + error.toString().replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private static String answer(Map<String, String> words) throws Exception {
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(array(words.get("replicas")))
            .setDirectories(list(words.get("directories")).stream().map(ChangePartition::directory).toArray(Uuid[]::new))
            .setIsr(array(words.get("isr")))
            .setRemovingReplicas(array(words.get("removing")))
            .setAddingReplicas(array(words.get("adding")))
            .setElr(array(words.get("elr")))
            .setLastKnownElr(array(words.get("last_known")))
            .setLeader(Integer.parseInt(words.get("leader")))
            .setLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(words.get("recovery"))))
            .setLeaderEpoch(5)
            .setPartitionEpoch(9)
            .build();
        Set<Integer> alive = Set.copyOf(list(words.get("alive")));
        PartitionChangeBuilder builder = builder(
            partition,
            alive::contains,
            MetadataVersion.fromFeatureLevel(Short.parseShort(words.get("level"))),
            Integer.parseInt(words.get("min_isr")),
            Boolean.parseBoolean(words.get("elr_enabled")));
        builder.setElection(PartitionChangeBuilder.Election.valueOf(words.get("election")));
        builder.setDefaultDirProvider(broker -> directory(broker + 100));
        if (words.containsKey("target_isr")) builder.setTargetIsr(list(words.get("target_isr")));
        if (words.containsKey("target_replicas")) builder.setTargetReplicas(list(words.get("target_replicas")));
        if (words.containsKey("target_removing")) builder.setTargetRemoving(list(words.get("target_removing")));
        if (words.containsKey("target_adding")) builder.setTargetAdding(list(words.get("target_adding")));
        if (words.containsKey("target_recovery")) {
            builder.setTargetLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(words.get("target_recovery"))));
        }
        if (words.containsKey("unclean_shutdown")) {
            builder.setUncleanShutdownReplicas(list(words.get("unclean_shutdown")));
        }
        if (words.containsKey("moved")) builder.setDirectory(Integer.parseInt(words.get("moved")), directory(77));
        Optional<ApiMessageAndVersion> record = builder.build();
        return record.isPresent() ? hex(record.get()) : "none";
    }

    /** Releases differ in where they take the eligible leader replicas from. */
    private static PartitionChangeBuilder builder(
        PartitionRegistration partition, IntPredicate alive, MetadataVersion version, int minIsr, boolean elr
    ) throws Exception {
        Class<PartitionChangeBuilder> made = PartitionChangeBuilder.class;
        List<Class<?>> types = new ArrayList<>(Arrays.asList(
            PartitionRegistration.class, Uuid.class, int.class, IntPredicate.class, MetadataVersion.class, int.class));
        List<Object> values = new ArrayList<>(Arrays.asList(partition, new Uuid(1, 2), 3, alive, version, minIsr));
        try {
            types.add(boolean.class);
            values.add(elr);
            return made.getConstructor(types.toArray(new Class<?>[0])).newInstance(values.toArray());
        } catch (NoSuchMethodException older) {
            PartitionChangeBuilder builder = made
                .getConstructor(types.subList(0, 6).toArray(new Class<?>[0]))
                .newInstance(values.subList(0, 6).toArray());
            made.getMethod("setEligibleLeaderReplicasEnabled", boolean.class).invoke(builder, elr);
            return builder;
        }
    }

    private static List<Integer> list(String text) {
        List<Integer> numbers = new ArrayList<>();
        for (String number : text.split(",")) {
            if (!number.isEmpty()) numbers.add(Integer.parseInt(number));
        }
        return numbers;
    }

    private static int[] array(String text) {
        return list(text).stream().mapToInt(Integer::intValue).toArray();
    }

    private static Uuid directory(int number) {
        return new Uuid(0, number);
    }

    private static String hex(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(bytes));
        return HexFormat.of().formatHex(bytes.array());
    }
}
