//! The processors that the threads of a process may use.
//!
//! A thread that is started meanwhile has those of the thread that started it, so all are set until a look finds none that differs.

use super::SettingError;
use crate::cpus;
use crate::guard::ProcessStart;
use crate::host::Host;
use rustix::process::Pid;
use rustix::thread::CpuSet;
use std::collections::BTreeSet;
use std::io;

/// Looks for threads that were started meanwhile, at most. Ours.
const LOOKS_MAX: usize = 20;

/// All threads of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessAffinity {
    pid: u32,
}

impl ProcessAffinity {
    /// From a process number.
    pub(super) fn new(rest: &str) -> Option<Self> {
        let pid = rest.parse().ok().filter(|pid| *pid > 0 && *pid <= i32::MAX as u32)?;
        Some(ProcessAffinity { pid })
    }

    /// When the process was started: a number goes to another one later.
    pub(super) fn identity(&self, host: &Host) -> Option<String> {
        Some(format!("started at tick {}", ProcessStart::of(host, self.pid)?.start))
    }

    /// A list for each set of processors that its threads have: one, or several with the number of threads, as `0-3 x120; 2 x1`.
    pub(super) fn read(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        let sets = self.sets(name, host)?;
        let distinct: BTreeSet<String> = sets.iter().map(|thread| thread.cpus.clone()).collect();
        match distinct.len() {
            1 => Ok(distinct.into_iter().next().unwrap_or_default()),
            _ => {
                let of = |thread: &ThreadCpus| format!("{}={}", thread.tid, thread.cpus);
                Ok(sets.iter().map(of).collect::<Vec<_>>().join(" "))
            }
        }
    }

    pub(super) fn write(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        let wanted = |tid: u32| -> Option<String> {
            if !value.contains('=') {
                return Some(value.to_owned());
            }
            value.split(' ').find_map(|part| {
                let (thread, cpus) = part.split_once('=')?;
                (thread.parse() == Ok(tid)).then(|| cpus.to_owned())
            })
        };
        let refused =
            |source| SettingError::Refused { name: name.to_owned(), value: value.to_owned(), source };
        let mut last: Vec<u32> = Vec::new();
        for _ in 0..LOOKS_MAX {
            let mut differing = Vec::new();
            for thread in self.sets(name, host)? {
                // A thread that was not there when the value was read keeps what it has.
                let Some(wanted) = wanted(thread.tid) else { continue };
                if cpus::canonical(&wanted) != thread.cpus {
                    differing.push(thread.tid);
                    set(host, self.pid, thread.tid, &wanted).map_err(refused)?;
                }
            }
            if differing.is_empty() {
                return Ok(());
            }
            // The same threads as before, though they were set: the kernel left out processors that are not there, or not theirs to use.
            if differing == last {
                return Err(refused(io::Error::other(
                    "the kernel gave other processors than were asked for",
                )));
            }
            last = differing;
        }
        Err(refused(io::Error::other("new threads were started at every look")))
    }

    pub(super) fn by_hand(&self, value: &str) -> String {
        format!("taskset --all-tasks --cpu-list --pid {value} {}", self.pid)
    }

    fn sets(&self, name: &str, host: &Host) -> Result<Vec<ThreadCpus>, SettingError> {
        let folder = format!("/proc/{}/task", self.pid);
        let unknown = |source: io::Error| SettingError::Unknown {
            name: name.to_owned(),
            path: folder.clone().into(),
            source,
        };
        let threads = host.root().list(&folder).map_err(|error| {
            unknown(io::Error::new(io::ErrorKind::NotFound, format!("no process {}: {error}", self.pid)))
        })?;
        let of = |thread: &String| {
            let status = host.root().read(&format!("{folder}/{thread}/status")).ok()?;
            let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            Some(ThreadCpus { tid: thread.parse().ok()?, cpus: cpus::canonical(cpus) })
        };
        let mut sets: Vec<ThreadCpus> = threads.iter().filter_map(of).collect();
        sets.sort_by_key(|thread| thread.tid);
        match sets.is_empty() {
            true => {
                Err(unknown(io::Error::new(io::ErrorKind::NotFound, "it has no thread that can be seen")))
            }
            false => Ok(sets),
        }
    }
}

/// The processors of one thread.
struct ThreadCpus {
    tid: u32,
    cpus: String,
}

/// Sets a thread's processors. On a recorded host its file is written anew.
fn set(host: &Host, pid: u32, tid: u32, list: &str) -> io::Result<()> {
    let cpus = cpus::parse_list(list).filter(|cpus| !cpus.is_empty());
    let cpus =
        cpus.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected a list such as 0-3,8"))?;
    if !host.root().is_host() {
        let path = host.root().locate(&format!("/proc/{pid}/task/{tid}/status"));
        let text = fs_err::read_to_string(&path)?;
        let line = |line: &str| match line.starts_with("Cpus_allowed_list:") {
            true => format!("Cpus_allowed_list:\t{}\n", cpus::list(&cpus)),
            false => format!("{line}\n"),
        };
        return fs_err::write(path, text.lines().map(line).collect::<String>());
    }
    let mut set = CpuSet::new();
    for cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a processor beyond the kernel's set"));
        }
        set.set(cpu as usize);
    }
    let thread = i32::try_from(tid).ok().and_then(Pid::from_raw);
    match rustix::thread::sched_setaffinity(thread, &set) {
        // A thread that ended needs no processors.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use std::process::{Child, Command};

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_real_process_gets_its_processors_and_has_its_own_back() {
        let child = Sleeper(Command::new("sleep").arg("600").spawn().unwrap());
        let host = Host::default();
        let setting = Setting::new(&format!("affinity:{}", child.0.id())).unwrap();
        let before = setting.read(&host).unwrap();
        let first = cpus::parse_list(&before).unwrap().into_iter().next().unwrap();
        assert_eq!(setting.write(&host, &first.to_string()).unwrap(), first.to_string());
        assert_eq!(setting.write(&host, &before).unwrap(), before);
        assert!(setting.identity(&host).unwrap().starts_with("started at tick "));
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        let error = Setting::new("affinity:2147483000").unwrap().read(&Host::default()).unwrap_err();
        assert!(error.to_string().contains("affinity:2147483000"), "{error}");
    }
}
