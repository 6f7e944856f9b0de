import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;

/**
 * One change to a large image, and one lookup in it, warm: the median nanoseconds of each.
 *
 * <pre>
 *   ChangeImage FILE CHANGES LOOKUPS
 * </pre>
 *
 * A change is a new delta, one PartitionChangeRecord (another leader epoch by a new leader) and the new image. A lookup
 * takes the partition by topic name and number, as a request does. Lookups are timed in groups, because a clock is
 * too coarse for one of them.
 */
public final class ChangeImage {
    private static final int GROUP = 1000;
    private static final int WARM_ROUNDS = 5;

    private static MetadataImage image;
    private static long found;

    private ChangeImage() {
    }

    public static void main(String[] arguments) throws Exception {
        image = Snapshots.load(Path.of(arguments[0]));
        int changes = Integer.parseInt(arguments[1]);
        int lookups = Integer.parseInt(arguments[2]);
        List<String> names = new ArrayList<>(image.topics().topicsByName().keySet());
        names.sort(null);
        Random random = new Random(1);
        long change = 0;
        long lookup = 0;
        for (int round = 0; round < WARM_ROUNDS; round++) {
            change = change(names, random, changes);
            lookup = lookup(names, random, lookups);
        }
        System.out.printf("{\"change_ns\": %d, \"lookup_ns\": %d, \"found\": %d}%n", change, lookup, found);
    }

    private static long change(List<String> names, Random random, int count) {
        long[] nanos = new long[count];
        for (int index = 0; index < count; index++) {
            Uuid topic = image.topics().getTopic(names.get(random.nextInt(names.size()))).id();
            int partition = random.nextInt(image.topics().getTopic(topic).partitions().size());
            int leader = image.topics().getPartition(topic, partition).replicas[0];
            PartitionChangeRecord record = new PartitionChangeRecord()
                .setTopicId(topic).setPartitionId(partition).setLeader(leader);
            long start = System.nanoTime();
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            delta.replay(record);
            image = delta.apply(image.provenance());
            nanos[index] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        return nanos[count / 2];
    }

    private static long lookup(List<String> names, Random random, int count) {
        long[] nanos = new long[count / GROUP];
        String[] topics = new String[GROUP];
        int[] partitions = new int[GROUP];
        for (int group = 0; group < nanos.length; group++) {
            for (int index = 0; index < GROUP; index++) {
                topics[index] = names.get(random.nextInt(names.size()));
                partitions[index] = random.nextInt(image.topics().getTopic(topics[index]).partitions().size());
            }
            long start = System.nanoTime();
            for (int index = 0; index < GROUP; index++) {
                found += image.topics().getTopic(topics[index]).partitions().get(partitions[index]).leader >= 0 ? 1 : 0;
            }
            nanos[group] = (System.nanoTime() - start) / GROUP;
        }
        Arrays.sort(nanos);
        return nanos[nanos.length / 2];
    }
}
