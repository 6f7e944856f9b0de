import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.FileRawSnapshotReader;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/** What the peers share: a snapshot read as a Kafka 4.3.1 node reads it, and the time that work takes. */
final class Snapshots {
    static final int BATCH_BYTES_MAX = 8 * 1024 * 1024;

    private Snapshots() {
    }

    interface Work {
        void run() throws Exception;
    }

    /** Opens by offset and epoch of the file's name; CRCs are checked, as a node does. */
    static RecordsSnapshotReader<ApiMessageAndVersion> open(Path file) {
        String[] name = file.getFileName().toString().replace(".checkpoint", "").split("-");
        OffsetAndEpoch id = new OffsetAndEpoch(Long.parseLong(name[0]), Integer.parseInt(name[1]));
        return RecordsSnapshotReader.of(
            FileRawSnapshotReader.open(file.toAbsolutePath().getParent(), id),
            MetadataRecordSerde.INSTANCE,
            BufferSupplier.create(),
            BATCH_BYTES_MAX,
            true,
            new LogContext()
        );
    }

    static MetadataImage load(Path file) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        MetadataProvenance provenance;
        try (RecordsSnapshotReader<ApiMessageAndVersion> reader = open(file)) {
            while (reader.hasNext()) {
                Batch<ApiMessageAndVersion> batch = reader.next();
                for (ApiMessageAndVersion record : batch.records()) {
                    delta.replay(record.message());
                }
            }
            provenance = new MetadataProvenance(
                reader.lastContainedLogOffset(), reader.lastContainedLogEpoch(), reader.lastContainedLogTimestamp(), true
            );
        }
        delta.finishSnapshot();
        return delta.apply(provenance);
    }

    /** Runs the work `rounds` times; gives the seconds and the processor seconds of each as members of a JSON object. */
    static String timed(int rounds, Work work) throws Exception {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        List<Double> seconds = new ArrayList<>();
        List<Double> cpuSeconds = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            long start = System.nanoTime();
            long cpuStart = system.getProcessCpuTime();
            work.run();
            seconds.add((System.nanoTime() - start) / 1e9);
            cpuSeconds.add((system.getProcessCpuTime() - cpuStart) / 1e9);
        }
        return "\"seconds\": " + seconds + ", \"cpu_seconds\": " + cpuSeconds;
    }
}
