//! A JVM's own metrics without an exporter: a Java agent is loaded, writes its Kafka and collection beans as a page, and is done.
//!
//! The agent is `agent/PlumbBeans1.java`; `scripts/build-agent` makes the jar of it that is in this program. Its class stays in the JVM, and with it
//! the class loader's descriptor of the jar, whose file is removed; a second call uses the same.

use super::attach::Attached;
use super::attach_error::AttachError;
use super::directory::Directory;
use crate::{MetricsPage, Scrape};
use std::fs;
use std::time::{Duration, Instant};

const AGENT: &[u8] = include_bytes!("agent/agent.jar");
/// The name by which HotSpot calls the thread that serves who attaches; the kernel keeps 15 bytes of a name.
const ATTACH_THREAD: &str = "Attach Listener";
/// A page of 10,000 topics is about 10 MB; the agent itself stops at 48 million characters.
const PAGE_BYTES_MAX: u64 = 64 << 20;

/// One reading of a JVM's beans.
#[derive(Debug, Clone)]
pub struct JvmBeans {
    /// The page, as from an exporter.
    pub scrape: Scrape,
    /// Processor time that the JVM spent on it, by the clock of the thread that serves who attaches.
    pub cpu_ns: Option<u64>,
}

/// Reads the beans of a JVM.
///
/// # Errors
/// [`AttachError`] where it is no JVM, refuses, or does not answer.
pub fn jvm_beans(pid: u32) -> Result<JvmBeans, AttachError> {
    let jvm = Attached::new(pid)?;
    let directory = Directory::new(&jvm.target, "beans")?;
    directory.write("agent.jar", AGENT)?;
    let (cpu_before, began) = (attach_cpu_ns(pid), Instant::now());
    jvm.load_java(&directory.inside("agent.jar"), &directory.inside("page"))?;
    let took = began.elapsed();
    let cpu_ns = match (cpu_before, attach_cpu_ns(pid)) {
        (Some(before), Some(after)) => after.checked_sub(before),
        _ => None,
    };
    let page = directory.read("page", PAGE_BYTES_MAX)?;
    let page = parse(pid, &String::from_utf8_lossy(&page))?;
    Ok(JvmBeans { scrape: Scrape::at(read_at(began, took), page), cpu_ns })
}

/// The moment of a reading that took some time: its middle.
fn read_at(began: Instant, took: Duration) -> Instant {
    began + took / 2
}

/// The page; one without its last line was cut short, and says why where the agent knew.
fn parse(pid: u32, text: &str) -> Result<MetricsPage, AttachError> {
    let last = text.lines().next_back().unwrap_or_default();
    if last != "# end" {
        let reason = last.strip_prefix("# failed: ").unwrap_or("the page was cut short");
        return Err(AttachError::Beans { pid, reason: reason.chars().take(200).collect() });
    }
    MetricsPage::parse(text).map_err(|source| AttachError::Page { pid, source })
}

/// Processor time of the thread that serves who attaches since its start, which is 0 before it has started. Absent where the kernel
/// keeps no such time.
fn attach_cpu_ns(pid: u32) -> Option<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if name.trim_end() == ATTACH_THREAD {
            let times = fs::read_to_string(entry.path().join("schedstat")).ok()?;
            sum += times.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};
    use std::path::Path;

    #[test]
    fn the_jar_is_the_one_that_the_script_made_of_this_source() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jvm/agent");
        let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
        assert!(sums.contains("  agent.jar\n") && sums.contains("  PlumbBeans1.java\n"));
        for line in sums.lines() {
            let (wanted, name) = line.split_once("  ").unwrap();
            let bytes = fs::read(folder.join(name)).unwrap();
            let got: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(got, wanted, "{name} is another than scripts/build-agent knew: run it again");
        }
    }

    #[test]
    fn a_page_that_was_cut_short_is_refused_and_says_why_where_the_agent_knew() {
        let reason = |text: &str| parse(7, text).unwrap_err().to_string();
        assert!(reason("a 1\n").contains("cut short"));
        assert!(reason("").contains("cut short"));
        assert!(reason("a 1\n\n# failed: java.io.IOException: 8 s\n").ends_with("java.io.IOException: 8 s"));
        assert!(matches!(parse(7, "<html>\n# end\n").unwrap_err(), AttachError::Page { .. }));
        assert_eq!(parse(7, "a{b=\"c\"} 1\n# end\n").unwrap().samples.len(), 1);
    }
}
