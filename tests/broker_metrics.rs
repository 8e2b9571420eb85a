//! Brokers' metrics that are served by TLS and to those who log in only: they are read, and the login is told nowhere.

use crate::program::{Ended, Program};
use crate::tls_server::serve;
use plumb_lab::sink::{SinkBroker, SinkOptions};
use std::path::{Path, PathBuf};

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
