import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * A JVM for the tests of the agent: beans with known values under Kafka's names, and garbage on demand. Each line that comes in is an order:
 * {@code garbage N} allocates N MiB of which the last few are kept for a while, {@code count N} adds N to the counts; each is answered by
 * {@code done}. It ends with its input.
 */
public final class Target {
    private static volatile long count = 7;

    /** Attributes that are computed when they are asked for. */
    private interface Values {
        Object get(String attribute);
    }

    public static void main(String[] arguments) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        Values values = Target::value;
        String[] metric = {"Count", "Mean", "50thPercentile", "RateUnit", "Value"};
        for (String name : new String[] {
            "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=Produce",
            "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce",
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
            "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=\"a,b=\\\"c\\\\d\\\"\"",
            "kafka.log:type=Log,name=Size,topic=t,partition=0",
        }) {
            server.registerMBean(bean(values, metric), new ObjectName(name));
        }
        server.registerMBean(
            bean(values, "io-wait-time-ns-total", "broken", "secret"),
            new ObjectName("kafka.server:type=socket-server-metrics,listener=PLAINTEXT,networkProcessor=0"));
        System.out.println("ready");
        ArrayDeque<byte[]> kept = new ArrayDeque<>();
        java.io.BufferedReader in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int number = Integer.parseInt(line.substring(line.indexOf(' ') + 1));
            if (line.startsWith("count ")) {
                count += number;
            } else {
                for (int mebibyte = 0; mebibyte < number; mebibyte++) {
                    kept.add(new byte[1 << 20]);
                    if (kept.size() > 4) {
                        kept.remove();
                    }
                }
            }
            System.out.println("done");
        }
    }

    private static Object value(String attribute) {
        switch (attribute) {
            case "Count":
                return count;
            case "Mean":
                return 3.5;
            case "Value":
                return Double.NaN;
            case "io-wait-time-ns-total":
                return 1e9 * count;
            case "broken":
                throw new IllegalStateException("this getter throws");
            default:
                return "hunter2";
        }
    }

    private static DynamicMBean bean(Values values, String... attributes) {
        return new DynamicMBean() {
            @Override
            public Object getAttribute(String attribute) {
                return values.get(attribute);
            }

            @Override
            public AttributeList getAttributes(String[] names) {
                AttributeList list = new AttributeList();
                for (String name : names) {
                    try {
                        list.add(new Attribute(name, values.get(name)));
                    } catch (IllegalStateException broken) {
                        // As the server's own beans do: an attribute that cannot be had is left out.
                    }
                }
                return list;
            }

            @Override
            public MBeanInfo getMBeanInfo() {
                MBeanAttributeInfo[] infos = new MBeanAttributeInfo[attributes.length];
                for (int at = 0; at < attributes.length; at++) {
                    infos[at] = new MBeanAttributeInfo(attributes[at], "java.lang.Object", "", true, false, false);
                }
                return new MBeanInfo("Target", "", infos, null, null, null);
            }

            @Override
            public void setAttribute(Attribute attribute) {}

            @Override
            public AttributeList setAttributes(AttributeList attributes) {
                return new AttributeList();
            }

            @Override
            public Object invoke(String action, Object[] parameters, String[] signature) {
                return null;
            }
        };
    }
}
