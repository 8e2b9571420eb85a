//! TLS and SASL of a lab: what the brokers are told, what a client has to know, and the files for both.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use std::io::Write as _;

use super::certificates::CertificateAuthority;
use super::error::Result;
use super::options::{LabOptions, ScramMechanism, ScramUser, Tls};

/// Name of the listener beside the plaintext one, when TLS or SASL was asked for.
pub(super) const SECURED: &str = "SECURED";

/// Name of the listener on which brokers fetch from each other over TLS.
pub(super) const REPLICATION: &str = "REPLICATION";

/// The security of one lab, its certificates made.
pub(super) struct Security {
    tls: Tls,
    replicates_over_tls: bool,
    users: Vec<ScramUser>,
    directory: PathBuf,
}

impl Security {
    /// Makes the certificates in `directory`. Absent when neither TLS nor SASL was asked for.
    pub(super) fn prepare(options: &LabOptions, directory: &Path) -> Result<Option<Self>> {
        if !options.is_secured() && !options.replicates_over_tls() {
            return Ok(None);
        }
        let security = Self {
            tls: options.tls,
            replicates_over_tls: options.replicates_over_tls(),
            users: options.sasl.clone(),
            directory: directory.to_owned(),
        };
        if security.has_certificates() {
            fs::create_dir_all(directory)?;
            let authority = CertificateAuthority::new("plumb lab")?;
            fs::write(security.file("ca.pem"), authority.certificate_pem())?;
            let broker = authority.issue_loopback_server()?;
            write_private(
                &security.file("broker.pem"),
                &format!("{}{}", broker.key_pem, broker.certificate_pem),
            )?;
            let client = authority.issue_client("plumb lab client")?;
            fs::write(security.file("client.pem"), client.certificate_pem)?;
            write_private(&security.file("client.key"), &client.key_pem)?;
        }
        Ok(Some(security))
    }

    pub(super) fn broker_properties(&self) -> Vec<(String, String)> {
        let mut properties = Vec::new();
        let mut put = |key: String, value: String| properties.push((key, value));
        if self.has_certificates() {
            put("ssl.keystore.type".into(), "PEM".into());
            put("ssl.keystore.location".into(), self.path("broker.pem"));
            put("ssl.truststore.type".into(), "PEM".into());
            put("ssl.truststore.location".into(), self.path("ca.pem"));
            put("ssl.client.auth".into(), if self.tls == Tls::Mutual { "required" } else { "none" }.into());
        }
        if self.replicates_over_tls {
            // The brokers' certificate is one for servers; who may replicate is not what a lab tests.
            put(format!("listener.name.{}.ssl.client.auth", REPLICATION.to_lowercase()), "none".into());
        }
        if !self.users.is_empty() {
            let mechanisms = [ScramMechanism::Sha256, ScramMechanism::Sha512].map(ScramMechanism::name);
            put("sasl.enabled.mechanisms".into(), mechanisms.join(","));
            for mechanism in mechanisms {
                let prefix = format!("listener.name.{}.{}", SECURED.to_lowercase(), mechanism.to_lowercase());
                let module = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
                put(format!("{prefix}.sasl.jaas.config"), module.into());
            }
        }
        properties
    }

    /// The properties that a client sets, with librdkafka's names; the login is the first user's.
    pub(super) fn client_properties(&self) -> Vec<(String, String)> {
        let mut properties = vec![("security.protocol", self.protocol().to_lowercase())];
        if self.tls != Tls::Off {
            properties.push(("ssl.ca.location", self.path("ca.pem")));
        }
        if self.tls == Tls::Mutual {
            properties.push(("ssl.certificate.location", self.path("client.pem")));
            properties.push(("ssl.key.location", self.path("client.key")));
        }
        if let Some(user) = self.users.first() {
            properties.push(("sasl.mechanism", user.mechanism.name().to_owned()));
            properties.push(("sasl.username", user.name.clone()));
            properties.push(("sasl.password", user.password.clone()));
        }
        properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn has_certificates(&self) -> bool {
        self.tls != Tls::Off || self.replicates_over_tls
    }

    fn protocol(&self) -> &'static str {
        protocol(self.tls, !self.users.is_empty())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }
}

/// The protocol of each listener, as Kafka's property has it. Kafka infers nothing once there is a listener of another name.
pub(super) fn protocol_map(options: &LabOptions) -> String {
    let mut map = vec!["PLAINTEXT:PLAINTEXT".to_owned(), "CONTROLLER:PLAINTEXT".to_owned()];
    if options.is_secured() {
        map.push(format!("{SECURED}:{}", protocol(options.tls, !options.sasl.is_empty())));
    }
    if options.replicates_over_tls() {
        map.push(format!("{REPLICATION}:SSL"));
    }
    map.join(",")
}

fn protocol(tls: Tls, sasl: bool) -> &'static str {
    match (tls, sasl) {
        (Tls::Off, false) => "PLAINTEXT",
        (Tls::Off, true) => "SASL_PLAINTEXT",
        (Tls::Server | Tls::Mutual, false) => "SSL",
        (Tls::Server | Tls::Mutual, true) => "SASL_SSL",
    }
}

/// Writes a file that only its owner may read.
pub(super) fn write_private(path: &Path, text: &str) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = fs::OpenOptions::from_options(options).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_tls_lab_are_readable_by_their_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let options = LabOptions { tls: Tls::Mutual, ..LabOptions::default() };
        Security::prepare(&options, dir.path()).unwrap().unwrap();
        for key in ["broker.pem", "client.key"] {
            let mode = std::fs::metadata(dir.path().join(key)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{key}");
        }
    }

    #[test]
    fn a_client_of_a_lab_with_tls_and_sasl_is_told_both() {
        let dir = tempfile::tempdir().unwrap();
        let options =
            LabOptions { tls: Tls::Server, sasl: vec![ScramUser::new("ann", "pw")], ..LabOptions::default() };
        let security = Security::prepare(&options, dir.path()).unwrap().unwrap();
        let keys: Vec<_> = security.client_properties().into_iter().map(|(key, _)| key).collect();
        assert_eq!(
            keys,
            ["security.protocol", "ssl.ca.location", "sasl.mechanism", "sasl.username", "sasl.password"]
        );
        assert_eq!(security.protocol(), "SASL_SSL");
    }
}
