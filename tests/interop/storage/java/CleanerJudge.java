import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Compacts logs with the Cleaner of a release, in place.
 *
 * A line in: directory, now, up to where it was compacted (-1: never), bytes of the offset map, then configs as
 * key=value. A line out: first dirty offset, first uncleanable offset, up to where it is compacted now.
 */
public class CleanerJudge {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split(" ");
            Map<String, String> configs = new HashMap<>();
            for (int at = 4; at < fields.length; at++) {
                String[] pair = fields[at].split("=", 2);
                configs.put(pair[0], pair[1]);
            }
            Time time = new FixedTime(Long.parseLong(fields[1]));
            UnifiedLog log = UnifiedLog.create(
                new File(fields[0]), new LogConfig(configs), 0, 0, new NoScheduler(), new BrokerTopicStats(), time, 900000,
                new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600000, new LogDirFailureChannel(1), true,
                Optional.empty());
            log.updateHighWatermark(log.logEndOffset());
            long checkpoint = Long.parseLong(fields[2]);
            System.out.println(clean(log, checkpoint, Integer.parseInt(fields[3]), time));
            log.close();
        }
    }

    static String clean(UnifiedLog log, long checkpoint, int mapBytes, Time time) throws Exception {
        Method cleanableOffsets = LogCleanerManager.class.getDeclaredMethod(
            "cleanableOffsets", UnifiedLog.class, Optional.class, long.class);
        cleanableOffsets.setAccessible(true);
        Optional<Long> last = checkpoint < 0 ? Optional.empty() : Optional.of(checkpoint);
        Object offsets = cleanableOffsets.invoke(null, log, last, time.milliseconds());
        LogToClean cleanable = new LogToClean(
            log, number(offsets, "firstDirtyOffset"), number(offsets, "firstUncleanableDirtyOffset"), false);
        Cleaner cleaner = new Cleaner(
            0, new SkimpyOffsetMap(mapBytes), 1 << 20, 1 << 20, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", time), time, partition -> { });
        long end = cleaner.doClean(cleanable, time.milliseconds()).getKey();
        return cleanable.firstDirtyOffset() + " " + cleanable.firstUncleanableOffset() + " " + end;
    }

    static long number(Object offsets, String name) throws Exception {
        Method method = offsets.getClass().getDeclaredMethod(name);
        method.setAccessible(true);
        return (Long) method.invoke(offsets);
    }

    static class NoScheduler implements Scheduler {
        public void startup() {}

        public void shutdown() {}

        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            return (ScheduledFuture<?>) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {ScheduledFuture.class}, (proxy, method, values) -> false);
        }

        public void resizeThreadPool(int newSize) {}
    }
}
