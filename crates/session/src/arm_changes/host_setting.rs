//! A kernel setting of this host: found by its name, read, written, and read back.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A setting that cannot be changed as asked.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum HostSettingError {
    #[error(
        "host setting {name:?} is no kernel setting: expected a sysctl name such as net.ipv4.tcp_slow_start_after_idle, or a path under /proc/sys or /sys"
    )]
    Name { name: String },
    #[error("host setting {name}: {value:?} is no value: expected one line")]
    Value { name: String, value: String },
    #[error("host setting {name}: this kernel has no {path} that can be read")]
    Unknown {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: {path} may not be written by this user")]
    Permission {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: the kernel did not take {value:?}")]
    Refused {
        name: String,
        value: String,
        #[source]
        source: io::Error,
    },
    #[error("host setting {name}: wrote {expected:?}, but it reads {got:?}")]
    NotInEffect { name: String, expected: String, got: String },
    #[error(
        "host setting {name} could not be put back: the kernel does not take {part} = {value} again, as it is now"
    )]
    NoInverse { name: String, part: String, value: String },
    #[error("host settings {name} and {other} of one arm: each undoes the other")]
    Twice { name: String, other: String },
}

impl HasFault for HostSettingError {
    fn fault(&self) -> Fault {
        use HostSettingError::{Name, Twice, Value};
        match self {
            Name { .. } | Value { .. } | Twice { .. } => Fault::User,
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            HostSettingError::Name { .. } | HostSettingError::Value { .. } => {
                "write it as {net.ipv4.tcp_slow_start_after_idle: 0} or {/sys/kernel/mm/transparent_hugepage/enabled: never}"
            }
            HostSettingError::Unknown { .. } => {
                "`sysctl -a` lists what this kernel has; a module may have to be loaded"
            }
            HostSettingError::Permission { .. } => "run the trial as root, or leave `host` out of its arms",
            HostSettingError::NoInverse { .. } => {
                "a trial changes only what it can put back: set it by hand for the whole trial, or in an arm's `before` with its way back in `after`"
            }
            HostSettingError::Twice { .. } => "leave one of them out: they are two names of one limit",
            HostSettingError::Refused { .. } | HostSettingError::NotInEffect { .. } => {
                "write the value by hand and see what the kernel makes of it; what was changed has been put back"
            }
        };
        Some(hint.into())
    }
}

/// Below which directory the host's files are found: a test has its own.
#[derive(Debug, Clone)]
pub(super) struct HostFiles {
    root: PathBuf,
}

impl Default for HostFiles {
    fn default() -> Self {
        HostFiles { root: PathBuf::from("/") }
    }
}

impl HostFiles {
    #[cfg(test)]
    pub(super) fn below(root: &Path) -> Self {
        HostFiles { root: root.to_owned() }
    }

    pub(super) fn locate(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// A setting by the name that the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    path: PathBuf,
}

impl Setting {
    /// From a sysctl name, or a path under /proc/sys or /sys.
    pub(super) fn new(name: &str) -> Result<Self, HostSettingError> {
        let error = || HostSettingError::Name { name: name.to_owned() };
        let path = match name.strip_prefix('/') {
            Some(_) => name.to_owned(),
            // As sysctl does it: a dot inside of a part (an interface eth0.5) is written as a slash.
            None => {
                let swap = |c| match c {
                    '.' => '/',
                    '/' => '.',
                    c => c,
                };
                format!("/proc/sys/{}", name.chars().map(swap).collect::<String>())
            }
        };
        let below = ["/proc/sys/", "/sys/"].iter().any(|top| path.len() > top.len() && path.starts_with(top));
        let plain = path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..");
        if !below || !plain || path.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(error());
        }
        Ok(Setting { name: name.to_owned(), path: path.into() })
    }

    /// Its file, on a host whose files are at their places.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a setting that is not there or may not be written, and a value that none can be. Writes nothing.
    pub(super) fn check_written(&self, files: &HostFiles, value: &str) -> Result<(), HostSettingError> {
        if value.trim().is_empty() || value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(HostSettingError::Value { name: self.name.clone(), value: value.to_owned() });
        }
        self.read(files)?;
        let opened = fs_err::OpenOptions::new().write(true).open(files.locate(&self.path));
        opened.map(drop).map_err(|source| self.permission(source))
    }

    /// Its present value: of a file that lists the choices, the one in brackets.
    pub(super) fn read(&self, files: &HostFiles) -> Result<String, HostSettingError> {
        let text = fs_err::read_to_string(files.locate(&self.path)).map_err(|source| {
            HostSettingError::Unknown { name: self.name.clone(), path: self.path.clone(), source }
        })?;
        Ok(chosen(&text).unwrap_or_else(|| plain(&text)))
    }

    /// Writes it, and reads it back.
    pub(super) fn write(&self, files: &HostFiles, value: &str) -> Result<(), HostSettingError> {
        use io::Write;
        let opened = fs_err::OpenOptions::new().write(true).truncate(true).open(files.locate(&self.path));
        let mut file = opened.map_err(|source| self.permission(source))?;
        // In one call: the kernel takes each as a whole value.
        file.write_all(value.as_bytes()).map_err(|source| HostSettingError::Refused {
            name: self.name.clone(),
            value: value.to_owned(),
            source,
        })?;
        drop(file);
        self.in_effect(files, value)
    }

    /// Refuses a value that does not read back.
    pub(super) fn in_effect(&self, files: &HostFiles, value: &str) -> Result<(), HostSettingError> {
        let (expected, got) = (plain(value), self.read(files)?);
        match expected == got {
            true => Ok(()),
            false => Err(HostSettingError::NotInEffect { name: self.name.clone(), expected, got }),
        }
    }

    /// The command with which a person sets it.
    pub(super) fn by_hand(&self, value: &str) -> String {
        format!("echo '{value}' > {}", self.path.display())
    }

    fn permission(&self, source: io::Error) -> HostSettingError {
        HostSettingError::Permission { name: self.name.clone(), path: self.path.clone(), source }
    }
}

/// One blank between words, none around them: the kernel answers with tabs.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `always [madvise] never`: the word in brackets.
fn chosen(text: &str) -> Option<String> {
    let words = || text.split_whitespace();
    let chosen = words().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
    Some(chosen.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with one setting.
    fn host(path: &str, content: &str) -> (tempfile::TempDir, HostFiles) {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
        let files = HostFiles::below(root.path());
        (root, files)
    }

    #[test]
    fn a_sysctl_name_is_found_as_sysctl_finds_it() {
        let path = |name: &str| Setting::new(name).unwrap().path.display().to_string();
        assert_eq!(path("net.ipv4.tcp_rmem"), "/proc/sys/net/ipv4/tcp_rmem");
        assert_eq!(path("net.ipv4.conf.eth0/5.mtu"), "/proc/sys/net/ipv4/conf/eth0.5/mtu");
        assert_eq!(path("/sys/block/sda/queue/scheduler"), "/sys/block/sda/queue/scheduler");
    }

    #[test]
    fn what_is_no_kernel_setting_is_refused() {
        for name in
            ["", "/etc/passwd", "/sys/", "/proc/sys/../../etc/passwd", "/sys/../etc/passwd", "a..b", "a b"]
        {
            assert!(matches!(Setting::new(name), Err(HostSettingError::Name { .. })), "{name:?}");
        }
    }

    #[test]
    fn words_that_the_kernel_sets_apart_with_tabs_are_the_same_value() {
        let (_root, files) = host("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
        let setting = Setting::new("net.ipv4.tcp_rmem").unwrap();
        assert_eq!(setting.read(&files).unwrap(), "4096 131072 6291456");
        setting.write(&files, "4096  65536 6291456").unwrap();
        assert_eq!(setting.read(&files).unwrap(), "4096 65536 6291456");
    }

    #[test]
    fn of_a_list_of_choices_the_one_in_brackets_is_the_value() {
        let (_root, files) = host("sys/kernel/mm/enabled", "always [madvise] never\n");
        assert_eq!(Setting::new("/sys/kernel/mm/enabled").unwrap().read(&files).unwrap(), "madvise");
    }

    #[test]
    fn a_setting_that_this_kernel_has_not_is_named_with_its_place() {
        let (_root, files) = host("proc/sys/vm/swappiness", "60\n");
        let error = Setting::new("vm.swapiness").unwrap().check_written(&files, "1").unwrap_err();
        let text = error.to_string();
        assert_eq!(
            text,
            "host setting vm.swapiness: this kernel has no /proc/sys/vm/swapiness that can be read"
        );
    }

    #[test]
    fn a_value_of_several_lines_is_refused() {
        let (_root, files) = host("proc/sys/vm/swappiness", "60\n");
        let error = Setting::new("vm.swappiness").unwrap().check_written(&files, "1\n2").unwrap_err();
        assert_eq!(error.fault(), Fault::User, "{error}");
    }
}
