//! Labs with TLS and SASL, seen by the client library that users have.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plumb_lab::kafka::{CertificateAuthority, LabCluster, LabOptions, Labs, ScramMechanism, ScramUser, Tls};
use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;

const PATIENCE: Duration = Duration::from_secs(30);

/// Keeps what the library says when it cannot connect.
#[derive(Clone, Default)]
struct Complaints(Arc<Mutex<String>>);

impl ClientContext for Complaints {
    fn error(&self, _: KafkaError, reason: &str) {
        *self.0.lock().unwrap() += reason;
    }
}

impl ConsumerContext for Complaints {}

/// Asks for metadata with the lab's properties, as changed. `Err` is what the library complained of.
fn connect(lab: &LabCluster, changed: &[(&str, &str)]) -> Result<usize, String> {
    let mut config = rdkafka::ClientConfig::new();
    config.set("bootstrap.servers", lab.bootstrap());
    config.extend(lab.client_properties());
    config.extend(changed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let complaints = Complaints::default();
    let consumer: BaseConsumer<_> = config.create_with_context(complaints.clone()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Ok(metadata) = consumer.fetch_metadata(None, Duration::from_millis(500)) {
            return Ok(metadata.brokers().len());
        }
        // Complaints are delivered to whoever polls.
        consumer.poll(Duration::from_millis(100));
        let complaints = complaints.0.lock().unwrap().clone();
        if !complaints.is_empty() || Instant::now() > deadline {
            return Err(complaints);
        }
    }
}

fn start(options: LabOptions) -> (tempfile::TempDir, LabCluster) {
    let root = tempfile::tempdir().unwrap();
    let lab = Labs::at(root.path()).start(&options).unwrap();
    (root, lab)
}

/// The certificate of an authority that signed nothing here.
fn other_authority(directory: &Path) -> String {
    let path = directory.join("other-ca.pem");
    std::fs::write(&path, CertificateAuthority::new("somebody else").unwrap().certificate_pem()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn tls_and_login_are_both_required_and_both_checked() {
    let mut strong = ScramUser::new("bob", "also se=cret");
    strong.mechanism = ScramMechanism::Sha512;
    let sasl = vec![ScramUser::new("alice", "se cr=et"), strong];
    let (root, lab) = start(LabOptions { tls: Tls::Server, sasl, ..LabOptions::default() });

    assert_eq!(connect(&lab, &[]), Ok(1));
    let bob =
        [("sasl.username", "bob"), ("sasl.password", "also se=cret"), ("sasl.mechanism", "SCRAM-SHA-512")];
    assert_eq!(connect(&lab, &bob), Ok(1));

    let refused = connect(&lab, &[("sasl.password", "wrong")]).unwrap_err();
    assert!(refused.contains("Authentication failed"), "{refused}");
    let refused = connect(&lab, &[("ssl.ca.location", &other_authority(root.path()))]).unwrap_err();
    assert!(refused.contains("certificate verify failed"), "{refused}");
}

#[test]
fn a_password_is_in_no_argument_and_in_no_file_but_the_clients_own() {
    let user = ScramUser::with_random_password("carol");
    let password = user.password.clone();
    let (_root, lab) = start(LabOptions { sasl: vec![user], ..LabOptions::default() });
    assert_eq!(connect(&lab, &[]), Ok(1));

    let command = std::fs::read_to_string(format!("/proc/{}/cmdline", lab.broker_pids()[0])).unwrap();
    assert!(!command.contains(&password));
    let mut found = Vec::new();
    let mut directories = vec![lab.directory().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if std::fs::read(&path)
                .unwrap()
                .windows(password.len())
                .any(|part| part == password.as_bytes())
            {
                found.push(path);
            }
        }
    }
    assert_eq!(found, [lab.directory().join("client.properties")]);
}

#[test]
fn a_lab_with_mutual_tls_refuses_a_client_without_a_certificate() {
    let (_root, lab) = start(LabOptions { tls: Tls::Mutual, ..LabOptions::default() });
    assert_eq!(connect(&lab, &[]), Ok(1));
    let refused = connect(&lab, &[("ssl.certificate.location", ""), ("ssl.key.location", "")]).unwrap_err();
    assert!(refused.contains("certificate"), "{refused}");
}
