//! Brokers' metrics that are served by TLS and to those who log in only: they are read, and the login is told nowhere. And pages that are
//! far larger than a broker's usually are.

use crate::program::{Ended, Program};
use crate::tls_server::serve;
use plumb_lab::sink::{SinkBroker, SinkOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// base64 of `monitor:hunter2-hunter2` (RFC 7617).
const ENCODED: &str = "bW9uaXRvcjpodW50ZXIyLWh1bnRlcjI=";
const PASSWORD: &str = "hunter2-hunter2";

/// Serves an exporter's page over TLS to whoever has the login, for as long as this process lives; where it is, and its
/// certificate, PEM.
fn exporter() -> (String, String) {
    let server = serve(|head| {
        let is_known = head.contains(&format!("Basic {ENCODED}"));
        let status = if is_known { "200 OK" } else { "401 Unauthorized" };
        let page = "kafka_network_RequestMetrics_Count{name=\"TotalTimeMs\",request=\"Produce\"} 1\n";
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{page}", page.len()).into_bytes()
    });
    (format!("https://{}/metrics", server.address), server.certificate)
}

/// A measurement on a sink whose metrics are there, of somebody who knows the certificate and has the password given.
fn run(sink: &SinkBroker, url: &str, certificate: &str, password: Option<&str>) -> Ended {
    let program = Program::new(["latency", "--rate", "100", "--count", "20", "--warm-up", "0s"]).args([
        "--bootstrap",
        &sink.bootstrap(),
        "--metrics",
        url,
        "--out",
        "run",
    ]);
    let authority = program.directory().join("ca.pem");
    std::fs::write(&authority, certificate).unwrap();
    let program = program.env("SSL_CERT_FILE", &authority);
    match password {
        None => program.run(),
        Some(password) => {
            program.env("PLUMB_METRICS_USER", "monitor").env("PLUMB_METRICS_PASSWORD", password).run()
        }
    }
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn metrics_behind_tls_and_a_login_are_read_and_the_password_is_in_no_file_and_no_message() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let (url, certificate) = exporter();

    let ended = run(&sink, &url, &certificate, Some(PASSWORD));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert!(document["steps"][0]["blocks"][0]["request_times"].is_object(), "both pages were read");
    let kept = files(&ended.path("run")).into_iter().map(|path| std::fs::read(path).unwrap());
    let told = [ended.stdout.clone().into_bytes(), ended.stderr.clone().into_bytes()];
    for text in kept.chain(told) {
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(PASSWORD) && !text.contains(ENCODED));
    }

    for password in [None, Some("wrong-wrong")] {
        let ended = run(&sink, &url, &certificate, password);
        assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
        for part in
            ["expected status 200, got 401", "hint: that page is not for everybody: PLUMB_METRICS_USER"]
        {
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains("wrong-wrong"), "{}", ended.stderr);
    }

    let stranger = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap().cert.pem();
    let ended = run(&sink, &url, &stranger, Some(PASSWORD));
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("no TLS connection to 127.0.0.1:"), "{}", ended.stderr);
    assert!(ended.stderr.contains("SSL_CERT_FILE names the authority"), "{}", ended.stderr);
}

#[test]
fn a_password_in_an_address_is_refused_at_its_flag_and_not_repeated() {
    let program = Program::new(["latency", "--rate", "100", "--count", "20", "--bootstrap", "127.0.0.1:1"]);
    let ended = program.args(["--metrics", "https://monitor:hunter2-hunter2@127.0.0.1:2/metrics"]).run();
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    let message = "error: --metrics: cluster.metrics cannot be set here: an address with a password in it";
    assert!(
        ended.stderr.starts_with(message) && ended.stderr.contains("PLUMB_METRICS_USER"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains(PASSWORD) && !ended.path("runs").exists(), "{}", ended.stderr);
}

/// Series of a large page, and the bytes of each: 200 MB in all.
const SERIES: usize = 100_000;
const LINE_BYTES: usize = 2_000;

/// Serves, for as long as this process lives, a page of so many series of this metric behind three that a broker has, whose counters grow
/// with each request.
fn large_exporter(metric: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let asked = AtomicU64::new(0);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let count = 1_000 * (1 + asked.fetch_add(1, Ordering::Relaxed));
            // Who is asked and has enough goes away.
            let _ = serve_large(&mut stream, metric, count);
        }
    });
    url
}

fn serve_large(stream: &mut impl Write, metric: &str, count: u64) -> std::io::Result<()> {
    let produce = "name=\"TotalTimeMs\",request=\"Produce\"";
    let own = format!(
        "kafka_network_RequestMetrics_Count{{{produce}}} {count}\nkafka_network_RequestMetrics_Mean{{{produce}}} 4.0\n\
         kafka_server_BrokerTopicMetrics_Count{{name=\"BytesInPerSec\"}} {count}\n"
    );
    stream.write_all(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{own}").as_bytes())?;
    let line = |index: usize| {
        let start = format!("{metric}{{name=\"BytesInPerSec\",topic=\"t{index:06}-");
        format!("{start}{}\"}} {count}\n", "x".repeat(LINE_BYTES - start.len() - 10))
    };
    for first in (0..SERIES).step_by(1_000) {
        let lines: String = (first..first + 1_000).map(line).collect();
        stream.write_all(lines.as_bytes())?;
    }
    Ok(())
}

/// A path watched by its metrics alone, of a program that may have no more than this memory of its own.
fn watched_with(mebibytes: u64, url: &str) -> Ended {
    let own = std::process::id().to_string();
    let words = ["observe", "--duration", "2s", "--no-attach", "--pid", &own, "--broker-metrics", url];
    let limit = format!("ulimit -d {}; exec \"$0\" \"$@\"", mebibytes * 1024);
    Program::new(words).args(["--output", "json"]).under(&["sh", "-c", &limit]).run()
}

#[test]
fn a_page_of_200_mb_with_100_000_series_of_others_is_read_in_little_memory() {
    let ended = watched_with(96, &large_exporter("app_requests_total"));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let path = ended.json();
    let broker = &path["brokers"][0];
    assert_eq!(broker["series"], SERIES + 3, "{broker}");
    assert_eq!(broker["requests"]["Produce"]["stages"]["total"]["mean_ns"], 4e6, "{broker}");
}

#[test]
fn a_page_of_which_too_much_would_be_kept_is_refused_with_what_is_too_much_of_it() {
    let ended = watched_with(384, &large_exporter("kafka_server_BrokerTopicMetrics_Count"));
    assert_eq!(ended.code(), Some(0), "the process was seen: {}", ended.stderr);
    let path = ended.json();
    assert_eq!(path["brokers"].as_array().map(Vec::len), Some(0));
    let unseen = path["unseen"].as_array().unwrap();
    let of_page =
        |row: &&serde_json::Value| row["what"].as_str().unwrap().starts_with("metrics of broker http");
    let row = unseen.iter().find(of_page).unwrap_or_else(|| panic!("{unseen:?}"));
    let said = row["reason"].as_str().unwrap();
    assert!(said.contains("expected at most 64 MiB of samples of metrics that are known"), "{said}");
    assert!(row["hint"].as_str().unwrap().contains("have the exporter serve less"), "{row}");
}
