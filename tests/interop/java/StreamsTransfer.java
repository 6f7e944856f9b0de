import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * A Kafka Streams application that moves numbers from one topic to another, exactly once, until it is killed.
 *
 * <pre>
 *   StreamsTransfer --bootstrap SERVERS --source TOPIC --target TOPIC --name NAME --state FOLDER
 * </pre>
 *
 * On the way, each number is counted, by way of a repartition topic and a store with a changelog: a number that is
 * counted twice arrives as another one. The name is the application's id. After any error it ends.
 */
public final class StreamsTransfer {
    private static final long COUNTED_AGAIN = 1_000_000_000L;

    public static void main(String[] words) {
        Arguments arguments = new Arguments(words, Set.of("bootstrap", "source", "target", "name", "state"), Set.of());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments.get("source", ""))
                .groupBy((key, number) -> number)
                .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")))
                .toStream()
                .map((number, count) -> new KeyValue<>(number, Long.toString(Long.parseLong(number) + (count - 1) * COUNTED_AGAIN)))
                .to(arguments.get("target", ""));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties(arguments));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }

    private static Properties properties(Arguments arguments) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments.get("bootstrap", ""));
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments.get("name", ""));
        properties.put(StreamsConfig.STATE_DIR_CONFIG, arguments.get("state", ""));
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "3");
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
        properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        properties.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), "1000");
        properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        properties.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), "10000");
        return properties;
    }

    private StreamsTransfer() {}
}
