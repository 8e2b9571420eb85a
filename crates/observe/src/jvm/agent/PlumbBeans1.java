import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;

/**
 * Writes the numbers of this JVM's Kafka and garbage collection MBeans to a file, once, as a Prometheus page with the names that the
 * JMX exporter gives without rules: domain, type and attribute, then the other keys as labels.
 *
 * <p>Starts no thread, opens no port, keeps nothing. Beans of single partitions are left out, and so are percentiles and decaying rates:
 * a broker has tens of thousands of the former, the latter are costly to compute, and nobody reads either. The page ends with
 * {@code # end}; one without it was cut short.
 *
 * <p>The number in the class's name rises with every change: a JVM that has loaded one version keeps it.
 */
public final class PlumbBeans1 {
    private static final long NS_MAX = TimeUnit.SECONDS.toNanos(8);
    private static final long CHARACTERS_MAX = 48L << 20;
    /** {@code name=value} pairs of an object name, as it has them. */
    private static final String[] PATTERNS = {
        "kafka.*:*",
        "java.lang:type=GarbageCollector,*",
        "java.lang:type=Memory",
        "java.lang:type=MemoryPool,*",
        "java.lang:type=Runtime",
        "java.lang:type=Threading",
    };

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final long begin = System.nanoTime();
    private final Writer out;
    private long written;

    private PlumbBeans1(Writer out) {
        this.out = out;
    }

    /** Called by the JVM. Whatever goes wrong is written to the file: a JVM prints what an agent throws into its own log. */
    public static void agentmain(String file) {
        try (Writer out = new BufferedWriter(
                new OutputStreamWriter(
                    Files.newOutputStream(Paths.get(file), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    StandardCharsets.UTF_8))) {
            try {
                new PlumbBeans1(out).all();
                out.write("# end\n");
            } catch (Throwable thrown) {
                out.write("\n# failed: " + thrown.toString().replace('\n', ' ') + "\n");
            }
        } catch (Throwable thrown) {
            // The page lacks its end.
        }
    }

    private void all() throws JMException, IOException {
        for (String pattern : PATTERNS) {
            for (ObjectName name : server.queryNames(new ObjectName(pattern), null)) {
                if (name.getKeyProperty("partition") == null) {
                    bean(name);
                }
            }
        }
    }

    private void bean(ObjectName name) throws IOException {
        if (System.nanoTime() - begin > NS_MAX) {
            throw new IOException("the beans took longer than " + TimeUnit.NANOSECONDS.toSeconds(NS_MAX) + " s to read");
        }
        List<Attribute> attributes;
        try {
            attributes = server.getAttributes(name, wanted(name)).asList();
        } catch (JMException | RuntimeException gone) {
            // A bean may go between the listing and the reading, and its getters may throw what they like.
            return;
        }
        Map<String, String> labels = new TreeMap<>();
        String type = null;
        for (String pair : pairs(name.getKeyPropertyListString())) {
            String key = pair.substring(0, pair.indexOf('='));
            String value = unquoted(pair.substring(pair.indexOf('=') + 1));
            if (key.equals("type")) {
                type = value;
            } else {
                labels.put(key, value);
            }
        }
        // The type comes first also where a JVM names it last, as it does for its own beans.
        String prefix = name.getDomain() + (type == null ? "" : "_" + type);
        for (Attribute attribute : attributes) {
            value(prefix + "_" + attribute.getName(), labels, attribute.getValue());
        }
    }

    /** Attributes that can hold a number and are cheap to read. */
    private String[] wanted(ObjectName name) throws JMException {
        List<String> wanted = new ArrayList<>();
        for (MBeanAttributeInfo attribute : server.getMBeanInfo(name).getAttributes()) {
            String called = attribute.getName();
            boolean costly = called.endsWith("Percentile") || called.endsWith("StdDev") || called.endsWith("MinuteRate")
                || called.equals("MeanRate");
            if (attribute.isReadable() && !costly && !isText(attribute.getType())) {
                wanted.add(called);
            }
        }
        return wanted.toArray(new String[0]);
    }

    private static boolean isText(String type) {
        // Arrays are of threads and of names; a table of strings is the system's properties, which may hold secrets.
        return type.equals("java.lang.String") || type.startsWith("[") || type.equals("javax.management.ObjectName")
            || type.equals("javax.management.openmbean.TabularData") || type.equals("java.util.concurrent.TimeUnit");
    }

    private void value(String metric, Map<String, String> labels, Object value) throws IOException {
        if (value instanceof Number) {
            sample(metric, labels, number((Number) value));
        } else if (value instanceof Boolean) {
            sample(metric, labels, (Boolean) value ? "1" : "0");
        } else if (value instanceof CompositeData) {
            CompositeData composite = (CompositeData) value;
            for (String key : composite.getCompositeType().keySet()) {
                value(metric + "_" + key, labels, composite.get(key));
            }
        } else if (value instanceof TabularData) {
            for (Object row : ((TabularData) value).values()) {
                CompositeData pair = (CompositeData) row;
                if (pair.containsKey("key") && pair.containsKey("value")) {
                    Map<String, String> more = new TreeMap<>(labels);
                    more.put("key", String.valueOf(pair.get("key")));
                    value(metric, more, pair.get("value"));
                }
            }
        }
    }

    private void sample(String metric, Map<String, String> labels, String value) throws IOException {
        StringBuilder line = new StringBuilder(safe(metric));
        char separator = '{';
        for (Map.Entry<String, String> label : labels.entrySet()) {
            String text = label.getValue().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
            line.append(separator).append(safe(label.getKey())).append("=\"").append(text).append('"');
            separator = ',';
        }
        if (separator == ',') {
            line.append('}');
        }
        line.append(' ').append(value).append('\n');
        written += line.length();
        if (written > CHARACTERS_MAX) {
            throw new IOException("the page is longer than " + CHARACTERS_MAX + " characters");
        }
        out.append(line);
    }

    private static String number(Number value) {
        double number = value.doubleValue();
        if (Double.isNaN(number)) {
            return "NaN";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "+Inf" : "-Inf";
        }
        return value.toString();
    }

    /** Only letters, digits and underscores, and no digit first. */
    private static String safe(String name) {
        StringBuilder safe = new StringBuilder(name.length());
        for (int at = 0; at < name.length(); at++) {
            char c = name.charAt(at);
            boolean letter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_';
            boolean digit = c >= '0' && c <= '9' && at > 0;
            safe.append(letter || digit ? c : '_');
        }
        return safe.toString();
    }

    /** The pairs of {@code type=a,name="b,c"}; a comma in quotes is a part of the value. */
    private static List<String> pairs(String list) {
        List<String> pairs = new ArrayList<>();
        boolean quoted = false;
        int from = 0;
        for (int at = 0; at < list.length(); at++) {
            char c = list.charAt(at);
            if (quoted && c == '\\') {
                at++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ',' && !quoted) {
                pairs.add(list.substring(from, at));
                from = at + 1;
            }
        }
        pairs.add(list.substring(from));
        return pairs;
    }

    private static String unquoted(String value) {
        return value.startsWith("\"") ? ObjectName.unquote(value) : value;
    }
}
