import java.io.BufferedReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * What a release's StandardAuthorizer decides. The argument is a file of tab-separated lines, as
 * tests/data/acls/README.md has them: "case" begins with other settings and no ACLs, "acl" and "ask" follow.
 *
 * For each "ask" a line of two letters: on the resource, and by authorizeByResourceType. A is allowed, D is denied,
 * R is refused by an exception.
 */
public class Authorize {
    static final PrintStream OUT = new PrintStream(System.out, false);

    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = Map.of();
        Map<Uuid, StandardAcl> acls = new LinkedHashMap<>();
        StandardAuthorizer authorizer = null;
        try (BufferedReader in = Files.newBufferedReader(Path.of(arguments[0]))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] fields = line.split("\t", -1);
                switch (fields[0]) {
                    case "case":
                        settings = Map.of("super.users", fields[1], "allow.everyone.if.no.acl.found", fields[2]);
                        acls = new LinkedHashMap<>();
                        authorizer = null;
                        break;
                    case "acl":
                        acls.put(new Uuid(1, acls.size() + 1), acl(fields));
                        break;
                    default:
                        if (authorizer == null)
                            authorizer = authorizer(settings, acls);
                        OUT.println(decided(authorizer, fields));
                }
            }
        }
        OUT.flush();
    }

    static StandardAuthorizer authorizer(Map<String, String> settings, Map<Uuid, StandardAcl> acls) throws Exception {
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.configure(settings);
        measure(authorizer);
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        return authorizer;
    }

    /** Releases whose authorizers have metrics of their own do not work without them. */
    static void measure(StandardAuthorizer authorizer) throws Exception {
        for (Method method : StandardAuthorizer.class.getMethods()) {
            if (method.getName().equals("withPluginMetrics")) {
                Class<?> metrics = Class.forName("org.apache.kafka.common.metrics.internals.PluginMetricsImpl");
                method.invoke(authorizer, metrics.getConstructors()[0].newInstance(new Metrics(), Map.of()));
            }
        }
    }

    static StandardAcl acl(String[] fields) {
        return new StandardAcl(
            ResourceType.fromCode(Byte.parseByte(fields[1])), fields[2], PatternType.fromCode(Byte.parseByte(fields[3])),
            fields[4], fields[5], AclOperation.fromCode(Byte.parseByte(fields[6])),
            AclPermissionType.fromCode(Byte.parseByte(fields[7])));
    }

    static String decided(StandardAuthorizer authorizer, String[] fields) throws Exception {
        AuthorizableRequestContext context = context(fields[1], InetAddress.getByName(fields[2]));
        AclOperation operation = AclOperation.fromCode(Byte.parseByte(fields[3]));
        ResourceType type = ResourceType.fromCode(Byte.parseByte(fields[4]));
        ResourcePattern resource = new ResourcePattern(type, fields[5], PatternType.LITERAL);
        Action action = new Action(operation, resource, 1, true, true);
        return letter(() -> authorizer.authorize(context, List.of(action)).get(0))
            + letter(() -> authorizer.authorizeByResourceType(context, operation, type));
    }

    interface Decision {
        AuthorizationResult get();
    }

    static String letter(Decision decision) {
        try {
            return decision.get() == AuthorizationResult.ALLOWED ? "A" : "D";
        } catch (IllegalArgumentException refused) {
            return "R";
        }
    }

    static AuthorizableRequestContext context(String principal, InetAddress address) {
        int colon = principal.indexOf(':');
        KafkaPrincipal who = new KafkaPrincipal(principal.substring(0, colon), principal.substring(colon + 1));
        return new AuthorizableRequestContext() {
            @Override public String listenerName() {
                return "PLAINTEXT";
            }

            @Override public SecurityProtocol securityProtocol() {
                return SecurityProtocol.PLAINTEXT;
            }

            @Override public KafkaPrincipal principal() {
                return who;
            }

            @Override public InetAddress clientAddress() {
                return address;
            }

            @Override public int requestType() {
                return 0;
            }

            @Override public int requestVersion() {
                return 0;
            }

            @Override public String clientId() {
                return "";
            }

            @Override public int correlationId() {
                return 0;
            }
        };
    }
}
