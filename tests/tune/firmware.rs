//! `plumb check --bmc`: the firmware's settings from a management controller, which is only read, and whose login is told nowhere.

use crate::program::{Ended, Program};
use crate::tls_server::{TlsServer, serve};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

/// base64 of `monitor:hunter2-hunter2` (RFC 7617).
const ENCODED: &str = "bW9uaXRvcjpodW50ZXIyLWh1bnRlcjI=";
const PASSWORD: &str = "hunter2-hunter2";
const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";

/// A Redfish service of one system, in the form of Dell's, that only whoever has the login may read; and what it was asked.
fn controller() -> (TlsServer, Arc<Mutex<Vec<String>>>) {
    let link = |path: &str| json!({"@odata.id": path});
    let tree = BTreeMap::from([
        ("/redfish/v1/".to_owned(), json!({"Systems": link("/redfish/v1/Systems")})),
        ("/redfish/v1/Systems".to_owned(), json!({"Members": [link(SYSTEM)]})),
        (SYSTEM.to_owned(), json!({"Manufacturer": "Dell Inc.", "Bios": link(&format!("{SYSTEM}/Bios"))})),
        (
            format!("{SYSTEM}/Bios"),
            json!({
                "Attributes": {"SnoopMode": "EarlySnoop", "SysProfile": "PerfPerWattOptimizedDapc", "SetupPassword": null},
                "@Redfish.Settings": {"SettingsObject": link(&format!("{SYSTEM}/Bios/Settings"))},
            }),
        ),
        (format!("{SYSTEM}/Bios/Settings"), json!({"Attributes": {"SysProfile": "PerfOptimized"}})),
    ]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let server = serve(move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let is_known = head.contains(&format!("Basic {ENCODED}"));
        let (status, body) = match tree.get(path) {
            _ if !is_known => ("401 Unauthorized", String::new()),
            Some(found) => ("200 OK", found.to_string()),
            None => ("404 Not Found", String::new()),
        };
        seen.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    });
    (server, asked)
}

/// A check of the rows that the firmware has a part in, with this login in a file of this mode.
fn check(server: &TlsServer, login: &str, mode: u32, more: &[&str]) -> Ended {
    let url = format!("https://{}", server.address);
    let program = Program::new(["check", "--only", "snoop-mode,power-profile", "--window", "100ms", "--all"])
        .args(["--bmc", &url, "--bmc-credentials", "login"])
        .args(more);
    let file = program.directory().join("login");
    std::fs::write(&file, login).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    let authority = program.directory().join("ca.pem");
    std::fs::write(&authority, &server.certificate).unwrap();
    let ended = program.env("SSL_CERT_FILE", &authority).run();
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains(PASSWORD) && !text.contains(ENCODED), "{text}");
    }
    ended
}

fn row<'d>(document: &'d Value, target: &str) -> &'d Value {
    let rows = document["checks"].as_array().unwrap();
    rows.iter().find(|row| row["target"] == target).unwrap_or_else(|| panic!("no {target} in {rows:?}"))
}

#[test]
fn the_firmwares_settings_are_told_with_what_waits_and_how_they_are_set_and_nothing_is_changed_there() {
    let (server, asked) = controller();
    let login = format!("monitor:{PASSWORD}\n");
    let ended = check(&server, &login, 0o600, &["--output", "json"]);
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    let document = ended.json();
    let snoop = row(&document, "the firmware's SnoopMode");
    assert_eq!((&snoop["effective"], &snoop["risk"]), (&json!("EarlySnoop"), &json!("reboot")), "{snoop}");
    let profile = row(&document, "the firmware's SysProfile");
    assert_eq!(profile["effective"], "PerfPerWattOptimizedDapc", "{profile}");
    assert_eq!(
        (&profile["configured"], &profile["recommended"]),
        (&json!("PerfOptimized"), &json!("PerfOptimized"))
    );
    assert!(profile["reason"].as_str().unwrap().contains("waits for the next start"), "{profile}");
    let asked = asked.lock().unwrap();
    assert!(asked.len() >= 5 && asked.iter().all(|line| line.starts_with("GET /redfish/v1/")), "{asked:?}");
}

#[test]
fn a_controller_that_refuses_or_is_not_trusted_or_is_not_there_is_told_and_the_rest_of_the_host_is_looked_at()
{
    let (server, _) = controller();
    let known = format!("monitor:{PASSWORD}");
    let other = "ab".repeat(32);
    for (login, more, says) in [
        (
            "monitor:wrong-wrong",
            &[][..],
            "expected status 200, got 401: the user and password of --bmc-credentials",
        ),
        (&known, &["--bmc-cert-sha256", &other], "the server's certificate has the SHA-256"),
    ] {
        let ended = check(&server, login, 0o600, &[more, &["--output", "json"]].concat());
        assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
        let document = ended.json();
        let unseen = document["unseen"].to_string();
        assert!(unseen.contains("the firmware's settings: ") && unseen.contains(says), "{unseen}");
        assert_eq!(row(&document, "the firmware")["status"], "unknown");
        assert!(document["checks"].as_array().unwrap().len() > 2, "{document}");
        assert!(!ended.stdout.contains("wrong-wrong"), "{}", ended.stdout);
    }
    let gone = TlsServer { address: "127.0.0.1:1".to_owned(), certificate: server.certificate };
    let ended = check(&gone, &known, 0o600, &[]);
    assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
    assert!(ended.stdout.contains("can this host reach the controller's network?"), "{}", ended.stdout);
}

#[test]
fn a_login_that_others_can_read_and_words_that_cannot_be_are_refused_before_anything_is_asked() {
    let (server, asked) = controller();
    let known = format!("monitor:{PASSWORD}");
    let open = check(&server, &known, 0o644, &[]);
    assert!(open.stderr.contains("has mode 0644") && open.stderr.contains("chmod 600"), "{}", open.stderr);
    let short = check(&server, &known, 0o600, &["--bmc-cert-sha256", "12"]);
    let none = check(&server, PASSWORD, 0o600, &[]);
    assert!(none.stderr.contains("expected one line, USER:PASSWORD"), "{}", none.stderr);
    let alone = Program::new(["check", "--bmc", "https://bmc", "--window", "100ms"]).run();
    let plain =
        Program::new(["check", "--bmc", "http://me:sesame@bmc", "--bmc-credentials", "/dev/null"]).run();
    assert!(!plain.stderr.contains("sesame"), "{}", plain.stderr);
    for ended in [open, short, none, alone, plain] {
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
}
