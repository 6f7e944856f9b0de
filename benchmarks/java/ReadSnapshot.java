import java.nio.file.Path;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/**
 * Kafka's snapshot reader over all records of a snapshot, each decoded to its object, nothing kept.
 *
 * <pre>
 *   ReadSnapshot FILE ROUNDS
 * </pre>
 */
public final class ReadSnapshot {
    private static long records;

    private ReadSnapshot() {
    }

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        String seconds = Snapshots.timed(Integer.parseInt(arguments[1]), () -> read(file));
        System.out.printf("{\"records\": %d, %s}%n", records, seconds);
    }

    private static void read(Path file) {
        records = 0;
        try (RecordsSnapshotReader<ApiMessageAndVersion> reader = Snapshots.open(file)) {
            while (reader.hasNext()) {
                Batch<ApiMessageAndVersion> batch = reader.next();
                for (ApiMessageAndVersion record : batch.records()) {
                    records += record.message() == null ? 0 : 1;
                }
            }
        }
    }
}
