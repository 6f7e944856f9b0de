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
import java.util.StringJoiner;

/**
 * Sends one request to each target over and over and counts the answers. Knows frames (a length of four bytes before
 * everything) and where the correlation id stands, and nothing else of Kafka: neither side's code is in the way of the
 * other's.
 *
 *   LoadGenerator CONNECTIONS IN_FLIGHT WARM_UP_MS MEASURED_MS TARGET...
 *
 * TARGET: HOST:PORT PID[,PID...] FILE[,FILE...] COUNTER_AT DIGITS
 *
 * Targets take turns of a tenth of a second until each has had WARM_UP_MS and then MEASURED_MS: how fast the machine is
 * changes from second to second, and so for all alike. Each connection keeps IN_FLIGHT requests open in a turn, and
 * has all its answers at the turn's end. Each FILE has a request, header and body without the length; the connections
 * take them in turn. If DIGITS is not 0, that many decimal digits at COUNTER_AT are another number in each request.
 * One thread sends all, so that the generator never takes more than one core.
 *
 * Prints a JSON array with an object for each target: answers, their bytes, seconds of its turns, the processor time
 * that the processes PID took meanwhile and in the turns of others, percentiles of the latency in microseconds, the
 * first answer in hex.
 */
public final class LoadGenerator {
    private static final int CORRELATION_AT = 8; // behind length, key and version
    private static final int TICKS_PER_SECOND = 100; // of /proc, on every Linux that there is
    private static final int FIRST_TARGET = 4;
    private static final int TARGET_ARGUMENTS = 5;
    private static final long TURN_NANOS = 100_000_000;

    private final String[] pids;
    private final Selector selector = Selector.open();
    private final Connection[] connections;
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
    private double cpuBefore;
    private long takenNanos;

    private LoadGenerator(String[] target, int count, int inFlight) throws IOException {
        String[] place = target[0].split(":");
        this.pids = target[1].split(",");
        String[] files = target[2].split(",");
        this.counterAt = Integer.parseInt(target[3]) + 4;
        this.digits = Integer.parseInt(target[4]);
        this.requests = new byte[files.length][];
        for (int number = 0; number < files.length; number++) {
            byte[] body = Files.readAllBytes(Path.of(files[number]));
            this.requests[number] = ByteBuffer.allocate(4 + body.length).putInt(body.length).put(body).array();
        }
        InetSocketAddress address = new InetSocketAddress(place[0], Integer.parseInt(place[1]));
        this.connections = new Connection[count];
        for (int number = 0; number < count; number++) {
            connections[number] = new Connection(address, requests[number % requests.length], inFlight, selector);
        }
    }

    private final class Connection {
        final SocketChannel channel;
        final SelectionKey key;
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
            key = channel.register(selector, SelectionKey.OP_READ, this);
            sentAt = new long[inFlight];
            out = ByteBuffer.allocate(request.length * inFlight);
        }

        void send(boolean goesOn) throws IOException {
            while (goesOn && sent - received < sentAt.length && out.remaining() >= request.length) {
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
            int wanted = out.position() == 0 ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE;
            if (key.interestOps() != wanted) {
                key.interestOps(wanted);
            }
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

    /** Let the targets take turns until each has had so much time. */
    private static void takeTurns(LoadGenerator[] targets, long forMs) throws IOException {
        for (long left = forMs * 1_000_000; left > 0; left -= TURN_NANOS) {
            for (LoadGenerator target : targets) {
                target.takeTurn(Math.min(left, TURN_NANOS));
            }
        }
    }

    private void takeTurn(long nanos) throws IOException {
        long start = System.nanoTime();
        for (Connection connection : connections) {
            connection.send(true);
        }
        while (System.nanoTime() < start + nanos) {
            pump(true);
        }
        for (Connection connection : connections) {
            while (connection.received < connection.sent) {
                pump(false);
            }
        }
        if (measures) {
            takenNanos += System.nanoTime() - start;
        }
    }

    private void pump(boolean goesOn) throws IOException {
        selector.select(100);
        for (SelectionKey key : selector.selectedKeys()) {
            Connection connection = (Connection) key.attachment();
            connection.receive();
            connection.send(goesOn);
        }
        selector.selectedKeys().clear();
    }

    private void beginMeasuring() throws IOException {
        measures = true;
        cpuBefore = cpuSeconds(pids);
    }

    private String measured() throws IOException {
        double cpu = cpuSeconds(pids) - cpuBefore;
        long[] sorted = Arrays.copyOf(latencies, latencyCount);
        Arrays.sort(sorted);
        return String.format(
            "{\"answers\": %d, \"bytes\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.3f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                + "\"first_answer\": \"%s\"}",
            answers, answerBytes, takenNanos / 1e9, cpu, percentile(sorted, 0.5), percentile(sorted, 0.99),
            HexFormat.of().formatHex(firstAnswer));
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
        int count = Integer.parseInt(arguments[0]);
        int inFlight = Integer.parseInt(arguments[1]);
        LoadGenerator[] targets = new LoadGenerator[(arguments.length - FIRST_TARGET) / TARGET_ARGUMENTS];
        for (int number = 0; number < targets.length; number++) {
            int from = FIRST_TARGET + number * TARGET_ARGUMENTS;
            String[] target = Arrays.copyOfRange(arguments, from, from + TARGET_ARGUMENTS);
            targets[number] = new LoadGenerator(target, count, inFlight);
        }
        takeTurns(targets, Long.parseLong(arguments[2]));
        for (LoadGenerator target : targets) {
            target.beginMeasuring();
        }
        takeTurns(targets, Long.parseLong(arguments[3]));
        StringJoiner measured = new StringJoiner(", ", "[", "]");
        for (LoadGenerator target : targets) {
            measured.add(target.measured());
        }
        System.out.println(measured);
    }
}
