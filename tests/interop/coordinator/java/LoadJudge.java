import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Runs the real loaders of a Kafka release on records. One program for all releases, so everything of Kafka that
 * differs between them is found by reflection.
 *
 * <p>Input, one line each:
 *
 * <pre>
 * K new|old                           a partition begins, and which loader it is for
 * R offset producerId key value       a record; key and value in hex, "-" for null, "=" for empty
 * E offset producerId commit|abort    the end of a transaction
 * F                                   the partition ends
 * C property=value ...                which group coordinator a broker runs by these properties, each in hex
 * </pre>
 *
 * <p>Answers R with "read", "skipped" or "fails REASON"; a record that fails is taken back, so that it counts as not
 * there. Answers F with "loaded" and a line "group ..." for each group, or "fails REASON", and then ".".
 * Answers C with "old" or "new", or "fails REASON" if no broker starts with these properties.
 */
public final class LoadJudge {
    /** One partition while it loads. */
    interface Partition {
        /** Says "read" or "skipped". What Kafka throws comes as InvocationTargetException, and is a failure. */
        String replay(long offset, long producerId, ByteBuffer key, ByteBuffer value) throws Exception;

        default void endTransaction(long producerId, boolean isCommit) throws Exception {
        }

        /** Says what there is now. */
        default String finish() throws Exception {
            return "";
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Partition partition = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "K" -> partition = begin(words[1]);
                case "R" -> out.println(record(partition, words));
                case "E" -> partition.endTransaction(Long.parseLong(words[2]), words[3].equals("commit"));
                case "F" -> {
                    out.println(verdict(partition::finish));
                    out.println(".");
                }
                case "C" -> out.println(verdict(() -> BrokerConfig.coordinator(properties(words))));
                default -> throw new IllegalArgumentException(line);
            }
        }
        out.flush();
    }

    /** What a call of Kafka's came to; anything that is not Kafka's own exception is a mistake of ours. */
    private static String verdict(Callable<String> call) throws Exception {
        try {
            return call.call();
        } catch (InvocationTargetException thrown) {
            Throwable cause = thrown.getCause();
            String kind = cause.getClass().getSimpleName();
            return kind.equals("UnknownRecordTypeException")
                ? "skipped"
                : "fails " + (kind + ": " + cause.getMessage()).replaceAll("\\s+", " ");
        }
    }

    private static String record(Partition partition, String[] words) throws Exception {
        ByteBuffer key = bytes(words[3]);
        ByteBuffer value = bytes(words[4]);
        return verdict(() -> partition.replay(Long.parseLong(words[1]), Long.parseLong(words[2]), key, value));
    }

    private static Partition begin(String kind) throws Exception {
        return switch (kind) {
            case "new" -> new NewCoordinator();
            case "old" -> new OldCoordinator();
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static Map<String, String> properties(String[] words) {
        Map<String, String> properties = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            String[] pair = new String(bytes(words[i]).array(), StandardCharsets.UTF_8).split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        return properties;
    }

    private static ByteBuffer bytes(String hex) {
        return hex.equals("-") ? null : ByteBuffer.wrap(HexFormat.of().parseHex(hex.equals("=") ? "" : hex));
    }
}
