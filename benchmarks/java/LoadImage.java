import java.nio.file.Path;
import org.apache.kafka.image.MetadataImage;

/**
 * A snapshot to Kafka's metadata image: snapshot reader, delta, apply.
 *
 * <pre>
 *   LoadImage FILE ROUNDS
 * </pre>
 */
public final class LoadImage {
    private static MetadataImage image;

    private LoadImage() {
    }

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        String seconds = Snapshots.timed(Integer.parseInt(arguments[1]), () -> image = Snapshots.load(file));
        System.out.printf("{\"topics\": %d, %s}%n", image.topics().topicsById().size(), seconds);
    }
}
