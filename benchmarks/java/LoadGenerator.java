import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Sends one request over and over and counts the answers. Knows frames (a length of four bytes before everything) and
 * where the correlation id stands, and nothing else of Kafka: neither side's code is in the way of the other's.
 *
 *   LoadGenerator HOST:PORT CONNECTIONS IN_FLIGHT WARM_UP_MS MEASURED_MS PID[,PID...] FILE[,FILE...] COUNTER_AT DIGITS
 *
 * Each connection keeps IN_FLIGHT requests open. Each FILE has a request, header and body without the length; the
 * connections take them in turn. If DIGITS is not 0, that many decimal digits at COUNTER_AT are another number in each
 * request. One thread sends all, so that the generator never takes more than one core. Prints one JSON object: answers,
 * their bytes, seconds, the processor time that the processes PID took, percentiles of the latency in microseconds, the
 * first answer in hex.
 */
public final class LoadGenerator {
    private static final int CORRELATION_AT = 8; // behind length, key and version
    private static final int TICKS_PER_SECOND = 100; // of /proc, on every Linux that there is

    private final byte[][] requests;
    private final int counterAt;
    private final int digits;
    private long counter;
    private long answers;
    private long answerBytes;
    private byte[] firstAnswer = new byte[0];
    private long[] latencies = new long[1 << 16];
    private int latencyCount;
    private boolean measures;

    private LoadGenerator(byte[][] bodies, int counterAt, int digits) {
        this.requests = new byte[bodies.length][];
        for (int number = 0; number < bodies.length; number++) {
            byte[] body = bodies[number];
            this.requests[number] = ByteBuffer.allocate(4 + body.length).putInt(body.length).put(body).array();
        }
        this.counterAt = counterAt + 4;
        this.digits = digits;
    }

    private final class Connection {
        final SocketChannel channel;
        final long[] sentAt;
        final ByteBuffer out;
        final byte[] request;
        ByteBuffer in = ByteBuffer.allocate(1 << 20);
        long sent;
        long received;

        Connection(InetSocketAddress address, byte[] request, int inFlight, Selector selector) throws IOException {
            this.request = request;
            channel = SocketChannel.open(address);
            channel.socket().setTcpNoDelay(true);
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ, this);
            sentAt = new long[inFlight];
            out = ByteBuffer.allocate(request.length * inFlight);
        }

        void send() throws IOException {
            while (sent - received < sentAt.length && out.remaining() >= request.length) {
                int at = out.position();
                out.put(request);
                out.putInt(at + CORRELATION_AT, (int) sent);
                if (digits > 0) {
                    long number = counter++;
                    for (int digit = digits - 1; digit >= 0; digit--, number /= 10) {
                        out.put(at + counterAt + digit, (byte) ('0' + number % 10));
                    }
                }
                sentAt[(int) (sent++ % sentAt.length)] = System.nanoTime();
            }
            out.flip();
            channel.write(out);
            out.compact();
        }

        void receive() throws IOException {
            if (channel.read(in) < 0) {
                throw new IOException("the server has closed the connection after " + received + " answers");
            }
            in.flip();
            while (in.remaining() >= 4 && in.remaining() >= 4 + in.getInt(in.position())) {
                int length = in.getInt();
                if (in.getInt(in.position()) != (int) received) {
                    throw new IOException("an answer out of order");
                }
                take(length, sentAt[(int) (received++ % sentAt.length)]);
                in.position(in.position() + length);
            }
            int wanted = in.remaining() >= 4 ? 4 + in.getInt(in.position()) : 0;
            if (wanted > in.capacity()) {
                in = ByteBuffer.allocate(2 * wanted).put(in);
            } else {
                in.compact();
            }
        }

        private void take(int length, long sentAtNanos) {
            if (firstAnswer.length == 0) {
                firstAnswer = new byte[length];
                in.duplicate().get(firstAnswer);
            }
            if (measures) {
                answers++;
                answerBytes += length;
                if (latencyCount < latencies.length) {
                    latencies[latencyCount++] = System.nanoTime() - sentAtNanos;
                }
            }
        }
    }

    private void run(InetSocketAddress address, int count, int inFlight, long warmUpMs, long measuredMs, String[] pids)
            throws IOException {
        Selector selector = Selector.open();
        Connection[] connections = new Connection[count];
        for (int number = 0; number < count; number++) {
            connections[number] = new Connection(address, requests[number % requests.length], inFlight, selector);
            connections[number].send();
        }
        pump(selector, warmUpMs);
        measures = true;
        double cpuBefore = cpuSeconds(pids);
        long start = System.nanoTime();
        pump(selector, measuredMs);
        double seconds = (System.nanoTime() - start) / 1e9;
        double cpu = cpuSeconds(pids) - cpuBefore;
        long[] sorted = Arrays.copyOf(latencies, latencyCount);
        Arrays.sort(sorted);
        System.out.printf(
            "{\"answers\": %d, \"bytes\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.3f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                + "\"first_answer\": \"%s\"}%n",
            answers, answerBytes, seconds, cpu, percentile(sorted, 0.5), percentile(sorted, 0.99),
            HexFormat.of().formatHex(firstAnswer));
    }

    private static void pump(Selector selector, long forMs) throws IOException {
        long end = System.nanoTime() + forMs * 1_000_000;
        while (System.nanoTime() < end) {
            selector.select(100);
            for (SelectionKey key : selector.selectedKeys()) {
                Connection connection = (Connection) key.attachment();
                connection.receive();
                connection.send();
            }
            selector.selectedKeys().clear();
        }
    }

    private static double percentile(long[] sorted, double share) {
        return sorted.length == 0 ? 0 : sorted[(int) (share * (sorted.length - 1))] / 1e3;
    }

    /** User and system time of processes, all threads. */
    private static double cpuSeconds(String[] pids) throws IOException {
        double ticks = 0;
        for (String pid : pids) {
            String stat = Files.readString(Path.of("/proc", pid, "stat"), StandardCharsets.ISO_8859_1);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            ticks += Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
        }
        return ticks / TICKS_PER_SECOND;
    }

    public static void main(String[] arguments) throws IOException {
        String[] place = arguments[0].split(":");
        String[] files = arguments[6].split(",");
        byte[][] bodies = new byte[files.length][];
        for (int number = 0; number < files.length; number++) {
            bodies[number] = Files.readAllBytes(Path.of(files[number]));
        }
        LoadGenerator generator =
            new LoadGenerator(bodies, Integer.parseInt(arguments[7]), Integer.parseInt(arguments[8]));
        generator.run(
            new InetSocketAddress(place[0], Integer.parseInt(place[1])),
            Integer.parseInt(arguments[1]),
            Integer.parseInt(arguments[2]),
            Long.parseLong(arguments[3]),
            Long.parseLong(arguments[4]),
            arguments[5].split(","));
    }
}
