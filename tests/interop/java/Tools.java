import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's own command line tools one after the other in one JVM.
 *
 * <pre>
 *   Tools '[["org.apache.kafka.tools.TopicCommand", "--list", ...], ...]'
 * </pre>
 *
 * Prints a JSON list with the status and the output of each.
 */
public final class Tools {
    private Tools() {
    }

    /** Ends a tool in the place of the JVM; tools catch it, and say so, after their own last words. */
    private static final class Ended extends RuntimeException {
        private Ended() {
            super(null, null, false, false);
        }
    }

    private static Integer status;

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((status, message) -> {
            if (Tools.status == null) {
                Tools.status = status;
                System.setOut(new PrintStream(OutputStream.nullOutputStream()));
                System.setErr(new PrintStream(OutputStream.nullOutputStream()));
            }
            throw new Ended();
        });
        PrintStream out = System.out;
        List<Object> results = new ArrayList<>();
        for (Object command : new ObjectMapper().readValue(arguments[0], List.class)) {
            results.add(run((List<?>) command));
        }
        out.println(new ObjectMapper().writeValueAsString(results));
        out.flush();
        // Threads of a tool that ended early are no reason to wait.
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> run(List<?> command) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        PrintStream error = System.err;
        System.setOut(stream);
        System.setErr(stream);
        status = null;
        try {
            String[] arguments = command.stream().skip(1).map(Object::toString).toArray(String[]::new);
            Class.forName(command.get(0).toString()).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException e) {
            if (status == null) {
                e.getCause().printStackTrace(stream);
                status = 1;
            }
        } finally {
            System.setErr(error);
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", command);
        result.put("status", status == null ? 0 : status);
        result.put("output", bytes.toString(StandardCharsets.UTF_8));
        return result;
    }
}
