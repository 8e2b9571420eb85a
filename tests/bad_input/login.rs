//! Certificates and logins that the other side does not take.

use super::{assert_says, complaint, latency_with};
use crate::kafka::{PASSWORD, lab};
use plumb_lab::kafka::CertificateAuthority;

/// The properties of the secured listener, one of them changed.
fn changed(key: &str, value: &str) -> String {
    let properties = lab().client_properties();
    assert!(properties.iter().any(|(known, _)| known == key), "{key} is none of {properties:?}");
    let line =
        |(known, was): &(String, String)| format!("{known}={}\n", if known == key { value } else { was });
    properties.iter().map(line).collect()
}

#[test]
fn a_certificate_that_another_authority_signed() {
    let place = tempfile::tempdir().unwrap();
    let authority = place.path().join("ca.pem");
    std::fs::write(&authority, CertificateAuthority::new("somebody else").unwrap().certificate_pem())
        .unwrap();
    let properties = changed("ssl.ca.location", authority.to_str().unwrap());
    assert_says!(complaint(&latency_with(&lab().bootstrap(), &properties).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: no TLS connection with 127.0.0.1:[port]: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates are installed (install ca-certificates package)
    hint: the broker's certificate is not signed by a known authority: set ssl.ca.location in the client properties file
    ");
}

#[test]
fn a_file_of_authorities_that_does_not_exist() {
    let properties = changed("ssl.ca.location", "/no/such/ca.pem");
    assert_says!(complaint(&latency_with(&lab().bootstrap(), &properties).run()), @r"
    exit 2
    error: the client library refuses the properties: ssl.ca.location failed: error:05880002:x509 certificate routines::system lib
    hint: is the file that this property names there, readable, and in the PEM format?
    ");
}

#[test]
fn a_wrong_password() {
    let message =
        complaint(&latency_with(&lab().bootstrap(), &changed("sasl.password", "hunter2-hunter2")).run());
    assert!(!message.contains("hunter2") && !message.contains(PASSWORD));
    assert_says!(message, @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: 127.0.0.1:[port] refuses the login: SASL authentication error: Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256
    hint: check sasl.mechanism, sasl.username and sasl.password in the client properties file (--config)
    ");
}

#[test]
fn a_mechanism_that_the_client_library_does_not_know() {
    let properties = changed("sasl.mechanism", "SCRAM-SHA-1024");
    assert_says!(complaint(&latency_with(&lab().bootstrap(), &properties).run()), @r"
    exit 2
    error: the client library refuses the properties: Unsupported hash function: SCRAM-SHA-1024 (try SCRAM-SHA-512)
    hint: check the client properties file (--config) and the properties under test; librdkafka's CONFIGURATION.md explains them
    ");
}

#[test]
fn a_mechanism_that_the_broker_does_not_offer() {
    let properties = changed("sasl.mechanism", "PLAIN");
    assert_says!(complaint(&latency_with(&lab().bootstrap(), &properties).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: 127.0.0.1:[port] refuses the login: SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: SCRAM-SHA-512,SCRAM-SHA-256
    hint: set sasl.mechanism in the client properties file (--config) to one that the broker offers
    ");
}

#[test]
fn no_login_where_one_is_asked_for() {
    let authority = changed("security.protocol", "SSL");
    let without: String =
        authority.lines().filter(|line| !line.starts_with("sasl.")).map(|l| format!("{l}\n")).collect();
    assert_says!(complaint(&latency_with(&lab().bootstrap(), &without).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: 127.0.0.1:[port] takes the connection and closes it when it is spoken to as SSL
    hint: the port expects another protocol: set security.protocol (SSL for TLS, SASL_SSL for TLS and a login, SASL_PLAINTEXT for a login alone) in a client properties file and name it with --config
    ");
}
