// As little as can be put around the Java client to send on a schedule and to know when each message was acknowledged.
// Arguments: bootstrap, topic, messages per second, warm-up, measured messages. Prints the CPU time of the measured part,
// then intended, actual and acknowledge time of each measured message, all in nanoseconds.

import java.lang.management.ManagementFactory;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Acknowledge {
    static final int VALUE_BYTES = 1024;
    static final long SPIN_NS = 100_000;

    public static void main(String[] words) throws Exception {
        String topic = words[1];
        double gapNs = 1e9 / Long.parseLong(words[2]);
        int warmUp = Integer.parseInt(words[3]);
        int total = warmUp + Integer.parseInt(words[4]);
        Properties properties = new Properties();
        properties.put("bootstrap.servers", words[0]);
        properties.put("acks", "all");
        properties.put("linger.ms", "0");
        properties.put("enable.idempotence", "true");
        long[] due = new long[total];
        long[] sent = new long[total];
        long[] acknowledged = new long[total];
        CountDownLatch open = new CountDownLatch(total);
        AtomicReference<Exception> failure = new AtomicReference<>();
        long cpuNs = 0;
        byte[] value = new byte[VALUE_BYTES];
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
            producer.send(new ProducerRecord<>(topic, value)).get();
            long start = System.nanoTime() + 5_000_000;
            for (int index = 0; index < total; index++) {
                int own = index;
                due[own] = start + (long) (own * gapNs);
                for (long left; (left = due[own] - System.nanoTime()) > 0; ) {
                    if (left <= SPIN_NS) {
                        Thread.onSpinWait();
                    } else {
                        LockSupport.parkNanos(left - SPIN_NS);
                    }
                }
                if (own == warmUp) {
                    cpuNs = cpu();
                }
                sent[own] = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, value), (metadata, error) -> {
                    acknowledged[own] = System.nanoTime();
                    if (error != null) {
                        failure.set(error);
                    }
                    open.countDown();
                });
            }
            if (!open.await(10, TimeUnit.SECONDS)) {
                throw new IllegalStateException(open.getCount() + " of " + total + " messages were not acknowledged");
            }
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        StringBuilder text = new StringBuilder().append(cpu() - cpuNs).append('\n');
        for (int index = warmUp; index < total; index++) {
            text.append(due[index]).append(' ').append(sent[index]).append(' ').append(acknowledged[index]).append('\n');
        }
        System.out.print(text);
    }

    static long cpu() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime();
    }
}
