//! The Java of a Kafka broker that runs on this host: the launcher's file and its options.

use crate::HostRoot;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The class that a broker or controller starts with.
const KAFKA: &str = "kafka.Kafka";

/// A running broker's Java.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerJava {
    /// The process.
    pub process: u32,
    /// The file that it runs, as this host has it.
    pub program: String,
    /// True if the process was seen to run this very file. False when the process may not be looked at: then its command line
    /// names the file, and nothing more is known.
    pub seen: bool,
    /// The reason why the file must not be run here; none when it may.
    pub refused: Option<String>,
    /// The options before the class: each word that begins with `-XX:`. Nothing else of a command line is kept: it may hold
    /// secrets.
    pub options: Vec<String>,
}

/// The broker of the lowest process number whose Java may be run here, else the lowest of those whose Java may not; none when
/// there is none, or none that this user may look at.
///
/// Any user can start a process that calls itself a broker, so its word does not suffice to run a file: the file is called
/// `java`, is the same on this host as in the process (which may be in a container), and nobody but root and the user who asks
/// can change it.
pub fn broker_java(root: &HostRoot) -> Option<BrokerJava> {
    let mut processes: Vec<u32> =
        root.list("/proc").ok()?.iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    let mut brokers: Vec<BrokerJava> =
        processes.into_iter().filter_map(|process| java_of(root, process)).collect();
    let best = brokers.iter().position(|broker| broker.refused.is_none()).unwrap_or(0);
    (best < brokers.len()).then(|| brokers.swap_remove(best))
}

/// The Java of one broker; none when the process is no broker, or may not be looked at.
pub fn java_of(root: &HostRoot, process: u32) -> Option<BrokerJava> {
    let words = root.read(&format!("/proc/{process}/cmdline")).ok()?;
    let words: Vec<&str> = words.split('\0').collect();
    let class = words.iter().position(|word| *word == KAFKA)?;
    let options = words[..class].iter().filter(|word| word.starts_with("-XX:"));
    let exe = format!("/proc/{process}/exe");
    let link = root.link(&exe);
    let seen = link.is_some();
    // Another user's file cannot be seen, but the command may name it.
    let program =
        link.or_else(|| words.first().filter(|word| word.starts_with('/')).map(|word| (*word).to_owned()))?;
    let real = root.real(&program).map_err(|error| format!("cannot look at {program}: {error}"));
    // What was looked at is what is run: a link on the way could be changed in between.
    let (program, refused) = match real {
        Err(reason) => (program, Some(reason)),
        Ok(real) => {
            let refused = not_java(&real)
                .or_else(|| changeable(&real))
                .or_else(|| if seen { another_file(root, &program, &exe) } else { None });
            (real.display().to_string(), refused)
        }
    };
    Some(BrokerJava {
        process,
        program,
        seen,
        refused,
        options: options.map(|word| (*word).to_owned()).collect(),
    })
}

fn not_java(program: &Path) -> Option<String> {
    (program.file_name() != Some(OsStr::new("java")))
        .then(|| format!("{} is not called java", program.display()))
}

/// A process in a container has files of its own under the same names.
fn another_file(root: &HostRoot, program: &str, exe: &str) -> Option<String> {
    let file = |path: &str| root.metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let same = file(program).is_some_and(|here| file(exe) == Some(here));
    (!same)
        .then(|| format!("{program} is another file here than in the process, which may be in a container"))
}

/// The path that somebody else could change; none when the file and every directory above it belong to root or to the user who
/// asks, and nobody else may write to them. Of a directory with the sticky bit the entries are safe.
fn changeable(program: &Path) -> Option<String> {
    // A process's own directory belongs to the user as whom it runs; where that cannot be seen, root's files alone will do.
    let own = fs::metadata("/proc/self").map_or(0, |process| process.uid());
    program.ancestors().find_map(|path| {
        let file = match fs::metadata(path) {
            Ok(file) => file,
            Err(error) => return Some(format!("cannot look at {}: {error}", path.display())),
        };
        let sticky = file.is_dir() && file.mode() & 0o1000 != 0;
        if file.uid() != 0 && file.uid() != own {
            Some(format!("{} belongs to another user", path.display()))
        } else if file.mode() & 0o022 != 0 && !sticky {
            Some(format!("others may write to {}", path.display()))
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// A host on which files have the same names as on this one, as the links of its processes need.
    fn host() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let first = PathBuf::from("/").join(folder.path().components().nth(1).unwrap());
        symlink(&first, folder.path().join(first.strip_prefix("/").unwrap())).unwrap();
        folder
    }

    fn file(host: &TempDir, name: &str, mode: u32) -> PathBuf {
        let path = host.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn process(host: &TempDir, number: u32, words: &[&str], exe: Option<&Path>) {
        let place = host.path().join(format!("proc/{number}"));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("cmdline"), words.join("\0")).unwrap();
        if let Some(exe) = exe {
            symlink(exe, place.join("exe")).unwrap();
        }
    }

    fn found(host: &TempDir) -> BrokerJava {
        broker_java(&HostRoot::new(host.path())).unwrap()
    }

    #[test]
    fn a_broker_is_told_by_its_class_and_only_its_own_options_are_kept() {
        let host = host();
        let java = file(&host, "java", 0o755);
        process(&host, 7, &["java", "-XX:-UseAES", "org.example.Other"], None);
        let words =
            ["java", "-Xmx1g", "-Dpassword=x", "-XX:-UseAES", "-cp", "libs/*", "kafka.Kafka", "-XX:+Late"];
        process(&host, 12, &words, Some(&java));
        let found = found(&host);
        assert_eq!((found.process, Path::new(&found.program)), (12, java.as_path()));
        assert_eq!((found.refused, found.seen), (None, true));
        assert_eq!(found.options, ["-XX:-UseAES"]);
    }

    #[test]
    fn a_program_that_only_calls_itself_a_broker_is_refused_and_a_real_one_comes_before_it() {
        let host = host();
        let other = file(&host, "evil", 0o755);
        process(&host, 3, &["evil", "kafka.Kafka"], Some(&other));
        let refused = found(&host).refused.unwrap();
        assert!(refused.ends_with("evil is not called java"), "{refused}");
        process(&host, 12, &["java", "kafka.Kafka"], Some(&file(&host, "java", 0o755)));
        assert_eq!((found(&host).process, found(&host).refused), (12, None));
    }

    #[test]
    fn a_java_that_others_may_write_to_is_refused() {
        let host = host();
        let java = file(&host, "java", 0o757);
        process(&host, 3, &["java", "kafka.Kafka"], Some(&java));
        assert_eq!(found(&host).refused, Some(format!("others may write to {}", java.display())));
        fs::set_permissions(&java, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(&host).refused, None);
        fs::set_permissions(host.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(found(&host).refused, Some(format!("others may write to {}", host.path().display())));
    }

    #[test]
    fn the_file_of_the_same_name_in_a_container_is_another() {
        let host = host();
        file(&host, "java", 0o755);
        let inner = host.path().join("container");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("java"), "").unwrap();
        let root = HostRoot::new(host.path());
        let name = host.path().join("java").display().to_string();
        // A container's link says the name within, and leads to the file within.
        let inner = inner.join("java").display().to_string();
        assert!(another_file(&root, &name, &inner).unwrap().contains("in a container"));
        assert_eq!(another_file(&root, &name, &name), None);
        assert!(another_file(&root, "/nowhere/java", &inner).is_some());
    }

    #[test]
    fn a_file_that_could_only_be_read_off_the_command_line_was_not_seen() {
        let host = host();
        let java = file(&host, "java", 0o755);
        process(&host, 3, &[java.to_str().unwrap(), "kafka.Kafka"], None);
        assert_eq!((found(&host).seen, found(&host).refused), (false, None));
    }

    #[test]
    fn a_host_without_a_broker_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(broker_java(&HostRoot::new(folder.path())), None);
    }
}
