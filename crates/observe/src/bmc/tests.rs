//! Against a service of our own on loopback, by TLS: what it answers is known to the byte. Its trees are in `recorded`, in the form of the
//! makers' answers, with made-up numbers.

use super::*;
use crate::http::Login;
use plumb_model::fault::{Fault, HasFault};
use proptest::prelude::*;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest as _, Sha256};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const DELL: &str = include_str!("recorded/dell.json");
const HPE: &str = include_str!("recorded/hpe.json");
const LENOVO: &str = include_str!("recorded/lenovo.json");
const SUPERMICRO: &str = include_str!("recorded/supermicro.json");
const PASSWORD: &str = "open sesame";

/// Answers of a service, by path: status line with headers, and body.
type Answers = BTreeMap<String, Vec<u8>>;

fn json(value: &Value) -> Vec<u8> {
    let body = value.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn tree(recorded: &str) -> Answers {
    let tree: BTreeMap<String, Value> = serde_json::from_str(recorded).unwrap();
    tree.into_iter().map(|(path, value)| (path, json(&value))).collect()
}

/// A controller that runs until the test's end, and what it was asked.
struct Controller {
    port: u16,
    sha256: [u8; 32],
    asked: Arc<Mutex<Vec<String>>>,
}

impl Controller {
    fn with(answers: Answers) -> Self {
        let made = rcgen::generate_simple_self_signed(["idrac.example".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (config, seen) = (Arc::new(config), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                answer(StreamOwned::new(connection, stream.unwrap()), &answers, &seen);
            }
        });
        Controller { port, sha256: Sha256::digest(made.cert.der()).into(), asked }
    }

    fn of(recorded: &str) -> Self {
        Controller::with(tree(recorded))
    }

    fn bmc(&self, path: &str) -> Bmc {
        let login = Login { user: "me".to_owned(), password: PASSWORD.to_owned() };
        Bmc::new(&format!("https://127.0.0.1:{}{path}", self.port), login, Some(self.sha256)).unwrap()
    }

    fn settings(&self) -> Result<FirmwareSettings, BmcError> {
        firmware_settings(&self.bmc(""), &HostRoot::new("/nonexistent"))
    }

    fn words(&self) -> String {
        let error = self.settings().unwrap_err();
        assert_eq!(error.fault(), Fault::Target);
        let words = error.in_words();
        assert!(!words.contains("sesame") && !words.contains("bWU6"), "{words}");
        words
    }
}

fn answer(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    answers: &Answers,
    seen: &Mutex<Vec<String>>,
) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(head);
    let missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    let _ = stream.write_all(answers.get(&path).unwrap_or(&missing));
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn settings_in_force_those_that_wait_and_what_they_take_are_read_by_the_services_own_links() {
    let dell = Controller::of(DELL).settings().unwrap();
    assert_eq!(dell.system, "/redfish/v1/Systems/System.Embedded.1");
    assert_eq!(dell.maker.as_deref(), Some("Dell Inc."));
    assert_eq!(dell.in_force["SnoopMode"], "EarlySnoop");
    assert_eq!(dell.in_force["AcPwrRcvryUserDelay"], "60");
    assert!(!dell.in_force.contains_key("SetupPassword"));
    assert_eq!(dell.waiting, map(&[("SnoopMode", "HomeSnoop")]));
    assert_eq!(dell.taken["SnoopMode"].len(), 4);
    assert_eq!(dell.set_at.as_deref(), Some("/redfish/v1/Systems/System.Embedded.1/Bios/Settings"));
    assert_eq!((dell.unread, dell.is_this_host), (Vec::new(), None));
}

#[test]
fn each_makers_tree_is_read_also_where_it_has_no_registry() {
    let [hpe, lenovo, supermicro] =
        [HPE, LENOVO, SUPERMICRO].map(|tree| Controller::of(tree).settings().unwrap());
    assert_eq!((hpe.in_force["SubNumaClustering"].as_str(), hpe.waiting.len()), ("Enabled", 0));
    assert_eq!(hpe.taken["SubNumaClustering"], ["Enabled", "Disabled"]);
    assert_eq!(lenovo.set_at.as_deref(), Some("/redfish/v1/Systems/1/Bios/Pending"));
    assert_eq!((lenovo.taken.len(), lenovo.unread.len()), (0, 0));
    assert_eq!(supermicro.in_force["QuietBoot"], "true");
}

#[test]
fn every_request_reads_and_carries_the_login_to_the_controller_alone() {
    let controller = Controller::of(DELL);
    controller.settings().unwrap();
    let asked = controller.asked.lock().unwrap();
    assert!(asked.len() >= 8, "{asked:?}");
    for head in asked.iter() {
        assert!(head.starts_with("GET /redfish/v1/"), "{head}");
        // RFC 7617: base64 of "me:open sesame".
        assert!(head.to_lowercase().contains("authorization: basic bwu6b3blbibzzxnhbwu="), "{head}");
    }
}

#[test]
fn a_registry_that_comes_packed_is_read_and_one_that_is_missing_is_said() {
    let uri = "/redfish/v1/registrystore/registries/en/biosattributeregistryu32.v1_2_68";
    let mut answers = tree(HPE);
    let whole = answers[uri].clone();
    let at = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&whole[at..]).unwrap();
    let packed = packer.finish().unwrap();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", packed.len());
    answers.insert(uri.to_owned(), [head.into_bytes(), packed].concat());
    assert_eq!(Controller::with(answers.clone()).settings().unwrap().taken["SubNumaClustering"].len(), 2);
    answers.remove(uri);
    let without = Controller::with(answers).settings().unwrap();
    assert_eq!((without.taken.len(), without.unread.len()), (0, 1), "{without:?}");
    assert!(without.unread[0].contains("404"), "{:?}", without.unread);
}

#[test]
fn a_controller_that_is_not_trusted_or_refuses_or_leads_away_is_named_with_the_next_step() {
    let controller = Controller::of(DELL);
    let stranger = Bmc { certificate_sha256: Some([1; 32]), ..controller.bmc("") };
    let error = firmware_settings(&stranger, &HostRoot::new("/nonexistent")).unwrap_err().in_words();
    assert!(error.contains("SHA-256") && error.contains("--bmc-cert-sha256"), "{error}");
    assert_eq!(controller.asked.lock().unwrap().iter().filter(|head| !head.is_empty()).count(), 0);

    for (status, words) in [
        ("401 Unauthorized", "--bmc-credentials"),
        ("404 Not Found", "have Redfish"),
        ("503 Busy", "try again"),
    ] {
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes();
        let said = Controller::with(Answers::from([(ROOT.to_owned(), answer)])).words();
        assert!(said.contains(words), "{said}");
    }
    let away = "HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let said = Controller::with(Answers::from([(ROOT.to_owned(), away.as_bytes().to_vec())])).words();
    assert!(said.contains("302") && said.contains("redirect is not followed"), "{said}");
}

#[test]
fn an_answer_that_is_no_redfish_or_without_end_is_named() {
    let with = |answer: Vec<u8>| Controller::with(Answers::from([(ROOT.to_owned(), answer)])).words();
    let echo = format!("HTTP/1.1 200 OK\r\n\r\n<html>Basic bWU6b3BlbiBzZXNhbWU= {PASSWORD}</html>");
    assert!(with(echo.into_bytes()).contains("expected JSON at /redfish/v1/"));
    assert!(with(json(&serde_json::json!({"RedfishVersion": "1.0.0"}))).contains("a link to Systems"));
    assert!(with(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}".to_vec()).contains("whole"));
    let huge = [b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b' '; (8 << 20) + 1]].concat();
    assert!(with(huge).contains("at most 8388608 bytes"));
    let deep = format!("HTTP/1.1 200 OK\r\n\r\n{}", "[".repeat(100_000));
    assert!(with(deep.into_bytes()).contains("expected JSON"));
}

#[test]
fn a_link_to_another_host_is_not_followed() {
    for link in
        ["https://127.0.0.1:1/redfish/v1/Systems", "//127.0.0.1:1/Systems", "@127.0.0.1:1/Systems", "Systems"]
    {
        let root = json(&serde_json::json!({"Systems": {"@odata.id": link}}));
        let said = Controller::with(Answers::from([(ROOT.to_owned(), root)])).words();
        assert!(said.contains("a link to Systems"), "{link}: {said}");
    }
}

/// Two systems of one controller, with a number each.
fn two_systems() -> Answers {
    let mut answers = tree(DELL);
    let members = serde_json::json!({"Members": [{"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "/redfish/v1/Systems/System.Embedded.1"}]});
    answers.insert("/redfish/v1/Systems".to_owned(), json(&members));
    let other = serde_json::json!({"UUID": "11111111-2222-3333-4444-555555555555"});
    answers.insert("/redfish/v1/Systems/1".to_owned(), json(&other));
    answers
}

fn host_with(uuid: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/class/dmi/id");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("product_uuid"), format!("{uuid}\n")).unwrap();
    root
}

#[test]
fn of_several_systems_the_one_that_is_this_host_is_read_or_the_one_that_was_named() {
    let controller = Controller::with(two_systems());
    let said = controller.words();
    assert!(said.contains("2 systems") && said.contains("/redfish/v1/Systems/1"), "{said}");
    for uuid in ["4C4C4544-0036-4B10-8033-B6C04F4D4E32", "44454c4c-3600-104b-8033-b6c04f4d4e32"] {
        let host = host_with(uuid);
        let found = firmware_settings(&controller.bmc(""), &HostRoot::new(host.path())).unwrap();
        assert_eq!(
            (found.is_this_host, found.system.as_str()),
            (Some(true), "/redfish/v1/Systems/System.Embedded.1")
        );
    }
    let host = host_with("99999999-0036-4b10-8033-b6c04f4d4e32");
    let named = controller.bmc("/redfish/v1/Systems/System.Embedded.1/");
    let found = firmware_settings(&named, &HostRoot::new(host.path())).unwrap();
    assert_eq!(found.is_this_host, Some(false));
    let bare = controller.bmc("/redfish/v1/Systems/1");
    let error = firmware_settings(&bare, &HostRoot::new(host.path())).unwrap_err();
    assert!(matches!(error, BmcError::NoBios { .. }), "{error:?}");
}

#[test]
fn an_address_is_of_https_and_without_a_password_which_is_not_repeated() {
    let login = || Login { user: "me".to_owned(), password: PASSWORD.to_owned() };
    for good in [
        "https://bmc",
        "https://bmc/",
        "https://[fe80::1]:8443/redfish/v1",
        "https://bmc/redfish/v1/Systems/1",
    ] {
        assert!(Bmc::new(good, login(), None).is_ok(), "{good}");
    }
    for bad in
        ["http://bmc", "bmc", "https://me:sesame@bmc", "https://bmc/ui", "https://bmc/?a=b", "https://"]
    {
        let error = Bmc::new(bad, login(), None).unwrap_err();
        assert_eq!(error.fault(), Fault::User, "{bad}");
        assert!(!error.in_words().contains("sesame"), "{error}");
    }
    assert!(!format!("{:?}", Bmc::new("https://bmc", login(), None)).contains("sesame"));
}

#[test]
fn what_makers_leave_where_a_number_should_be_is_none() {
    let host = host_with("00000000-0000-0000-0000-000000000000");
    let system =
        serde_json::json!({"UUID": "00000000-0000-0000-0000-000000000000", "SerialNumber": "Not Specified"});
    assert_eq!(same_host::is_this_host(&system, &HostRoot::new(host.path())), None);
}

proptest! {
    #[test]
    fn attributes_of_any_text_can_be_shown(name in "(?s).{0,20}", value in "(?s).{0,300}") {
        let resource = serde_json::json!({"Attributes": {name: value, "Other": [1]}});
        let found = attributes(&resource).unwrap();
        prop_assert_eq!(found.len(), 1);
        let text: String = found.iter().map(|(name, value)| format!("{name}{value}")).collect();
        prop_assert!(text.chars().count() <= 400 && !text.chars().any(char::is_control));
    }

    #[test]
    fn a_link_that_is_taken_is_a_path_of_the_controller(text in "[/@:?#\\\\a-z. ]{0,20}") {
        let value = serde_json::json!({"@odata.id": text});
        if let Some(path) = tree::link(&value, "") {
            let target = Target::parse(&format!("https://bmc{path}")).unwrap();
            prop_assert_eq!(target.host, "bmc");
        }
    }
}
