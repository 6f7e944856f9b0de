import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;

/** The transaction coordinator's reader: one of Scala up to 4.0, one of Java since. */
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
        if (!decoded.getClass().getSimpleName().equals("TxnKey")) {
            return "skipped";
        }
        Reflection.call(log, "readTxnRecordValue", Reflection.call(decoded, "transactionalId"), value);
        return "read";
    }
}
