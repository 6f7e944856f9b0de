import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriter;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.UnwritableMetadataException;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Keeps one metadata image by a Kafka release's own classes. Each line of stdin is answered by one line:
 *
 *   new                       forget the image                      ok
 *   replay HEX HEX ...        replay records in one delta           ok, or: error REASON
 *   write LEVEL true|false    write the image at a level, with      records HEX HEX ... (losses are let pass),
 *                             eligible leader replicas or without   or: error REASON
 */
public class ReplayImage {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();
    private static final HexFormat HEX = HexFormat.of();

    private MetadataImage image = MetadataImage.EMPTY;

    public static void main(String[] arguments) throws Exception {
        ReplayImage program = new ReplayImage();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String answer;
            try {
                answer = program.answer(line.split(" "));
            } catch (Exception | Error error) {
                answer = "error " + error.toString().replace('\n', ' ');
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "new":
                image = MetadataImage.EMPTY;
                return "ok";
            case "replay":
                replay(words);
                return "ok";
            case "write":
                return write(Short.parseShort(words[1]), Boolean.parseBoolean(words[2]));
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private void replay(String[] words) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        for (int index = 1; index < words.length; index++) {
            byte[] value = HEX.parseHex(words[index]);
            ByteBufferAccessor bytes = new ByteBufferAccessor(ByteBuffer.wrap(value));
            delta.replay(SERDE.read(bytes, value.length).message());
        }
        image = delta.apply(provenance());
    }

    private String write(short level, boolean elr) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        image.write(new ImageWriter() {
            @Override
            public void write(ApiMessageAndVersion record) {
                records.add(record);
            }

            @Override
            public void close(boolean complete) { }
        }, options(MetadataVersion.fromFeatureLevel(level), elr));
        StringBuilder line = new StringBuilder("records");
        for (ApiMessageAndVersion record : records) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(SERDE.recordSize(record, cache));
            SERDE.write(record, cache, new ByteBufferAccessor(bytes));
            line.append(' ').append(HEX.formatHex(bytes.array()));
        }
        return line.toString();
    }

    /** Releases differ in the constructors of both classes. */
    private static MetadataProvenance provenance() throws Exception {
        Constructor<?> constructor = MetadataProvenance.class.getConstructors()[0];
        Object[] values = {0L, 1, 0L, true};
        return (MetadataProvenance) constructor.newInstance(
            java.util.Arrays.copyOf(values, constructor.getParameterCount()));
    }

    private static ImageWriterOptions options(MetadataVersion version, boolean elr) throws Exception {
        Class<?> builderClass = ImageWriterOptions.Builder.class;
        Object builder;
        try {
            builder = builderClass.getConstructor(MetadataVersion.class).newInstance(version);
        } catch (NoSuchMethodException older) {
            builder = builderClass.getConstructor().newInstance();
            builderClass.getMethod("setMetadataVersion", MetadataVersion.class).invoke(builder, version);
        }
        try {
            builderClass.getMethod("setEligibleLeaderReplicasEnabled", boolean.class).invoke(builder, elr);
        } catch (NoSuchMethodException older) {
            // There are none before 4.0.
        }
        Consumer<UnwritableMetadataException> goOn = loss -> { };
        builderClass.getMethod("setLossHandler", Consumer.class).invoke(builder, goOn);
        return (ImageWriterOptions) builderClass.getMethod("build").invoke(builder);
    }
}
