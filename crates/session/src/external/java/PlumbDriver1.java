import java.io.DataInputStream;
import java.io.EOFException;
import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * One producer or consumer of the client for Java, as Plumb orders it: docs/guide/external-drivers.md has the protocol. Orders come on
 * standard input, which is a socket, and reports go out on it. System.nanoTime() is CLOCK_MONOTONIC on Linux.
 */
public final class PlumbDriver1 {
    private static final int HEAD_BYTES = 48;
    private static final String STAMP_HEADER = "plumb";
    private static final int FRAME_MAX = 128 << 20;
    /** Orders that are read ahead of their time. */
    private static final int ORDERS_AHEAD = 100_000;
    /** Waiting ends so long before a send and spinning begins. */
    private static final long SPIN_NS = 100_000;

    private final OutputStream reports = new FileOutputStream(FileDescriptor.in);
    private final DataInputStream orders =
            new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16));
    private final Map<String, String> settings = new HashMap<>();
    private final Map<String, Object> properties = new TreeMap<>();

    /** A record to send, and a place that says that there are no more. */
    private static final class Order {
        long number;
        long due;
        ProducerRecord<byte[], byte[]> record;
        byte[] stamped;
        int timeAt;
    }

    private static final Order LAST = new Order();

    public static void main(String[] arguments) throws Exception {
        PlumbDriver1 driver = new PlumbDriver1();
        try {
            driver.serve();
        } catch (EOFException gone) {
            // Whoever ordered is gone.
        } catch (Throwable error) {
            driver.text('X', words(error));
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        Runtime.getRuntime().halt(0);
    }

    private void serve() throws Exception {
        for (ByteBuffer frame = read(); frame.get(0) != 'B'; frame = read()) {
            String text = new String(frame.array(), 1, frame.limit() - 1, StandardCharsets.UTF_8);
            int at = text.indexOf('=');
            String name = text.substring(0, at), value = text.substring(at + 1);
            if (frame.get(0) == 'S') {
                settings.put(name, value);
            } else if (frame.get(0) == 'P') {
                properties.put(name, value);
            } else {
                return;
            }
        }
        Thread beat = new Thread(this::beat, "plumb-beat");
        beat.setDaemon(true);
        beat.setPriority(Thread.MAX_PRIORITY);
        if (settings.get("role").equals("producer")) {
            produce(beat);
        } else {
            consume(beat);
        }
    }

    private void produce(Thread beat) throws Exception {
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        BlockingQueue<Order> due = new ArrayBlockingQueue<>(ORDERS_AHEAD);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            unknown(ProducerConfig.configNames());
            introduce(new ProducerConfig(properties).values());
            beat.start();
            // So that the first record does not wait for what a client asks once.
            producer.partitionsFor(settings.get("topic"));
            Thread reader = new Thread(() -> readOrders(due), "plumb-orders");
            reader.setDaemon(true);
            reader.start();
            for (Order order = due.take(); order != LAST; order = due.take()) {
                waitUntil(order.due);
                send(producer, order);
            }
            producer.close(Duration.ofMillis(500));
        }
    }

    private static void waitUntil(long due) {
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            if (left > SPIN_NS) {
                LockSupport.parkNanos(left - SPIN_NS);
            } else {
                Thread.onSpinWait();
            }
        }
    }

    private void send(KafkaProducer<byte[], byte[]> producer, Order order) {
        long called = System.nanoTime();
        ByteBuffer.wrap(order.stamped).order(ByteOrder.LITTLE_ENDIAN).putLong(order.timeAt, called);
        try {
            producer.send(order.record, (place, error) -> {
                long now = System.nanoTime();
                if (error == null) {
                    acknowledged(order.number, called, now, place);
                } else {
                    failed(order.number, called, now, error);
                }
            });
        } catch (RuntimeException error) {
            failed(order.number, called, System.nanoTime(), error);
        }
    }

    private void acknowledged(long number, long called, long now, RecordMetadata place) {
        ByteBuffer body = body('A', 36);
        body.putLong(number).putLong(called).putLong(now).putInt(place.partition());
        say(body.putLong(place.hasOffset() ? place.offset() : -1));
    }

    private void failed(long number, long called, long now, Exception error) {
        byte[] reason = words(error).getBytes(StandardCharsets.UTF_8);
        say(body('F', 24 + reason.length).putLong(number).putLong(called).putLong(now).put(reason));
    }

    private void readOrders(BlockingQueue<Order> due) {
        try {
            for (ByteBuffer frame = read(); frame.get(0) == 'O'; frame = read()) {
                due.put(order(frame));
            }
            due.put(LAST);
        } catch (IOException | InterruptedException gone) {
            Runtime.getRuntime().halt(0);
        }
    }

    private Order order(ByteBuffer frame) {
        Order order = new Order();
        frame.position(1);
        order.number = frame.getLong();
        order.due = frame.getLong();
        int partition = frame.getInt();
        order.timeAt = frame.getInt();
        boolean inHeader = frame.get() != 0;
        byte[] key = bytes(frame);
        List<Header> headers = new ArrayList<>();
        for (int left = frame.getInt(); left > 0; left--) {
            String name = new String(bytes(frame), StandardCharsets.UTF_8);
            order.stamped = bytes(frame);
            headers.add(new RecordHeader(name, order.stamped));
        }
        byte[] value = new byte[frame.remaining()];
        frame.get(value);
        if (!inHeader) {
            order.stamped = value;
        }
        order.record = new ProducerRecord<>(settings.get("topic"), partition < 0 ? null : partition, key, value, headers);
        return order;
    }

    /** Length and bytes; null where the length is -1. */
    private static byte[] bytes(ByteBuffer frame) {
        int length = frame.getInt();
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        frame.get(bytes);
        return bytes;
    }

    // Clients before 4.1 have no other way to close within a time.
    @SuppressWarnings("deprecation")
    private void consume(Thread beat) throws Exception {
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        unknown(ConsumerConfig.configNames());
        introduce(new ConsumerConfig(properties).values());
        beat.start();
        Thread reader = new Thread(() -> {
            try {
                while (read().get(0) != 'E') {
                    continue;
                }
            } catch (IOException gone) {
                // As if it had been told to end.
            }
            consumer.wakeup();
        }, "plumb-orders");
        reader.setDaemon(true);
        reader.start();
        consumer.subscribe(Collections.singleton(settings.get("topic")), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> given) {
                say(body('J', 4).putInt(consumer.assignment().size()));
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> taken) {
                say(body('J', 4).putInt(0));
            }
        });
        try {
            while (true) {
                got(consumer.poll(Duration.ofSeconds(1)));
            }
        } catch (WakeupException told) {
            consumer.close(Duration.ofSeconds(2));
        }
    }

    private void got(ConsumerRecords<byte[], byte[]> records) {
        long now = System.nanoTime();
        if (records.isEmpty()) {
            return;
        }
        ByteBuffer all = ByteBuffer.allocate(records.count() * (5 + 32 + HEAD_BYTES)).order(ByteOrder.LITTLE_ENDIAN);
        for (ConsumerRecord<byte[], byte[]> record : records) {
            Header stamp = record.headers().lastHeader(STAMP_HEADER);
            byte[] value = record.value() == null ? new byte[0] : record.value();
            byte[] head = stamp == null ? value : stamp.value();
            int length = Math.min(head.length, HEAD_BYTES);
            boolean appended = record.timestampType() == TimestampType.LOG_APPEND_TIME;
            all.putInt(33 + length).put((byte) 'G').putLong(now).putInt(record.partition()).putLong(record.offset());
            all.putLong(appended ? record.timestamp() : -1).putInt(value.length).put(head, 0, length);
        }
        say(all);
    }

    private void introduce(Map<String, ?> effective) {
        new TreeMap<>(effective).forEach((name, value) -> {
            // A secret is no string there, and says so itself.
            text('P', name + "=" + (value instanceof List ? join((List<?>) value) : value));
        });
        Runtime runtime = Runtime.getRuntime();
        List<String> collectors = new ArrayList<>();
        java.lang.management.ManagementFactory.getGarbageCollectorMXBeans().forEach(bean -> collectors.add(bean.getName()));
        text('R', "client=kafka-clients\nversion=" + AppInfoParser.getVersion()
                + "\nruntime=" + System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version")
                + "\ncollectors=" + String.join(", ", collectors)
                + "\nheap_max_bytes=" + runtime.maxMemory()
                + "\njar=" + KafkaProducer.class.getProtectionDomain().getCodeSource().getLocation().getPath().replaceAll(".*/", ""));
    }

    private static String join(List<?> values) {
        List<String> words = new ArrayList<>();
        values.forEach(value -> words.add(value instanceof Class ? ((Class<?>) value).getName() : String.valueOf(value)));
        return String.join(",", words);
    }

    /** The client only warns of a property that it does not know, in a log that nobody reads. */
    private void unknown(java.util.Set<String> known) {
        for (String name : properties.keySet()) {
            if (!known.contains(name)) {
                text('N', name + " is no property of this client: if nothing else reads it, it has no effect");
            }
        }
    }

    private void beat() {
        while (true) {
            say(body('T', 8).putLong(System.nanoTime()));
            LockSupport.parkNanos(10_000_000);
        }
    }

    private static String words(Throwable error) {
        StringBuilder words = new StringBuilder(error.getClass().getSimpleName()).append(": ").append(error.getMessage());
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
            words.append(": ").append(cause.getMessage());
        }
        return words.toString();
    }

    private ByteBuffer read() throws IOException {
        int length = Integer.reverseBytes(orders.readInt());
        if (length < 1 || length > FRAME_MAX) {
            throw new IOException("a frame of " + length + " bytes");
        }
        byte[] frame = new byte[length];
        orders.readFully(frame);
        return ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void text(char kind, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        say(body(kind, bytes.length).put(bytes));
    }

    /** A frame to be filled with so many bytes. */
    private static ByteBuffer body(char kind, int length) {
        return ByteBuffer.allocate(5 + length).order(ByteOrder.LITTLE_ENDIAN).putInt(1 + length).put((byte) kind);
    }

    /** Writes what was put into it. */
    private void say(ByteBuffer frames) {
        try {
            synchronized (reports) {
                reports.write(frames.array(), 0, frames.position());
            }
        } catch (IOException gone) {
            Runtime.getRuntime().halt(0);
        }
    }
}
