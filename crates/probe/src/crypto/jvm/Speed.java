import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Measures this virtual machine's cryptography as Plumb asks for it: one line in ("WORK BYTES THREADS NANOSECONDS"), one
 * line out (operations per second, or "error REASON"). Before that come keys, certificates and a message, a line each. It ends with its input, so it cannot outlive who started it.
 */
public final class Speed {
    /** So many operations, one after the other. */
    interface Batch {
        void run(long count) throws Exception;
    }

    /** Time between two looks at the clock, and the share of a sample that goes before it: as in the other engines. */
    private static final long LOOK_NS = 50_000;
    private static final int LEAD = 8;
    /** From the first thread's leaving the barrier until all begin. */
    private static final long WAKE_NS = 100_000;

    /** Where results go, so that no compiler can leave the work out. */
    private static volatile long sink;

    private static PrivateKey rsaKey;
    private static PublicKey rsaPublic;
    private static PrivateKey ecKey;
    private static PublicKey ecPublic;
    private static byte[] message;

    public static void main(String[] arguments) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        rsaKey = key("RSA", bytes(asked));
        rsaPublic = certified(bytes(asked));
        ecKey = key("EC", bytes(asked));
        ecPublic = certified(bytes(asked));
        message = bytes(asked);
        ExecutorService threads = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        System.out.println("ready");
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String answer;
            try {
                String[] words = line.split(" ");
                answer = Double.toString(sample(threads, words[0], Integer.parseInt(words[1]),
                        Integer.parseInt(words[2]), Long.parseLong(words[3])));
            } catch (Exception e) {
                answer = ("error " + e).replace('\n', ' ');
            }
            System.out.println(answer);
        }
    }

    private static double sample(ExecutorService pool, String work, int bytes, int threads, long nanos)
            throws Exception {
        if (threads == 1) {
            return alone(prepare(work, bytes), nanos);
        }
        CyclicBarrier all = new CyclicBarrier(threads);
        AtomicLong opens = new AtomicLong();
        List<Future<Double>> parts = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Batch batch = prepare(work, bytes);
            parts.add(pool.submit(() -> within(batch, nanos, all, opens)));
        }
        double sum = 0;
        for (Future<Double> part : parts) {
            sum += part.get();
        }
        return sum;
    }

    private static long lead(Batch batch, long nanos) throws Exception {
        long size = 1;
        for (long from = System.nanoTime(); System.nanoTime() - from < nanos / LEAD;) {
            long begun = System.nanoTime();
            batch.run(size);
            if ((System.nanoTime() - begun) * 2 < LOOK_NS) {
                size *= 2;
            }
        }
        return size;
    }

    private static double alone(Batch batch, long nanos) throws Exception {
        long size = lead(batch, nanos);
        long operations = 0;
        long from = System.nanoTime();
        long elapsed;
        do {
            batch.run(size);
            operations += size;
            elapsed = System.nanoTime() - from;
        } while (elapsed < nanos);
        return operations * 1e9 / elapsed;
    }

    /** Over one window of all threads, so that threads that take turns on a processor do not add up to several. */
    private static double within(Batch batch, long nanos, CyclicBarrier all, AtomicLong opens) throws Exception {
        long size = lead(batch, nanos);
        all.await();
        long wake = System.nanoTime() + WAKE_NS;
        // 0 means that nobody has set it: no clock shows that twice.
        long from = opens.compareAndSet(0, wake) ? wake : opens.get();
        while (System.nanoTime() - from < 0) {
            Thread.onSpinWait();
        }
        double operations = 0;
        for (long begun = System.nanoTime(); begun - from < nanos;) {
            batch.run(size);
            long ended = System.nanoTime();
            double inside = Math.min(1.0, (double) (from + nanos - begun) / Math.max(1, ended - begun));
            operations += size * inside;
            begun = ended;
        }
        return operations * 1e9 / nanos;
    }

    private static Batch prepare(String work, int bytes) throws Exception {
        switch (work) {
            case "aes-128-gcm":
                return sealing("AES/GCM/NoPadding", new SecretKeySpec(new byte[16], "AES"), bytes);
            case "aes-256-gcm":
                return sealing("AES/GCM/NoPadding", new SecretKeySpec(new byte[32], "AES"), bytes);
            case "chacha20-poly1305":
                return sealing("ChaCha20-Poly1305", new SecretKeySpec(new byte[32], "ChaCha20"), bytes);
            case "sha-256": {
                MessageDigest digest = MessageDigest.getInstance("SHA-256");
                byte[] block = new byte[bytes];
                return count -> {
                    for (long i = 0; i < count; i++) {
                        sink += digest.digest(block)[0];
                    }
                };
            }
            case "crc32c": {
                CRC32C sum = new CRC32C();
                byte[] block = new byte[bytes];
                return count -> {
                    for (long i = 0; i < count; i++) {
                        sum.reset();
                        sum.update(block, 0, block.length);
                        sink += sum.getValue();
                    }
                };
            }
            case "rsa-2048-sign":
                return signing("SHA256withRSA", rsaKey);
            case "rsa-2048-verify":
                return verifying("SHA256withRSA", rsaKey, rsaPublic);
            case "ecdsa-p256-sign":
                return signing("SHA256withECDSA", ecKey);
            case "ecdsa-p256-verify":
                return verifying("SHA256withECDSA", ecKey, ecPublic);
            default:
                throw new IllegalArgumentException(work);
        }
    }

    /** A key that stays, and for each block a nonce of its own and a tag: what the JDK's TLS does with each record. */
    private static Batch sealing(String name, SecretKeySpec key, int bytes) throws Exception {
        Cipher cipher = Cipher.getInstance(name);
        boolean gcm = name.startsWith("AES");
        byte[] block = new byte[bytes];
        byte[] out = new byte[bytes + 16];
        byte[] nonce = new byte[12];
        return count -> {
            for (long i = 0; i < count; i++) {
                for (int at = 0; ++nonce[at] == 0; at++) {
                    // The nonce is a number: carry.
                }
                AlgorithmParameterSpec spec =
                        gcm ? new GCMParameterSpec(128, nonce) : new IvParameterSpec(nonce);
                cipher.init(Cipher.ENCRYPT_MODE, key, spec);
                sink += cipher.doFinal(block, 0, block.length, out, 0);
            }
        };
    }

    private static Batch signing(String name, PrivateKey key) throws Exception {
        Signature signature = Signature.getInstance(name);
        signature.initSign(key);
        return count -> {
            for (long i = 0; i < count; i++) {
                signature.update(message);
                sink += signature.sign()[0];
            }
        };
    }

    private static Batch verifying(String name, PrivateKey key, PublicKey publicKey) throws Exception {
        Signature signer = Signature.getInstance(name);
        signer.initSign(key);
        signer.update(message);
        byte[] signed = signer.sign();
        Signature signature = Signature.getInstance(name);
        signature.initVerify(publicKey);
        return count -> {
            for (long i = 0; i < count; i++) {
                signature.update(message);
                if (!signature.verify(signed)) {
                    throw new IllegalStateException("a signature that is not valid");
                }
            }
        };
    }

    private static byte[] bytes(BufferedReader asked) throws Exception {
        return Base64.getDecoder().decode(asked.readLine());
    }

    private static PrivateKey key(String algorithm, byte[] der) throws Exception {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
    }

    private static PublicKey certified(byte[] der) throws Exception {
        return CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der)).getPublicKey();
    }
}
