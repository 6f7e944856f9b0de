import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import RECORD_PACKAGE.CompressionType;
import RECORD_PACKAGE.MemoryRecords;
import RECORD_PACKAGE.RecordBatch;

/**
 * What a release does to records that are appended to a leader: its LogValidator, behind the checks of Produce and
 * those that UnifiedLog makes of each batch beforehand (which no class of its own has).
 *
 * A line in: produce version (-1: not a client), first offset, leader epoch, now, compression.type, LogAppendTime
 * (0 or 1), is compacted (0 or 1), before.max, after.max, max.message.bytes, records as hex.
 * A line out: "ok HEX", or "refused CODE INDEX,INDEX MESSAGE".
 */
public class ValidatorJudge {
    static final TopicPartition PARTITION = new TopicPartition("t", 0);
    static final Constructor<?> VALIDATOR = LogValidator.class.getConstructors()[0];

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split(" ", -1);
            try {
                out.println("ok " + HexFormat.of().formatHex(validate(fields)));
            } catch (RecordValidationException error) {
                List<String> indexes = error.recordErrors().stream()
                    .map(each -> String.valueOf(each.batchIndex)).collect(Collectors.toList());
                Exception cause = error.invalidException();
                out.println("refused " + Errors.forException(cause).name() + " " + String.join(",", indexes) + " "
                    + cause.getMessage());
            } catch (Throwable error) {
                String message = String.valueOf(error.getMessage()).replace('\n', ' ').replace('\r', ' ');
                out.println("refused " + Errors.forException(error).name() + "  " + message);
            }
        }
        out.flush();
    }

    static byte[] validate(String[] fields) throws Throwable {
        short version = Short.parseShort(fields[0]);
        long now = Long.parseLong(fields[3]);
        boolean isClient = version >= 0;
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(fields[10])));
        if (isClient)
            ProduceRequest.validateRecords(version, records);
        CompressionType source = CompressionType.NONE;
        int size = 0;
        for (RecordBatch batch : records.batches()) {
            if (batch.magic() >= RecordBatch.MAGIC_VALUE_V2 && isClient && batch.baseOffset() != 0)
                throw new org.apache.kafka.common.InvalidRecordException("base offset");
            batch.lastOffset();
            if (batch.sizeInBytes() > Integer.parseInt(fields[9]))
                throw new org.apache.kafka.common.errors.RecordTooLargeException("size");
            if (!batch.isValid())
                throw new org.apache.kafka.common.errors.CorruptRecordException("crc");
            if (batch.compressionType() != CompressionType.NONE)
                source = batch.compressionType();
            size += batch.sizeInBytes();
        }
        ByteBuffer valid = records.buffer().duplicate();
        valid.limit(size);
        LogValidator validator = validator(MemoryRecords.readableRecords(valid), source, now, fields, isClient);
        LogValidator.ValidationResult result;
        result = validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(Long.parseLong(fields[1])), new NoMetrics(), BufferSupplier.NO_CACHING);
        MemoryRecords validated = validated(result);
        for (RecordBatch batch : validated.batches())
            if (batch.sizeInBytes() > Integer.parseInt(fields[9]))
                throw new org.apache.kafka.common.errors.RecordTooLargeException("size after compression");
        ByteBuffer written = validated.buffer();
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        return bytes;
    }

    /** A field until 4.2, a method since. */
    static MemoryRecords validated(LogValidator.ValidationResult result) throws Exception {
        try {
            return (MemoryRecords) result.getClass().getField("validatedRecords").get(result);
        } catch (NoSuchFieldException missing) {
            return (MemoryRecords) result.getClass().getMethod("validatedRecords").invoke(result);
        }
    }

    static LogValidator validator(
        MemoryRecords records, CompressionType source, long now, String[] fields, boolean isClient
    ) throws Exception {
        CompressionType target = fields[4].equals("producer") ? source
            : CompressionType.forName(fields[4].equals("uncompressed") ? "none" : fields[4]);
        Object[] arguments = {
            records, PARTITION, new FixedTime(now), source, Compression.of(target).build(), fields[6].equals("1"),
            RecordBatch.CURRENT_MAGIC_VALUE,
            fields[5].equals("1") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(fields[7]), Long.parseLong(fields[8]), Integer.parseInt(fields[2]),
            isClient ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR, null
        };
        if (VALIDATOR.getParameterCount() == arguments.length) {
            Class<?> level = VALIDATOR.getParameterTypes()[arguments.length - 1];
            arguments[arguments.length - 1] = level.getMethod("latestProduction").invoke(null);
        } else {
            arguments = java.util.Arrays.copyOf(arguments, arguments.length - 1);
        }
        return (LogValidator) VALIDATOR.newInstance(arguments);
    }

    static class NoMetrics implements LogValidator.MetricsRecorder {
        public void recordInvalidMagic() {}

        public void recordInvalidOffset() {}

        public void recordInvalidSequence() {}

        public void recordInvalidChecksums() {}

        public void recordNoKeyCompactedTopic() {}
    }
}
