//! Labs with TLS and SASL, seen by the client library that users have.

#![expect(clippy::unwrap_used, reason = "in a test, an unwrap is an expectation that failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plumb_lab::kafka::{
    CertificateAuthority, LabCluster, LabOptions, Labs, PlainClient, ScramMechanism, ScramUser, Tls,
};
use plumb_model::plan::InterBroker;
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

/// The address on which a broker listens for the others.
fn replication_address(lab: &LabCluster, broker: usize) -> String {
    let file = lab.directory().join(format!("broker-{broker}")).join("server.properties");
    let settings = std::fs::read_to_string(file).unwrap();
    assert!(settings.contains("inter.broker.listener.name=REPLICATION\n"), "{settings}");
    let listeners = settings.lines().find_map(|line| line.strip_prefix("advertised.listeners=")).unwrap();
    let own = listeners.split(',').find_map(|listener| listener.strip_prefix("REPLICATION://"));
    own.unwrap().to_owned()
}

#[test]
fn brokers_that_replicate_over_tls_are_in_sync_and_their_listeners_speak_nothing_else() {
    let options = LabOptions { brokers: 3, inter_broker: InterBroker::Tls, ..LabOptions::default() };
    let (root, lab) = start(options);
    // Clients were not asked to use TLS.
    assert_eq!(connect(&lab, &[]), Ok(3));

    // The listener that the brokers fetch on: TLS with the lab's authority, and nothing else.
    let ca = lab.directory().join("tls").join("ca.pem").display().to_string();
    for broker in 1..=3 {
        let address = replication_address(&lab, broker);
        let over_tls =
            [("bootstrap.servers", &*address), ("security.protocol", "ssl"), ("ssl.ca.location", &ca)];
        assert_eq!(connect(&lab, &over_tls), Ok(3));
        let other = other_authority(root.path());
        let refused = connect(&lab, &[over_tls[0], over_tls[1], ("ssl.ca.location", &other)]).unwrap_err();
        assert!(refused.contains("certificate verify failed"), "{refused}");
        connect(&lab, &[("bootstrap.servers", &address)]).unwrap_err();
    }

    // Three replicas that must all have a record before it is confirmed: nothing but the fetches of both followers makes that true.
    let mut client = PlainClient::connect(lab.plaintext_addresses()[0], PATIENCE).unwrap();
    client.create_topic("t", &[vec![2, 3, 1]], &[("min.insync.replicas", "3")]).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut leader = PlainClient::connect(lab.plaintext_addresses()[1], PATIENCE).unwrap();
    while let Err(error) = leader.produce("t", 0, b"copied over TLS") {
        assert!(Instant::now() < deadline, "{error}");
    }
    assert_eq!(leader.fetch("t", 0, 0).unwrap(), ["copied over TLS"]);
    let metadata = client.metadata(&["t"]).unwrap();
    assert_eq!(metadata.topics[0].partitions[0].isr_nodes.len(), 3);
}
