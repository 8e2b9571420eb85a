import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32C;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Measures this virtual machine's cryptography as Plumb asks for it: one line in ("WORK BYTES THREADS NANOSECONDS"), one
 * line out (operations per second, or "error REASON"). It ends with its input, so it cannot outlive who started it.
 */
public final class Speed {
    /** So many operations, one after the other. */
    interface Batch {
        void run(long count) throws Exception;
    }

    /** Time between two looks at the clock, and the share of a sample that goes before it: as in the other engines. */
    private static final long LOOK_NS = 50_000;
    private static final int LEAD = 8;

    /** Where results go, so that no compiler can leave the work out. */
    private static volatile long sink;

    private static PrivateKey rsaKey;
    private static PublicKey rsaPublic;
    private static PrivateKey ecKey;
    private static PublicKey ecPublic;
    private static byte[] message;

    public static void main(String[] arguments) throws Exception {
        Path keys = Path.of(arguments[0]);
        rsaKey = key("RSA", keys.resolve("rsa.key.der"));
        rsaPublic = certified(keys.resolve("rsa.cert.der"));
        ecKey = key("EC", keys.resolve("ec.key.der"));
        ecPublic = certified(keys.resolve("ec.cert.der"));
        message = Files.readAllBytes(keys.resolve("message"));
        ExecutorService threads = Executors.newCachedThreadPool(task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
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
            return timed(prepare(work, bytes), nanos, null);
        }
        CyclicBarrier start = new CyclicBarrier(threads);
        List<Future<Double>> parts = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Batch batch = prepare(work, bytes);
            parts.add(pool.submit(() -> timed(batch, nanos, start)));
        }
        double sum = 0;
        for (Future<Double> part : parts) {
            sum += part.get();
        }
        return sum;
    }

    private static double timed(Batch batch, long nanos, CyclicBarrier start) throws Exception {
        long size = 1;
        for (long from = System.nanoTime(); System.nanoTime() - from < nanos / LEAD;) {
            long begun = System.nanoTime();
            batch.run(size);
            if ((System.nanoTime() - begun) * 2 < LOOK_NS) {
                size *= 2;
            }
        }
        if (start != null) {
            start.await();
        }
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

    private static PrivateKey key(String algorithm, Path file) throws Exception {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(Files.readAllBytes(file)));
    }

    private static PublicKey certified(Path file) throws Exception {
        try (var in = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(in).getPublicKey();
        }
    }
}
