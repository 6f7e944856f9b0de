import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * The share coordinator's deserialiser, and the replay of each record by a shard of its own: merging batches of offsets
 * that make no sense together would never end.
 */
final class ShareCoordinator implements LoadJudge.Partition {
    private static final String PACKAGE = "org.apache.kafka.coordinator.share.";
    private final Object serde = Reflection.make(Class.forName(PACKAGE + "ShareCoordinatorRecordSerde"));
    private final Object config;
    private final Object metrics = Reflection.make(Class.forName(PACKAGE + "metrics.ShareCoordinatorMetrics"));

    ShareCoordinator() throws Exception {
        Class<?> type = Class.forName(PACKAGE + "ShareCoordinatorConfig");
        ConfigDef definitions = (ConfigDef) Reflection.field(type, "CONFIG_DEF");
        config = Reflection.make(type, new AbstractConfig(definitions, Map.of(), false));
    }

    @Override
    public String replay(long offset, long producerId, ByteBuffer key, ByteBuffer value) throws Exception {
        Object record = Reflection.call(serde, "deserialize", key, value);
        Reflection.call(shard(), "replay", offset, producerId, (short) 0, record);
        return "read";
    }

    private Object shard() throws Exception {
        Object builder = Reflection.make(Class.forName(PACKAGE + "ShareCoordinatorShard$Builder"), config);
        Object logContext = NewCoordinator.logContext();
        Reflection.with(builder, "withLogContext", logContext);
        Reflection.with(builder, "withTime", Time.SYSTEM);
        Reflection.with(builder, "withTimer");
        Reflection.with(builder, "withExecutor");
        Reflection.with(builder, "withCoordinatorMetrics", metrics);
        Reflection.with(builder, "withTopicPartition", new TopicPartition("__share_group_state", 0));
        Reflection.with(builder, "withSnapshotRegistry", Reflection.make(SnapshotRegistry.class, logContext));
        return Reflection.call(builder, "build");
    }
}
