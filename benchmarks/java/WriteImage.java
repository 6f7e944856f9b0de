import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.UnalignedMemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RaftSnapshotWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.RawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/**
 * Kafka's image writer, warm: the image in memory to the bytes of a snapshot, which are counted and dropped (no disk).
 *
 * <pre>
 *   WriteImage FILE ROUNDS METADATA_VERSION
 * </pre>
 *
 * The image is read from FILE first, untimed. What the metadata.version cannot hold is lost without a word.
 */
public final class WriteImage {
    /** How many records a node hands to its snapshot writer at a time. */
    private static final int APPENDED_RECORDS = 1024;

    private static long bytes;

    private WriteImage() {
    }

    public static void main(String[] arguments) throws Exception {
        MetadataImage image = Snapshots.load(Path.of(arguments[0]));
        MetadataVersion version = MetadataVersion.fromVersionString(arguments[2], true);
        ImageWriterOptions options = new ImageWriterOptions.Builder(version)
            .setEligibleLeaderReplicasEnabled(image.features().isElrEnabled() && version.isElrSupported())
            .setLossHandler(loss -> { })
            .build();
        String seconds = Snapshots.timed(Integer.parseInt(arguments[1]), () -> write(image, options));
        System.out.printf("{\"bytes\": %d, %s}%n", bytes, seconds);
    }

    private static void write(MetadataImage image, ImageWriterOptions options) {
        Counter counter = new Counter();
        RecordsSnapshotWriter<ApiMessageAndVersion> records = new RecordsSnapshotWriter.Builder()
            .setLastContainedLogTimestamp(image.provenance().lastContainedLogTimeMs())
            .setTime(Time.SYSTEM)
            .setMaxBatchSizeBytes(Snapshots.BATCH_BYTES_MAX)
            .setMemoryPool(MemoryPool.NONE)
            .setKraftVersion(KRaftVersion.KRAFT_VERSION_0)
            .setVoterSet(Optional.empty())
            .setRawSnapshotWriter(counter)
            .build(new MetadataRecordSerde());
        RaftSnapshotWriter writer = new RaftSnapshotWriter(records, APPENDED_RECORDS);
        image.write(writer, options);
        writer.close(true);
        bytes = counter.total.get();
    }

    /** A snapshot file that keeps only its size. */
    private static final class Counter implements RawSnapshotWriter {
        private final AtomicLong total = new AtomicLong();
        private boolean frozen;

        @Override
        public OffsetAndEpoch snapshotId() {
            return new OffsetAndEpoch(1, 1);
        }

        @Override
        public long sizeInBytes() {
            return total.get();
        }

        @Override
        public void append(MemoryRecords records) {
            total.addAndGet(records.sizeInBytes());
        }

        @Override
        public void append(UnalignedMemoryRecords records) {
            total.addAndGet(records.sizeInBytes());
        }

        @Override
        public boolean isFrozen() {
            return frozen;
        }

        @Override
        public void freeze() {
            frozen = true;
        }

        @Override
        public void close() {
        }
    }
}
