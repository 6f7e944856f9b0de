import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;

/** One request and its response at a time, for APIs that no client class sends. */
final class RawConnection implements AutoCloseable {
    private final Socket socket;
    private int correlationId;

    RawConnection(String host, int port) throws IOException {
        socket = new Socket(host, port);
        socket.setSoTimeout(20_000);
    }

    AbstractResponse send(AbstractRequest request) throws IOException {
        ApiKeys api = request.apiKey();
        RequestHeader header = new RequestHeader(api, request.version(), "seed-raw", ++correlationId);
        ByteBuffer bytes = request.serializeWithHeader(header);
        ByteBuffer frame = ByteBuffer.allocate(4 + bytes.remaining()).putInt(bytes.remaining()).put(bytes);
        socket.getOutputStream().write(frame.array());
        DataInputStream in = new DataInputStream(socket.getInputStream());
        byte[] response = new byte[in.readInt()];
        in.readFully(response);
        return AbstractResponse.parseResponse(ByteBuffer.wrap(response), header);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
