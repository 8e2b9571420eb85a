//! The system's own Prometheus with series that were recorded beforehand.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use tempfile::TempDir;

/// A Prometheus of our own, gone with this value.
#[derive(Debug)]
pub(crate) struct Prometheus {
    process: Child,
    pub(crate) url: String,
    _directory: TempDir,
}

impl Prometheus {
    /// The one that `place` keeps while any test holds it, else a new one with these series, in the OpenMetrics format. A server
    /// of a static would outlive its tests: nothing drops it.
    pub(crate) fn shared(place: &'static Mutex<Weak<Self>>, series: impl Fn() -> String) -> Arc<Self> {
        let mut kept = place.lock().unwrap();
        kept.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::with(&series()));
            *kept = Arc::downgrade(&new);
            new
        })
    }

    fn with(series: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("series.om"), format!("{series}# EOF\n")).unwrap();
        std::fs::write(path("prometheus.yml"), "scrape_configs: []\n").unwrap();
        let made = Command::new(program("promtool"))
            .args(["tsdb", "create-blocks-from", "openmetrics"])
            .args([path("series.om"), path("data")])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // A port that is free now may be taken in a moment: then another is tried.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if let Some(process) = start(&path("prometheus.yml"), &path("data"), port) {
                let url = format!("http://127.0.0.1:{port}");
                return Prometheus { process, url, _directory: directory };
            }
        }
        panic!("Prometheus did not start");
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).unwrap();
    }
}

/// Starts it and waits until it says that it is ready; none when it ends instead.
fn start(config: &Path, data: &Path, port: u16) -> Option<Child> {
    let mut process = Command::new(program("prometheus"))
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg("--storage.tsdb.retention.time=100y")
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while lines.read_line(&mut line).unwrap() > 0 {
        if line.contains("ready to receive web requests") {
            // Whatever it writes from now on is taken away, so that it never waits for that.
            std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
            return Some(process);
        }
        line.clear();
    }
    process.wait().unwrap();
    None
}

/// A program of Prometheus: on the path, or where scripts/bootstrap unpacks it.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let unpacked = cache.join("plumb/prometheus/usr/bin");
    let found = std::env::split_paths(&path).chain([unpacked]).map(|place| place.join(name));
    found
        .into_iter()
        .find(|program| program.exists())
        .unwrap_or_else(|| panic!("no {name}: run scripts/bootstrap"))
}
