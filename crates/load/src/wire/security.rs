//! The transport of the wire driver, made of the connection's properties by librdkafka's names.

use super::settings::SocketSettings;
use crate::error::LoadError;
use plumb_model::plan::Properties;
use plumb_model::secret::REDACTED;
use plumb_wire::connection::{Security, SocketOptions, Transport, TransportOptions};
use plumb_wire::sasl::{Mechanism, Sasl, Secret};
use plumb_wire::tls::{ClientIdentity, Pem, TlsOptions, Trust, Verification};
use std::path::PathBuf;

/// The properties of a client properties file that the driver cannot do, and the way around each.
const CANNOT: &[(&str, &str)] = &[
    ("ssl.keystore.location", "the wire driver reads PEM only (ssl.certificate.location, ssl.key.location)"),
    ("ssl.key.password", "the wire driver reads keys that are not encrypted (openssl pkey can write one)"),
    ("ssl.crl.location", "the wire driver reads no revocation lists"),
    ("ssl.pkcs12.keystore.location", "the wire driver reads PEM only"),
];

/// The transport that the properties describe.
pub(super) fn transport(properties: &Properties, socket: SocketSettings) -> Result<Transport, LoadError> {
    if let Some((key, reason)) = CANNOT.iter().find(|(key, _)| properties.contains_key(*key)) {
        return Err(LoadError::property(key, REDACTED, format!("{reason}; driver librdkafka takes it")));
    }
    let get = |key: &str| properties.get(key).map(String::as_str);
    let protocol = get("security.protocol").unwrap_or("plaintext").to_ascii_lowercase();
    let (encrypted, login) = match protocol.as_str() {
        "plaintext" => (false, false),
        "ssl" => (true, false),
        "sasl_plaintext" => (false, true),
        "sasl_ssl" => (true, true),
        other => {
            let expected = "expected plaintext, ssl, sasl_plaintext or sasl_ssl";
            return Err(LoadError::property("security.protocol", other, expected));
        }
    };
    let options = TransportOptions {
        security: if encrypted { Security::Tls(tls(properties)) } else { Security::Plaintext },
        sasl: if login { Some(sasl(properties)?) } else { None },
        client_id: get("client.id").unwrap_or("plumb").to_owned(),
        socket: SocketOptions {
            no_delay: socket.no_delay,
            send_buffer_bytes: socket.send_bytes,
            receive_buffer_bytes: socket.receive_bytes,
        },
        ..TransportOptions::default()
    };
    Transport::new(options).map_err(|error| LoadError::properties(error.to_string()))
}

fn tls(properties: &Properties) -> TlsOptions {
    let get = |key: &str| properties.get(key).map(String::as_str);
    let pem = |text: &str, file: &str| {
        let text = get(text).map(|text| Pem::Text(text.as_bytes().to_vec()));
        text.or_else(|| get(file).map(|path| Pem::File(PathBuf::from(path))))
    };
    let certificate = pem("ssl.certificate.pem", "ssl.certificate.location");
    let key = pem("ssl.key.pem", "ssl.key.location");
    let off = |key: &str, value: &str| get(key).is_some_and(|given| given.eq_ignore_ascii_case(value));
    TlsOptions {
        trust: pem("ssl.ca.pem", "ssl.ca.location").map_or(Trust::System, Trust::Authorities),
        identity: certificate.zip(key).map(|(certificate, key)| ClientIdentity { certificate, key }),
        verification: if off("enable.ssl.certificate.verification", "false") {
            Verification::None
        } else if off("ssl.endpoint.identification.algorithm", "none") {
            Verification::AnyName
        } else {
            Verification::Full
        },
    }
}

fn sasl(properties: &Properties) -> Result<Sasl, LoadError> {
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| properties.get(*key)).map(String::as_str);
    // librdkafka's default is GSSAPI, which neither driver has here.
    let name = first(["sasl.mechanism", "sasl.mechanisms"]).unwrap_or("GSSAPI");
    let mechanism = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name().eq_ignore_ascii_case(name));
    let mechanism = mechanism.ok_or_else(|| {
        let known = Mechanism::ALL.map(Mechanism::name).join(", ");
        LoadError::property(
            "sasl.mechanism",
            name,
            format!("the wire driver has {known}; driver librdkafka may have it"),
        )
    })?;
    let missing = |key: &str| LoadError::property(key, "", "it is needed to log in");
    Ok(Sasl {
        mechanism,
        user: properties.get("sasl.username").ok_or_else(|| missing("sasl.username"))?.clone(),
        password: Secret::new(
            properties.get("sasl.password").ok_or_else(|| missing("sasl.password"))?.as_str(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_login_needs_a_mechanism_that_there_is_and_shows_no_password() {
        let mut given = properties(&[
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("sasl.username", "me"),
            ("sasl.password", "hunter2"),
        ]);
        let transport = transport(&given, SocketSettings::CONTROL).unwrap();
        assert!(!format!("{transport:?}").contains("hunter2"));
        given.insert("sasl.mechanism".into(), "GSSAPI".into());
        let error = super::transport(&given, SocketSettings::CONTROL).unwrap_err().to_string();
        assert!(error.contains("SCRAM-SHA-256") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_key_store_is_refused_with_what_to_use_instead() {
        let given = properties(&[("security.protocol", "ssl"), ("ssl.keystore.location", "a.p12")]);
        let error = transport(&given, SocketSettings::CONTROL).unwrap_err().to_string();
        assert!(error.contains("PEM"), "{error}");
    }
}
