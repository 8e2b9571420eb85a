//! TLS and a login, written as users of the Java client write them; and the password, which is nowhere.

use super::{PASSWORD, USER, assert_nothing_missing, document, lab, steps};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use std::path::Path;

on_both_drivers!(
    a_java_style_file_connects_with_tls_and_a_login_and_its_password_is_nowhere,
    a_refused_password_is_not_shown_either,
);

/// A Java client's properties for the secured listener.
pub(crate) fn java_properties() -> String {
    let properties = lab().client_properties();
    let authority = &properties.iter().find(|(key, _)| key == "ssl.ca.location").unwrap().1;
    format!(
        "\
# as for kafka-console-producer.sh
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username=\"{USER}\" password=\"{PASSWORD}\";
ssl.truststore.type=PEM
ssl.truststore.location={authority}
key.serializer=org.apache.kafka.common.serialization.StringSerializer
"
    )
}

fn a_java_style_file_connects_with_tls_and_a_login_and_its_password_is_nowhere(driver: Driver) {
    let bootstrap = lab().bootstrap();
    let arguments = ["latency", "--rate", "500", "--count", "500", "--warm-up", "0s", "--output", "json"];
    let program = Program::new(arguments).args([
        "--driver",
        driver,
        "--out",
        "run",
        "--config",
        "client.properties",
        "--bootstrap",
        &bootstrap,
    ]);
    std::fs::write(program.directory().join("client.properties"), java_properties()).unwrap();
    let mut running = program.start();
    let command = running.wait_for("a run that is under way", |running| {
        running.path("run/run.json").exists().then(|| {
            let read = |what| std::fs::read(format!("/proc/{}/{what}", running.pid())).unwrap_or_default();
            [read("cmdline"), read("environ")].concat()
        })
    });
    assert!(String::from_utf8_lossy(&command).contains("client.properties"), "the arguments were read");
    assert_no_secret("its arguments and environment", &command);
    let ended = running.wait();
    let document = document(&ended);
    let step = &steps(&document)[0];
    assert_nothing_missing(step);

    assert_eq!(document["environment"]["cluster"]["security_protocol"], "SASL_SSL");
    for client in ["producer", "consumer"] {
        let effective = &step["effective"][client];
        // librdkafka says it in its own way.
        assert_eq!(effective["security.protocol"].as_str().unwrap().to_uppercase(), "SASL_SSL");
        assert_eq!(effective["sasl.username"], USER);
        assert_eq!(effective["sasl.password"], "[redacted]");
    }
    let keys = document["environment"]["config_keys"].as_array().unwrap();
    let fate = |key: &str| &keys.iter().find(|fate| fate["key"] == key).unwrap()["fate"];
    assert_eq!(fate("sasl.jaas.config")["to"], serde_json::json!(["sasl.username", "sasl.password"]));
    assert_eq!(fate("ssl.truststore.location")["to"], serde_json::json!(["ssl.ca.location"]));
    assert_eq!(fate("key.serializer")["kind"], "java_only");

    assert_no_secret("standard output", ended.stdout.as_bytes());
    assert_no_secret("standard error", ended.stderr.as_bytes());
    let files: Vec<_> =
        std::fs::read_dir(ended.path("run")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        assert_no_secret(&file.display().to_string(), &std::fs::read(&file).unwrap());
    }
}

fn a_refused_password_is_not_shown_either(driver: Driver) {
    let program = Program::new(["latency", "--rate", "500", "--count", "5", "--config", "client.properties"])
        .args(["--driver", driver, "--bootstrap", &lab().bootstrap()]);
    // The right password behind a wrong user name: the broker refuses it.
    let properties = java_properties().replace(USER, "nobody");
    std::fs::write(program.directory().join("client.properties"), properties).unwrap();
    let ended = program.run();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert_no_secret("standard error", ended.stderr.as_bytes());
    assert!(!Path::new(&ended.path("runs")).exists());
}

pub(crate) fn assert_no_secret(place: &str, bytes: &[u8]) {
    let found = bytes.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
    assert!(!found, "the password is in {place}");
}
