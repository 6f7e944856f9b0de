import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens logs of partitions as a broker does, with Kafka's own UnifiedLog, checks their indexes against the batches, and
 * prints one JSON line each of what it found. Then it appends some batches, prints what the log is now, and closes it.
 *
 * <pre>
 *   OpenLog NOW_MS SEGMENT_BYTES INDEX_INTERVAL_BYTES { DIRECTORY clean|killed RECOVERY_POINT LOG_START_OFFSET }...
 * </pre>
 */
public final class OpenLog {
    private static final int APPENDED = 12;
    private static final long APPENDED_PRODUCER = 4242;
    private static final ObjectMapper JSON = new ObjectMapper();

    private OpenLog() {
    }

    public static void main(String[] command) throws Exception {
        Time time = timeAt(Long.parseLong(command[0]));
        LogConfig config = new LogConfig(Map.of(
            LogConfig.INTERNAL_SEGMENT_BYTES_CONFIG, command[1],
            "index.interval.bytes", command[2],
            "retention.ms", "-1"));
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        for (int at = 3; at < command.length; at += 4) {
            UnifiedLog log = UnifiedLog.create(
                new File(command[at]), config, Long.parseLong(command[at + 3]), Long.parseLong(command[at + 2]),
                scheduler, new BrokerTopicStats(), time, 900_000,
                new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000, new LogDirFailureChannel(10),
                command[at + 1].equals("clean"), Optional.empty());
            log.updateHighWatermark(log.logEndOffset());
            System.out.println(JSON.writeValueAsString(state(log)));
            append(log, time.milliseconds());
            System.out.println(JSON.writeValueAsString(state(log)));
            log.flush(true);
            log.close();
        }
        scheduler.shutdown();
        System.exit(0);
    }

    /** A clock that stands still, so that no producer expires. */
    private static Time timeAt(long nowMs) {
        return new Time() {
            @Override
            public long milliseconds() {
                return nowMs;
            }

            @Override
            public long nanoseconds() {
                return nowMs * 1_000_000;
            }

            @Override
            public void sleep(long ms) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
                throw new UnsupportedOperationException();
            }
        };
    }

    private static void append(UnifiedLog log, long nowMs) throws Exception {
        int epoch = log.latestEpoch().orElse(0) + 1;
        for (int sequence = 0; sequence < APPENDED; sequence++) {
            SimpleRecord record = new SimpleRecord(
                nowMs + sequence, null, ("theirs" + sequence).getBytes(StandardCharsets.UTF_8));
            log.appendAsLeader(
                MemoryRecords.withIdempotentRecords(
                    Compression.NONE, APPENDED_PRODUCER, (short) 0, sequence, record), epoch);
        }
        log.updateHighWatermark(log.logEndOffset());
    }

    private static Map<String, Object> state(UnifiedLog log) throws Exception {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("topicId", log.topicId().map(Object::toString).orElse(null));
        state.put("logStartOffset", log.logStartOffset());
        state.put("logEndOffset", log.logEndOffset());
        state.put("lastStableOffset", log.lastStableOffset());
        state.put("size", log.size());
        state.put("epochs", log.leaderEpochCache().epochEntries().stream()
            .map(entry -> List.of(entry.epoch(), entry.startOffset())).toList());
        state.put("producers", log.activeProducers().stream()
            .map(producer -> List.of(
                producer.producerId(), producer.producerEpoch(), producer.lastSequence(), producer.lastTimestamp(),
                producer.coordinatorEpoch(), producer.currentTxnStartOffset()))
            .sorted((one, other) -> one.toString().compareTo(other.toString())).toList());
        state.put("aborted", log.collectAbortedTransactions(log.logStartOffset(), log.logEndOffset()).stream()
            .map(aborted -> List.of(
                aborted.producerId(), aborted.firstOffset(), aborted.lastOffset(), aborted.lastStableOffset()))
            .toList());
        List<Object> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            segments.add(segmentState(segment));
        }
        state.put("segments", segments);
        return state;
    }

    private static Map<String, Object> segmentState(LogSegment segment) throws Exception {
        segment.sanityCheck(false);
        segment.offsetIndex().sanityCheck();
        segment.timeIndex().sanityCheck();
        List<Object> offsets = new ArrayList<>();
        for (int at = 0; at < segment.offsetIndex().entries(); at++) {
            var entry = segment.offsetIndex().entry(at);
            long found = segment.log().batchesFrom(entry.position()).iterator().next().lastOffset();
            if (found != entry.offset()) {
                throw new IllegalStateException(entry + " points at a batch that ends at " + found);
            }
            offsets.add(List.of(entry.offset(), entry.position()));
        }
        List<Object> times = new ArrayList<>();
        for (int at = 0; at < segment.timeIndex().entries(); at++) {
            var entry = segment.timeIndex().entry(at);
            checkTime(segment, entry.timestamp(), entry.offset());
            times.add(List.of(entry.timestamp(), entry.offset()));
        }
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("baseOffset", segment.baseOffset());
        state.put("size", segment.size());
        state.put("largestTimestamp", segment.readMaxTimestampAndOffsetSoFar().timestamp());
        state.put("offsetIndex", offsets);
        state.put("timeIndex", times);
        return state;
    }

    /** The largest timestamp of all batches up to the entry's offset is the entry's, and that batch has it. */
    private static void checkTime(LogSegment segment, long timestamp, long offset) {
        long largest = RecordBatch.NO_TIMESTAMP;
        for (RecordBatch batch : segment.log().batches()) {
            if (batch.lastOffset() > offset) {
                break;
            }
            if (batch.maxTimestamp() > largest) {
                largest = batch.maxTimestamp();
            }
        }
        if (largest != timestamp) {
            throw new IllegalStateException(
                Stream.of(segment.baseOffset(), timestamp, offset, largest).toList() + " is wrong in a time index");
        }
    }
}
