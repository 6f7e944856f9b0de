import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;

/** The transaction coordinator's reader: one of Scala up to 4.2, one of Java since. */
final class TransactionRecords implements LoadJudge.Partition {
    private final Class<?> log = Reflection.type(
        "org.apache.kafka.coordinator.transaction.TransactionLog", "kafka.coordinator.transaction.TransactionLog");

    TransactionRecords() throws ClassNotFoundException {
    }

    @Override
    public String replay(long offset, long producerId, ByteBuffer key, ByteBuffer value) throws Exception {
        if (key == null) {
            // So begins the loop of its loader over the records of a batch.
            throw new InvocationTargetException(new IllegalArgumentException("a key is required"));
        }
        if (log.getName().startsWith("org.")) {
            String result = Reflection.call(log, "read", key, value).getClass().getSimpleName();
            return result.startsWith("Unknown") ? "skipped" : "read";
        }
        Object decoded = Reflection.call(log, "readTxnRecordKey", key);
        String kind = decoded.getClass().getSimpleName();
        // Up to 4.0 a class for each kind of key, then what is left or right of an Either.
        String accessor = kind.equals("TxnKey") ? "transactionalId" : kind.equals("Right") ? "value" : null;
        if (accessor == null) {
            return "skipped";
        }
        Reflection.call(log, "readTxnRecordValue", Reflection.call(decoded, accessor), value);
        return "read";
    }
}
