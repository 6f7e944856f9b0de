import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

/**
 * Reads lines "key version hex" (a request's body) and prints for each the body of the answer with which Kafka says that
 * all of it failed with NOT_CONTROLLER, as hex; "-" where it sends none, "! reason" where it cannot read the request.
 */
public final class ErrorResponses {
    private ErrorResponses() {
    }

    public static void main(String[] command) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            System.out.println(answer(Integer.parseInt(words[0]), Short.parseShort(words[1]), words[2]));
        }
    }

    private static String answer(int key, short version, String hex) throws Exception {
        ByteBuffer body = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        AbstractResponse response;
        try {
            response = parse(ApiKeys.forId(key), version, body).getErrorResponse(0, Errors.NOT_CONTROLLER.exception());
        } catch (InvocationTargetException error) {
            return "! " + error.getCause();
        } catch (RuntimeException error) {
            return "! " + error;
        }
        return response == null ? "-" : HexFormat.of().formatHex(bytes(response.data(), version));
    }

    /** Requests are parsed from a buffer up to 4.0, from a Readable later. */
    private static AbstractRequest parse(ApiKeys key, short version, ByteBuffer body) throws Exception {
        for (Method method : AbstractRequest.class.getMethods()) {
            if (method.getName().equals("parseRequest")) {
                boolean takesBuffer = method.getParameterTypes()[2] == ByteBuffer.class;
                Object parsed = method.invoke(null, key, version, takesBuffer ? body : new ByteBufferAccessor(body));
                return (AbstractRequest) parsed.getClass().getField("request").get(parsed);
            }
        }
        throw new IllegalStateException("no parseRequest");
    }

    private static byte[] bytes(ApiMessage message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }
}
