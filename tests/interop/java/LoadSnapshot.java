import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.BufferedWriter;
import java.io.File;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.image.writer.UnwritableMetadataException;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.ControlRecord;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.snapshot.RecordsSnapshotReader;

/**
 * Loads a metadata snapshot as a Kafka node does: its snapshot reader, a delta on the empty image, the image. Prints the
 * image as sorted JSON lines: its control records, then the records that the image writes of itself. Compiled against,
 * and run with, the jars of the release that is to read it; exits with 1 and the reason where that release cannot.
 *
 * <pre>
 *   LoadSnapshot FILE [--at METADATA_VERSION] [--log]
 * </pre>
 *
 * With "--log" the records of the log segments beside the snapshot that it does not hold yet are replayed after it.
 * The image is written at its own metadata.version, or at the one named; what cannot be written there is a "loss" line,
 * save for eligible leader replicas, of which Kafka tells nothing.
 */
public final class LoadSnapshot {
    private static final int BATCH_BYTES_MAX = 8 * 1024 * 1024;
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);

    private LoadSnapshot() {
    }

    public static void main(String[] command) throws Exception {
        Arguments arguments = new Arguments(command, Set.of("at"), Set.of("log"));
        int status = 1;
        try {
            List<String> lines = load(Path.of(arguments.words.get(0)).toAbsolutePath(), arguments.get("at", ""), arguments.has("log"));
            PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 20));
            lines.forEach(out::println);
            out.flush();
            status = 0;
        } catch (InvocationTargetException problem) {
            problem.getCause().printStackTrace();
        } catch (ReflectiveOperationException problem) {
            // Ours, not Kafka's: this release is built in a way that is not known here.
            problem.printStackTrace();
            status = 2;
        } catch (Throwable problem) {
            problem.printStackTrace();
        }
        Runtime.getRuntime().halt(status);
    }

    private static List<String> load(Path file, String at, boolean withLog) throws Exception {
        List<String> lines = new ArrayList<>();
        MetadataDelta delta = new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build();
        MetadataProvenance provenance;
        try (RecordsSnapshotReader<ApiMessageAndVersion> reader = open(file)) {
            while (reader.hasNext()) {
                Batch<ApiMessageAndVersion> batch = reader.next();
                for (ControlRecord control : batch.controlRecords()) {
                    lines.add(control(control.message()));
                }
                for (ApiMessageAndVersion record : batch.records()) {
                    delta.replay(record.message());
                }
            }
            provenance = provenance(reader.lastContainedLogOffset(), reader.lastContainedLogEpoch(), reader.lastContainedLogTimestamp());
        }
        delta.finishSnapshot();
        MetadataImage image = delta.apply(provenance);
        if (withLog) {
            MetadataDelta newer = new MetadataDelta.Builder().setImage(image).build();
            replayLog(file.getParent(), provenance.lastContainedOffset(), newer);
            image = newer.apply(provenance);
        }
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, options(image, at, loss -> lines.add(line(Map.of("loss", loss.loss())))));
        writer.close(true);
        for (ApiMessageAndVersion record : writer.records()) {
            ApiMessage message = record.message();
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("type", MetadataRecordType.fromId(message.apiKey()).toString());
            fields.put("version", record.version());
            fields.put("data", sorted(MetadataJsonConverters.writeJson(message, record.version())));
            lines.add(line(fields));
        }
        lines.sort(null);
        return lines;
    }

    /** The header's time of writing says nothing about the image; what the others say is part of it. */
    private static String control(ApiMessage message) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        // Every control record begins with its own version; the JSON form is the same in all of them.
        short version = (Short) message.getClass().getMethod("version").invoke(message);
        JsonNode data = (JsonNode) converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version);
        return line(Map.of("control", message.getClass().getSimpleName(), "data", sorted(data)));
    }

    /** As maps, whose keys the mapper sorts; those of a JsonNode it leaves as they are. */
    private static Map<?, ?> sorted(JsonNode node) {
        return JSON.convertValue(node, TreeMap.class);
    }

    private static String line(Map<String, Object> fields) {
        try {
            return JSON.writeValueAsString(fields);
        } catch (java.io.IOException impossible) {
            throw new java.io.UncheckedIOException(impossible);
        }
    }

    // What follows finds by reflection what has another package or another signature in some release.

    private static Class<?> oneOf(String... names) throws ClassNotFoundException {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException elsewhere) {
                // The next name is that of another release.
            }
        }
        throw new ClassNotFoundException(names[0]);
    }

    /** Opens by offset and epoch of the file's name, as a node does. */
    @SuppressWarnings("unchecked")
    private static RecordsSnapshotReader<ApiMessageAndVersion> open(Path file) throws Exception {
        String[] name = file.getFileName().toString().replace(".checkpoint", "").split("-");
        Class<?> rawClass = Class.forName("org.apache.kafka.snapshot.FileRawSnapshotReader");
        Object raw = null;
        for (Method open : rawClass.getMethods()) {
            if (open.getName().equals("open")) {
                Constructor<?> id = open.getParameterTypes()[1].getConstructor(long.class, int.class);
                raw = open.invoke(null, file.getParent(), id.newInstance(Long.parseLong(name[0]), Integer.parseInt(name[1])));
            }
        }
        Class<?> supplier = oneOf("org.apache.kafka.common.utils.BufferSupplier", "org.apache.kafka.common.utils.internals.BufferSupplier");
        Object buffers = supplier.getField("NO_CACHING").get(null);
        for (Method of : RecordsSnapshotReader.class.getMethods()) {
            if (of.getName().equals("of") && of.getParameterCount() == 5) {
                return (RecordsSnapshotReader<ApiMessageAndVersion>) of.invoke(null, raw, MetadataRecordSerde.INSTANCE, buffers, BATCH_BYTES_MAX, true);
            }
            if (of.getName().equals("of") && of.getParameterCount() == 6) {
                Object log = of.getParameterTypes()[5].getConstructor().newInstance();
                return (RecordsSnapshotReader<ApiMessageAndVersion>) of.invoke(null, raw, MetadataRecordSerde.INSTANCE, buffers, BATCH_BYTES_MAX, true, log);
            }
        }
        throw new NoSuchMethodException("RecordsSnapshotReader.of");
    }

    /** Replays the data records of all segments of a folder that stand behind an offset. */
    private static void replayLog(Path folder, long lastOffset, MetadataDelta delta) throws Exception {
        Class<?> filesClass = oneOf("org.apache.kafka.common.record.FileRecords", "org.apache.kafka.common.record.internal.FileRecords");
        Class<?> batchClass = oneOf("org.apache.kafka.common.record.RecordBatch", "org.apache.kafka.common.record.internal.RecordBatch");
        Class<?> recordClass = oneOf("org.apache.kafka.common.record.Record", "org.apache.kafka.common.record.internal.Record");
        List<Path> segments;
        try (Stream<Path> files = Files.list(folder)) {
            segments = files.filter(file -> file.toString().endsWith(".log")).sorted().toList();
        }
        for (Path segment : segments) {
            Object records = filesClass.getMethod("open", File.class, boolean.class).invoke(null, segment.toFile(), false);
            for (Object batch : (Iterable<?>) filesClass.getMethod("batches").invoke(records)) {
                if ((Boolean) batchClass.getMethod("isControlBatch").invoke(batch)) {
                    continue;
                }
                for (Object record : (Iterable<?>) batch) {
                    if ((Long) recordClass.getMethod("offset").invoke(record) > lastOffset) {
                        ByteBuffer value = (ByteBuffer) recordClass.getMethod("value").invoke(record);
                        delta.replay(MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(value), value.remaining()).message());
                    }
                }
            }
        }
    }

    private static MetadataProvenance provenance(long offset, int epoch, long time) throws Exception {
        for (Constructor<?> constructor : MetadataProvenance.class.getConstructors()) {
            if (constructor.getParameterCount() == 4) {
                return (MetadataProvenance) constructor.newInstance(offset, epoch, time, true);
            }
            if (constructor.getParameterCount() == 3) {
                return (MetadataProvenance) constructor.newInstance(offset, epoch, time);
            }
        }
        throw new NoSuchMethodException("MetadataProvenance");
    }

    private static ImageWriterOptions options(MetadataImage image, String at, Consumer<UnwritableMetadataException> losses) throws Exception {
        ImageWriterOptions.Builder builder = new ImageWriterOptions.Builder(image).setLossHandler(losses);
        if (!at.isEmpty()) {
            MetadataVersion version = version(at);
            builder.setMetadataVersion(version);
            for (Method set : ImageWriterOptions.Builder.class.getMethods()) {
                // Kafka does not name eligible leader replicas as a loss, it ends; so they are left out without a word.
                if (set.getName().equals("setEligibleLeaderReplicasEnabled") && !(Boolean) MetadataVersion.class.getMethod("isElrSupported").invoke(version)) {
                    set.invoke(builder, false);
                }
            }
        }
        return builder.build();
    }

    private static MetadataVersion version(String name) throws Exception {
        for (Method from : MetadataVersion.class.getMethods()) {
            if (from.getName().equals("fromVersionString")) {
                // The second parameter, where there is one, allows versions that are not yet stable.
                return (MetadataVersion) (from.getParameterCount() == 1 ? from.invoke(null, name) : from.invoke(null, name, true));
            }
        }
        throw new NoSuchMethodException("MetadataVersion.fromVersionString");
    }
}
