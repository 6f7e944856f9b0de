import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Members of groups, with the consumer of the release that it runs on: does what each line of standard input says, a
 * JSON object with "command" and the member's "name", and answers each with a line as ClientCommands does.
 */
public final class GroupMembers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, KafkaConsumer<String, String>> MEMBERS = new HashMap<>();

    private GroupMembers() {
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("result", run(JSON.readTree(line)));
            } catch (Exception e) {
                answer.put("error", Errors.forException(e).code());
                answer.put("class", e.getClass().getSimpleName());
                answer.put("message", String.valueOf(e.getMessage()));
            }
            System.out.println(JSON.writeValueAsString(answer));
            System.out.flush();
        }
    }

    private static Object run(JsonNode command) {
        String name = command.get("name").asText();
        KafkaConsumer<String, String> member = MEMBERS.get(name);
        switch (command.get("command").asText()) {
            case "subscribe": return subscribe(name, command);
            case "poll": return poll(member, command.get("ms").asInt());
            case "assignment": return member.assignment().stream().map(TopicPartition::partition).sorted().toList();
            case "commit": commit(member, command); return null;
            case "close": MEMBERS.remove(name).close(); return null;
            default: throw new IllegalArgumentException("no such command: " + command.get("command"));
        }
    }

    private static Object subscribe(String name, JsonNode command) {
        Map<String, Object> config = new HashMap<>();
        command.get("config").fields().forEachRemaining(one -> config.put(one.getKey(), one.getValue().asText()));
        KafkaConsumer<String, String> member =
            new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        MEMBERS.put(name, member);
        if (command.has("pattern")) {
            member.subscribe(Pattern.compile(command.get("pattern").asText()));
        } else {
            member.subscribe(List.of(command.get("topic").asText()));
        }
        return null;
    }

    /** Commits what was read, or the offsets that the command has, by partition. */
    private static void commit(KafkaConsumer<String, String> member, JsonNode command) {
        if (!command.has("offsets")) {
            member.commitSync();
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        String topic = command.get("topic").asText();
        command.get("offsets").fields().forEachRemaining(one -> offsets.put(
            new TopicPartition(topic, Integer.parseInt(one.getKey())),
            new OffsetAndMetadata(one.getValue().asLong())));
        member.commitSync(offsets);
    }

    private static Object poll(KafkaConsumer<String, String> member, int ms) {
        List<Object> found = new ArrayList<>();
        for (ConsumerRecord<String, String> record : member.poll(Duration.ofMillis(ms))) {
            found.add(List.of(record.partition(), record.offset(), record.value()));
        }
        return found;
    }
}
