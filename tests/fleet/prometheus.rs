//! `plumb trial fleet --prometheus` against the system's own Prometheus, on series whose truth is known, and against servers that fail.

use super::encrypted::{self, Certificate, Front};
use super::recorded::Prometheus;
use super::scripted::{Answer, server};
use crate::program::{Ended, Program};
use plumb_model::random::Random;
use rustix::net::{AddressFamily, SocketType};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::Path;
use std::sync::{Mutex, Weak};
use tempfile::TempDir;

/// 1 March 2026, UTC: ten days of samples every half an hour, the change after six of them.
const START_S: i64 = 1_772_323_200;
const DAY_S: i64 = 86_400;
const DAYS: i64 = 10;
const BEFORE: i64 = 6;
const STEP_S: i64 = 1_800;
const A_DAY: i64 = DAY_S / STEP_S;

/// The share of the drops that the change leaves.
const EFFECT: f64 = 0.3;

/// Servers in each group, and one more that is in neither.
const SERVERS: usize = 6;

const SECRET: &str = "open-sesame-4711";

static SHARED: Mutex<Weak<Prometheus>> = Mutex::new(Weak::new());

const WINDOW: [&str; 10] = [
    "--metric",
    "drops_total",
    "--load",
    "sent_total",
    "--from",
    "2026-03-01",
    "--until",
    "2026-03-11",
    "--change",
    "2026-03-07",
];

fn name(server: usize) -> String {
    format!("edge-{server:02}:9100")
}

fn group(server: usize) -> &'static str {
    if server >= 2 * SERVERS {
        "spare"
    } else if server.is_multiple_of(2) {
        "control"
    } else {
        "test"
    }
}

/// Counters of drops and of what was sent. Server 1 restarts on the second day; of server 2 five hours of the third day are
/// missing; of server 3 the night after the fourth.
fn series() -> String {
    let at = |day: i64, hour: i64| day * A_DAY + hour * 2;
    let mut random = Random::new(3);
    let mut texts = ["# TYPE drops counter\n".to_owned(), "# TYPE sent counter\n".to_owned()];
    for server in 0..=2 * SERVERS {
        let usual = 40.0 * (0.4 * random.normal()).exp();
        let (mut drops, mut sent) = (1_000.0_f64, 0.0_f64);
        for sample in 0..DAYS * A_DAY {
            let changed = group(server) == "test" && sample >= BEFORE * A_DAY;
            let load = (0.05 * random.normal()).exp();
            let effect = if changed { EFFECT } else { 1.0 };
            drops += (usual * load.powf(1.5) * effect * (0.2 * random.normal()).exp()).round();
            sent += (10_000.0 * load).round();
            if server == 1 && sample == at(1, 6) {
                drops = 4.0;
            }
            let gone = (server == 2 && (at(2, 9)..at(2, 14)).contains(&sample))
                || (server == 3 && (at(3, 22)..at(4, 2)).contains(&sample));
            for (text, (name, value)) in texts.iter_mut().zip([("drops_total", drops), ("sent_total", sent)])
            {
                if !gone {
                    // Scraped 7.125 s after the full half hour.
                    let labels = format!("instance=\"{}\",role=\"{}\"", self::name(server), group(server));
                    writeln!(text, "{name}{{{labels}}} {value} {}.125", START_S + sample * STEP_S + 7)
                        .unwrap();
                }
            }
        }
    }
    texts.concat()
}

fn trial(url: &str, more: &[&str]) -> Program {
    Program::new(["trial", "fleet", "--prometheus", url]).args(WINDOW).args(more)
}

fn by_label(url: &str, more: &[&str]) -> Program {
    trial(url, &[&["--group-label", "role"], more].concat())
}

/// Ended with the code; both words on standard error, a hint beside them, and the secret nowhere.
fn refused(ended: &Ended, code: i32, said: &[&str]) {
    assert_eq!(ended.code(), Some(code), "{}", ended.stderr);
    for words in said.iter().chain(&["\nhint: "]) {
        assert!(ended.stderr.contains(words), "no {words:?} in {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    assert!(!ended.stderr.contains(SECRET), "{}", ended.stderr);
}

#[test]
fn the_effect_that_was_recorded_is_found_by_label_and_by_file_and_what_was_mended_is_told() {
    let prometheus = Prometheus::shared(&SHARED, series);
    let ended = by_label(&prometheus.url, &["--output", "json"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!(result["verdict"], "better", "{result:#}");
    let (low, high) = (result["interval_low"].as_f64().unwrap(), result["interval_high"].as_f64().unwrap());
    assert!(low <= EFFECT && EFFECT <= high && high / low < 1.25, "{low} to {high}");
    assert_eq!(result["servers"], serde_json::json!({"control": SERVERS, "test": SERVERS}));
    assert_eq!(
        (&result["intervals_before"], &result["intervals_after"]),
        (&BEFORE.into(), &(DAYS - BEFORE).into())
    );
    let left = |what: &str| {
        let rows = result["exclusions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["what"].as_str().unwrap().contains(what));
        row.map(|row| (row["count"].as_u64().unwrap(), row["example"].as_str().unwrap().to_owned()))
    };
    assert_eq!(
        left("resets of the metric"),
        Some((1, "edge-01:9100 at 2026-03-02T06:00:07.125Z".to_owned()))
    );
    assert_eq!(left("rises of the metric's counters over a gap").unwrap().0, 1);
    // Two days of the night, and the day with a hole, whose rise is known all the same.
    assert_eq!(left("with gaps").unwrap().0, 2);
    assert_eq!(left("neither group"), Some((1, name(2 * SERVERS))));

    let directory = tempfile::tempdir().unwrap();
    let groups = directory.path().join("groups.csv");
    let rows = (0..2 * SERVERS).map(|server| format!("{},{}\n", name(server), group(server)));
    std::fs::write(&groups, format!("server,group\n{}", rows.collect::<String>())).unwrap();
    let out = directory.path().join("out");
    let by_file = ["--groups", groups.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let ended = trial(&prometheus.url, &by_file).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let kept: Value = serde_json::from_slice(&std::fs::read(out.join("fleet.json")).unwrap()).unwrap();
    assert_eq!(kept["effect_ratio"], result["effect_ratio"]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for words in
        ["resets of the metric", "edge-01:9100 at 2026-03-02T06:00:07.125Z", "the groups file does not name"]
    {
        // Lines of the text may be broken anywhere.
        let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(words) && page.contains(&words.replace('\'', "&#39;")),
            "{words}: {}",
            ended.stdout
        );
    }
}

#[test]
fn a_server_that_does_not_answer_in_time_ends_the_trial_with_that() {
    let (url, _questions) = server(vec![Answer::Silence]);
    let ended = by_label(&url, &["--prometheus-timeout", "1s"]).run();
    refused(&ended, 4, &[&format!("the metrics server at {url} did not answer in 1 s"), "a shorter window"]);
}

#[test]
fn nobody_at_the_address_is_said_with_the_address() {
    // Bound and not listening: nobody else can get the port meanwhile.
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let closed = SocketAddrV4::try_from(rustix::net::getsockname(&socket).unwrap()).unwrap();
    let url = format!("http://{closed}");
    refused(
        &by_label(&url, &[]).run(),
        4,
        &[&format!("cannot reach the metrics server at {url}: "), "the port"],
    );
}

/// An answer with an hourly sample of a server of each group, on all ten days.
fn whole(more: &str) -> String {
    let series = ["control", "test"].map(|group| {
        let samples: Vec<String> = (0..24 * DAYS)
            .map(|hour| format!("[{},\"{}\"]", START_S + hour * 3600, hour * hour % 977 + 1_000 * hour))
            .collect();
        format!(
            "{{\"metric\":{{\"instance\":\"{group}-1\",\"role\":\"{group}\"}},\"values\":[{}]}}",
            samples.join(",")
        )
    });
    format!(
        "{{\"status\":\"success\"{more},\"data\":{{\"resultType\":\"matrix\",\"result\":[{}]}}}}",
        series.join(",")
    )
}

#[test]
fn an_answer_that_is_cut_is_never_taken_for_the_whole() {
    let (url, _questions) = server(vec![Answer::CutShort(whole("")[..500].to_owned())]);
    refused(&by_label(&url, &[]).run(), 4, &["broke off in the middle of its answer", "a proxy"]);
    let (url, _questions) = server(vec![Answer::Says(200, "", whole("")[..500].to_owned())]);
    refused(&by_label(&url, &[]).run(), 4, &["the answer ends after 500 bytes, in the middle", "a proxy"]);
}

#[test]
fn a_limit_that_the_server_warns_of_is_an_error_or_counted_in_text_json_and_page() {
    let limited = whole(",\"warnings\":[\"results truncated due to limit\"]");
    let (url, _questions) = server(vec![Answer::Says(200, "", limited.clone())]);
    let said = "warns that its answer may not be whole: results truncated due to limit";
    refused(&by_label(&url, &[]).run(), 4, &[said]);

    let (url, _questions) = server(vec![Answer::Says(200, "", limited)]);
    let ended = by_label(&url, &["--accept-warnings", "--out", "out"]).run();
    assert_eq!(ended.code(), Some(1), "one server in each group shows nothing: {}", ended.stderr);
    let kept: Value = serde_json::from_slice(&std::fs::read(ended.path("out/fleet.json")).unwrap()).unwrap();
    let row = kept["exclusions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["what"] == "warnings of the metrics server");
    assert!(row.unwrap()["count"].as_u64().unwrap() > 1, "{kept:#}");
    let page = std::fs::read_to_string(ended.path("out/report.html")).unwrap();
    for shown in [&ended.stdout, &page] {
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("warnings of the metrics server"), "{words}");
        assert!(words.contains("results truncated due to limit"), "{words}");
    }
}

/// A file for `--prometheus-config`, with the secret in another file.
fn configuration(directory: &Path, text: &str) -> String {
    std::fs::write(directory.join("secret"), format!("{SECRET}\n")).unwrap();
    let path = directory.join("http.yml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn wrong_credentials_are_refused_and_never_shown_though_the_server_sends_them_back() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path(), "authorization: {credentials_file: secret}");
    let (url, questions) = server(vec![Answer::Says(401, "", format!("no such token: Bearer {SECRET}"))]);
    let ended = by_label(&url, &["--prometheus-config", &config]).run();
    refused(&ended, 4, &["answers with status 401: no such token: Bearer (secret)", "--prometheus-config"]);
    assert!(questions.recv().unwrap().contains(SECRET), "it was sent");

    let in_address = format!("http://plumb:{SECRET}@127.0.0.1:1");
    refused(
        &by_label(&in_address, &[]).run(),
        2,
        &["the address of the metrics server has a user or password in it"],
    );
}

/// A file with the authority that signed the fronts' certificates.
fn authority(directory: &TempDir) -> String {
    let path = directory.path().join("ca.pem");
    std::fs::write(&path, Front::authority_pem()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn over_tls_with_an_authority_of_ones_own_and_a_secret_from_a_file_or_the_environment_it_is_the_same() {
    let prometheus = Prometheus::shared(&SHARED, series);
    let directory = tempfile::tempdir().unwrap();
    let authority = authority(&directory);
    let plain = by_label(&prometheus.url, &["--output", "json"]).run().json();

    let bearer = Front::before(&prometheus.url, Certificate::Right, Some(format!("Bearer {SECRET}")));
    let config = configuration(directory.path(), "authorization: {credentials_file: secret}");
    let flags = ["--prometheus-ca", &authority, "--prometheus-config", &config, "--output", "json"];
    let ended = by_label(&bearer.url, &flags).run();
    assert_eq!(ended.json()["effect_ratio"], plain["effect_ratio"], "{}", ended.stderr);
    // Without it the front does not let anybody in.
    let ended = by_label(&bearer.url, &["--prometheus-ca", &authority]).run();
    refused(
        &ended,
        4,
        &["answers with status 401", "give the token, password or tenant in a file with --prometheus-config"],
    );

    // printf plumb:open-sesame-4711 | base64
    let basic = Front::before(
        &prometheus.url,
        Certificate::Right,
        Some("Basic cGx1bWI6b3Blbi1zZXNhbWUtNDcxMQ==".to_owned()),
    );
    let text = format!(
        "basic_auth: {{username: plumb, password_env: FLEET_PASSWORD}}\ntls_config: {{ca_file: {authority:?}}}"
    );
    let config = configuration(directory.path(), &text);
    let flags = ["--prometheus-config", &config, "--output", "json"];
    let ended = by_label(&basic.url, &flags).env("FLEET_PASSWORD", SECRET).run();
    assert_eq!(ended.json()["effect_ratio"], plain["effect_ratio"], "{}", ended.stderr);
    let ended = by_label(&basic.url, &flags).env("FLEET_PASSWORD", "guessed").run();
    refused(&ended, 4, &["answers with status 401: not (secret)"]);
}

#[test]
fn a_server_whose_certificate_is_not_its_own_valid_and_signed_is_told_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (own, other) = (authority(&directory), directory.path().join("other.pem"));
    std::fs::write(&other, encrypted::other_authority_pem()).unwrap();
    let config = configuration(directory.path(), "authorization: {credentials_file: secret}");
    let with =
        |authority: &str| ["--prometheus-config", &config, "--prometheus-ca", authority].map(str::to_owned);
    let untrusted = |certificate, authority: &str, said: [&str; 2]| {
        let front = Front::before("http://127.0.0.1:1", certificate, None);
        let flags = with(authority);
        refused(&by_label(&front.url, &flags.each_ref().map(String::as_str)).run(), 4, &said);
        assert_eq!(front.asked(), 0, "{certificate:?}: nothing is sent before the server is trusted");
    };
    let unknown = "is not trusted: its certificate is from an authority that is not known here";
    untrusted(Certificate::Right, other.to_str().unwrap(), [unknown, "--prometheus-ca FILE"]);
    let name = "is not trusted: its certificate is for another name than that of the address";
    untrusted(Certificate::OtherName, &own, [name, "by the name that the certificate is for"]);
    let expired = "is not trusted: its certificate has expired, or is not valid yet";
    untrusted(Certificate::Expired, &own, [expired, "renewed"]);
}

#[test]
fn what_cannot_be_encrypted_or_checked_is_refused_with_a_clear_word() {
    let directory = tempfile::tempdir().unwrap();
    let authority = authority(&directory);
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in plain.incoming() {
            // Whoever asks may be gone.
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let (https, http) = (format!("https://{address}"), format!("http://{address}"));
    let flags = ["--prometheus-ca", &authority];
    refused(
        &by_label(&https, &flags).run(),
        4,
        &["is not trusted: it does not speak TLS there", "is it https there"],
    );
    refused(
        &by_label(&http, &flags).run(),
        2,
        &["of no use: the address of the metrics server is not https"],
    );
    let skipping = configuration(directory.path(), "tls_config: {insecure_skip_verify: true}");
    let never = "insecure_skip_verify is not taken: a server's certificate is always checked";
    refused(&by_label(&https, &["--prometheus-config", &skipping]).run(), 2, &[never]);
    refused(
        &by_label(&https, &["--prometheus-ca", &skipping]).run(),
        2,
        &["expected PEM certificates, found none"],
    );
    // A key that is another certificate's.
    let (certificate, key) = encrypted::strangers();
    std::fs::write(directory.path().join("client.pem"), certificate).unwrap();
    std::fs::write(directory.path().join("client.key"), key).unwrap();
    let text = "tls_config: {cert_file: client.pem, key_file: client.key}";
    let config = configuration(directory.path(), text);
    let flags = ["--prometheus-ca", &authority, "--prometheus-config", &config];
    refused(
        &by_label(&https, &flags).run(),
        2,
        &["tls_config.key_file is not the key of tls_config.cert_file"],
    );
}
