//! The Java of a Kafka broker that runs on this host: the launcher's file and its options.

use crate::HostRoot;

/// The class that a broker or controller starts with.
const KAFKA: &str = "kafka.Kafka";

/// A running broker's Java.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerJava {
    /// The process.
    pub process: u32,
    /// The file that it runs.
    pub program: String,
    /// What it was told before the class, each word that begins with `-XX:`. Nothing else of a command line is kept: it may
    /// hold secrets.
    pub options: Vec<String>,
}

/// The broker of the lowest process number; none when there is none, or none that this user may look at.
pub fn broker_java(root: &HostRoot) -> Option<BrokerJava> {
    let mut processes: Vec<u32> =
        root.list("/proc").ok()?.iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    processes.into_iter().find_map(|process| of_process(root, process))
}

fn of_process(root: &HostRoot, process: u32) -> Option<BrokerJava> {
    let words = root.read(&format!("/proc/{process}/cmdline")).ok()?;
    let words: Vec<&str> = words.split('\0').collect();
    let class = words.iter().position(|word| *word == KAFKA)?;
    let options = words[..class].iter().filter(|word| word.starts_with("-XX:"));
    Some(BrokerJava {
        process,
        // Another user's file cannot be seen, but the command may name it.
        program: root
            .link(&format!("/proc/{process}/exe"))
            .or_else(|| words.first().filter(|word| word.starts_with('/')).map(|word| (*word).to_owned()))?,
        options: options.map(|word| (*word).to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_broker_is_told_by_its_class_and_only_its_own_options_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let process = |number: u32, words: &[&str]| {
            let place = folder.path().join(format!("proc/{number}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("cmdline"), words.join("\0")).unwrap();
            place
        };
        process(7, &["java", "-XX:-UseAES", "org.example.Other"]);
        let broker = process(
            12,
            &["java", "-Xmx1g", "-Dpassword=x", "-XX:-UseAES", "-cp", "libs/*", "kafka.Kafka", "-XX:+Late"],
        );
        symlink("/opt/jdk/bin/java", broker.join("exe")).unwrap();
        let found = broker_java(&HostRoot::new(folder.path())).unwrap();
        assert_eq!((found.process, found.program.as_str()), (12, "/opt/jdk/bin/java"));
        assert_eq!(found.options, ["-XX:-UseAES"]);
    }

    #[test]
    fn a_host_without_a_broker_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(broker_java(&HostRoot::new(folder.path())), None);
    }
}
