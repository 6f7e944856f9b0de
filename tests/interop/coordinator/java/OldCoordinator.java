import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import org.apache.kafka.common.utils.Time;

/** The readers of the coordinator that Kafka 3 runs by default; they keep no state that a later record could offend. */
final class OldCoordinator implements LoadJudge.Partition {
    private final Class<?> manager = Reflection.type("kafka.coordinator.group.GroupMetadataManager");

    OldCoordinator() throws ClassNotFoundException {
    }

    @Override
    public String replay(long offset, long producerId, ByteBuffer key, ByteBuffer value) throws Exception {
        if (key == null) {
            // So begins the loop of its loader over the records of a batch.
            throw new InvocationTargetException(new IllegalArgumentException("a key is required"));
        }
        Object decoded = Reflection.call(manager, "readMessageKey", key);
        switch (decoded.getClass().getSimpleName()) {
            case "OffsetKey" -> Reflection.call(manager, "readOffsetMessageValue", value);
            case "GroupMetadataKey" ->
                Reflection.call(manager, "readGroupMessageValue", Reflection.call(decoded, "key"), value, Time.SYSTEM);
            default -> {
                return "skipped";
            }
        }
        return "read";
    }
}
