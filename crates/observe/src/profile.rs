//! Collapsed stacks as a profile: what each sample was spent on, by frames, and shares by class.
//!
//! A stack is of the class of its frame nearest to the leaf that any class knows. Shares are of the process without compilers and
//! collections, whose part is large in a young JVM; theirs are shown beside it.

use crate::thread_class::thread_class;
use plumb_model::observed::{CpuClass, Profile, ProfileShare, Stack, ThreadClass};
use std::collections::BTreeMap;

/// What a profiler took, and what that cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// Collapsed stacks, one a line, with the number of samples last.
    pub stacks: String,
    /// Processor time of taking them, as far as the profiler tells it; absent where it does not.
    pub cpu_ns: Option<u64>,
}

/// Stacks that are kept in the document, those with most samples.
const STACKS_MOST: usize = 2_000;

/// Parts of frames' names, by class; an earlier row is looked at first within one frame.
const FRAMES: &[(CpuClass, &[&str])] = &[
    (
        CpuClass::Aes,
        &[
            "AESCrypt",
            "GHASH",
            "GCTR",
            "GaloisCounterMode",
            "CounterMode",
            "galoisCounterMode",
            "aesgcm",
            "aesni",
            "aes_",
            "AES_",
            "gcm_ghash",
            "gcm_",
        ],
    ),
    (
        CpuClass::Tls,
        &[
            "sun/security/ssl",
            "com/sun/crypto",
            "javax/crypto",
            "sun/security/",
            "javax/net/ssl",
            "SslTransportLayer",
            "SSL_",
            "libssl",
            // Digests of records (the suites with CBC): what they call compression is a step of theirs.
            "implCompress",
            "sha1_",
            "sha256_",
            "sha512_",
        ],
    ),
    // Names of what is not compressed, and of how it would be.
    (CpuClass::LogAppend, &["NonCompressed", "CompressionType"]),
    (CpuClass::Decompress, &["decompress", "Decompress", "inflate", "Inflater", "InputStream.readBlock"]),
    (
        CpuClass::Compress,
        &["compress", "Compress", "deflate", "Deflater", "LZ4", "zstd", "Zstd", "snappy", "Snappy"],
    ),
    (CpuClass::Checksum, &["CRC32", "crc32", "Checksum"]),
    (CpuClass::Fsync, &["fsync", "fdatasync", "FileDispatcherImpl.force", "FileChannelImpl.force"]),
    (CpuClass::Authorize, &["Authorizer", "authorizer"]),
    (CpuClass::Copy, &["copy_user", "_copy_from", "_copy_to", "memcpy", "memmove", "arraycopy", "copy_page"]),
    (
        CpuClass::NetworkStack,
        &[
            "tcp_",
            "ip_",
            "sock_",
            "inet_",
            "__sys_send",
            "__sys_recv",
            "ksys_write",
            "epoll",
            "EPoll",
            "SocketDispatcher",
            "net_rx",
        ],
    ),
    (CpuClass::Lock, &["futex", "Unsafe.park", "ObjectMonitor", "LockSupport"]),
    (
        CpuClass::LogAppend,
        &["storage/internals/log", "kafka/log/", "UnifiedLog", "LogSegment", "FileRecords"],
    ),
];

/// Stacks (`[thread];frame;frame 12`, outermost first) as a profile.
pub fn profile(collapsed: &str, source: String, elapsed_ns: u64) -> Profile {
    let mut profile = Profile { source, elapsed_ns, ..Profile::default() };
    let mut all: BTreeMap<CpuClass, u64> = BTreeMap::new();
    let mut by_threads: BTreeMap<ThreadClass, BTreeMap<CpuClass, u64>> = BTreeMap::new();
    let mut stacks = Vec::new();
    for line in collapsed.lines() {
        let Some((frames, samples)) = line.rsplit_once(' ') else { continue };
        let Ok(samples) = samples.parse::<u64>() else { continue };
        let threads = thread_class(thread_name(frames));
        let class = class(frames, threads);
        profile.samples += samples;
        *by_threads.entry(threads).or_default().entry(class).or_default() += samples;
        if !matches!(class, CpuClass::Gc | CpuClass::Jit) {
            profile.samples_of_work += samples;
        }
        *all.entry(class).or_default() += samples;
        stacks.push(Stack { frames: frames.to_owned(), samples, class: Some(class), threads: Some(threads) });
    }
    let of_work = profile.samples_of_work;
    profile.shares = shares(None, &all, of_work);
    for (threads, classes) in &by_threads {
        let total = classes.values().sum();
        profile.shares.extend(shares(Some(*threads), classes, total));
    }
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.samples));
    stacks.truncate(STACKS_MOST);
    profile.stacks = stacks;
    profile
}

fn shares(threads: Option<ThreadClass>, classes: &BTreeMap<CpuClass, u64>, of: u64) -> Vec<ProfileShare> {
    let share = |(class, samples): (&CpuClass, &u64)| ProfileShare {
        class: *class,
        threads,
        samples: *samples,
        share: *samples as f64 / of.max(1) as f64,
    };
    let mut shares: Vec<ProfileShare> = classes.iter().map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.samples));
    shares
}

/// `[C2 CompilerThread0 tid=1234];...`: what stands in the brackets, without the number.
fn thread_name(frames: &str) -> &str {
    let first = frames.split(';').next().unwrap_or_default();
    let name = first.trim_start_matches('[').trim_end_matches(']');
    name.split(" tid=").next().unwrap_or(name)
}

fn class(frames: &str, threads: ThreadClass) -> CpuClass {
    match threads {
        ThreadClass::Gc => return CpuClass::Gc,
        ThreadClass::Jit => return CpuClass::Jit,
        _ => {}
    }
    let of_frame =
        |frame: &str| FRAMES.iter().find(|(_, parts)| parts.iter().any(|part| frame.contains(part)));
    let found = frames.split(';').skip(1).collect::<Vec<_>>().into_iter().rev().find_map(of_frame);
    let nearest = found.map_or(CpuClass::Other, |(class, _)| *class);
    // A copy that encryption makes is encryption's, whatever the copying is called.
    let tls = FRAMES.iter().find(|(class, _)| *class == CpuClass::Tls).map_or(&[][..], |(_, parts)| parts);
    let within_tls = tls.iter().any(|part| frames.contains(part));
    if within_tls && !matches!(nearest, CpuClass::Aes | CpuClass::NetworkStack) {
        CpuClass::Tls
    } else {
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(profile: &Profile, class: CpuClass) -> f64 {
        profile
            .shares
            .iter()
            .find(|share| share.class == class && share.threads.is_none())
            .map_or(0.0, |share| share.share)
    }

    #[test]
    fn shares_are_of_the_work_without_compilers_and_collections() {
        let stacks = "[data-plane-kafka-network-thread-1 tid=7];sun/security/ssl/SSLEngineImpl.wrap;com/sun/crypto/provider/AESCrypt.implEncryptBlock 30\n\
                      [data-plane-kafka-network-thread-1 tid=7];sun/security/ssl/SSLEngineImpl.wrap;java/lang/System.arraycopy 10\n\
                      [data-plane-kafka-request-handler-0 tid=8];kafka/log/UnifiedLog.append;write 60\n\
                      [C2 CompilerThread0 tid=9];Compile::Compile 900\n";
        let profile = profile(stacks, "test".to_owned(), 1);
        assert_eq!((profile.samples, profile.samples_of_work), (1_000, 100));
        assert!((share(&profile, CpuClass::Aes) - 0.3).abs() < 1e-9);
        assert!((share(&profile, CpuClass::Tls) - 0.1).abs() < 1e-9, "{:?}", profile.shares);
        assert!((share(&profile, CpuClass::LogAppend) - 0.6).abs() < 1e-9);
        let kinds: Vec<_> = profile.stacks.iter().map(|stack| (stack.class, stack.threads)).collect();
        assert_eq!(
            kinds,
            [
                (Some(CpuClass::Jit), Some(ThreadClass::Jit)),
                (Some(CpuClass::LogAppend), Some(ThreadClass::Handler)),
                (Some(CpuClass::Aes), Some(ThreadClass::Network)),
                (Some(CpuClass::Tls), Some(ThreadClass::Network)),
            ]
        );
    }

    #[test]
    fn digests_and_records_that_are_not_compressed_are_no_compression() {
        let of = |frames: &str| {
            let line =
                format!("[data-plane-kafka-network-thread-1-ListenerName(SSL)-SSL-0 tid=5];{frames} 10\n");
            profile(&line, "test".to_owned(), 1)
        };
        let share_of = |frames: &str, class: CpuClass| share(&of(frames), class);
        assert_eq!(share_of("sha512_implCompressMB", CpuClass::Tls), 1.0);
        assert_eq!(
            share_of("a;sun/security/provider/DigestBase.implCompressMultiBlock0", CpuClass::Tls),
            1.0
        );
        assert_eq!(share_of("LogValidator.assignOffsetsNonCompressed", CpuClass::LogAppend), 1.0);
        assert_eq!(share_of("Zstd.compressDirectByteBuffer", CpuClass::Compress), 1.0);
    }

    #[test]
    fn lines_that_are_no_stack_are_left_out() {
        assert_eq!(profile("nonsense\n\n;; x\n", String::new(), 1).samples, 0);
    }
}
