//! Client properties files that cannot be used.

use super::{assert_says, complaint, latency, latency_with};

fn with(properties: &str) -> String {
    complaint(&latency_with("127.0.0.1:1", properties).run())
}

#[test]
fn a_file_that_does_not_exist() {
    assert_says!(complaint(&latency("127.0.0.1:1").args(["--config", "nowhere.properties"]).run()), @r"
    exit 2
    error: cannot read the client properties file
      cause: failed to open file `nowhere.properties`: No such file or directory (os error 2)
    hint: --config (or cluster.config) names a client properties file, as for the Java client or librdkafka
    ");
}

#[test]
fn a_directory() {
    assert_says!(complaint(&latency("127.0.0.1:1").args(["--config", "."]).run()), @r"
    exit 2
    error: cannot read the client properties file
      cause: failed to read from file `.`: Is a directory (os error 21)
    hint: --config (or cluster.config) names a client properties file, as for the Java client or librdkafka
    ");
}

#[test]
fn a_java_trust_store() {
    let properties = "security.protocol=SSL\nssl.truststore.location=/etc/kafka/trust.jks\nssl.truststore.password=hunter2\n";
    assert_says!(with(properties), @r"
    exit 2
    error: client.properties:2: ssl.truststore.location: a Java key store cannot be read here; export its certificates as PEM and set ssl.ca.location
    hint: the file says how to connect (security.protocol, sasl.*, ssl.*), with the Java client's names or librdkafka's
    ");
}

#[test]
fn a_java_trust_store_by_its_type() {
    assert_says!(with("ssl.truststore.type=JKS\nssl.truststore.location=/etc/kafka/trust\n"), @r"
    exit 2
    error: client.properties:1: ssl.truststore.type: a Java key store cannot be read here; export its certificates as PEM and set ssl.ca.location
    hint: the file says how to connect (security.protocol, sasl.*, ssl.*), with the Java client's names or librdkafka's
    ");
}

#[test]
fn a_java_login_module_that_has_no_equal_here() {
    let jaas = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;";
    assert_says!(with(&format!("sasl.jaas.config={jaas}\n")), @r"
    exit 2
    error: client.properties:1: sasl.jaas.config: only PlainLoginModule and ScramLoginModule with username and password can be translated
    hint: the file says how to connect (security.protocol, sasl.*, ssl.*), with the Java client's names or librdkafka's
    ");
}

#[test]
fn a_setting_under_test() {
    assert_says!(with("# fast\nlinger.ms=0\n"), @r"
    exit 2
    error: client.properties:2: linger.ms: it belongs to a setup, where the report can show it: move it to setups[].producer or use -X
    hint: the file says how to connect (security.protocol, sasl.*, ssl.*), with the Java client's names or librdkafka's
    ");
}

#[test]
fn a_key_that_the_client_library_does_not_know() {
    assert_says!(with("security.protocl=SSL\n"), @r#"
    exit 2
    error: client property security.protocl = "SSL" is refused: No such configuration property: "security.protocl"
    hint: the names are librdkafka's: see its CONFIGURATION.md
    "#);
}

#[test]
fn a_file_that_is_not_text() {
    let program = latency("127.0.0.1:1").args(["--config", "client.properties"]);
    std::fs::write(program.directory().join("client.properties"), b"\xff\xfe\x00a=b").unwrap();
    assert_says!(complaint(&program.run()), @r"
    exit 2
    error: cannot read the client properties file
      cause: failed to read from file `client.properties`: stream did not contain valid UTF-8
    hint: --config (or cluster.config) names a client properties file, as for the Java client or librdkafka
    ");
}
