//! Encryption to a metrics server: which authorities are believed, who this client is, and why a server is not trusted.
//!
//! A server's certificate is always checked: its authority, its time, its name. There is no way to go without, as the figures of
//! a server that anybody could be prove nothing, and a token sent to it is gone.

use super::config::Settings;
use super::error::PrometheusError;
use super::tls_fault::TlsFault;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// The TLS settings of a connection. `config` is the file that the settings are from.
pub(super) fn config(
    settings: &Settings,
    authorities: Option<&Path>,
    config: &Path,
) -> Result<TlsConfig, PrometheusError> {
    let identity = match &settings.identity {
        Some((chain, key)) => Some(identity(chain, key, config)?),
        None => None,
    };
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots(settings, authorities)?)))
        .client_cert(identity)
        .build())
}

/// The fault if it is encryption that failed; none for any other error.
pub(super) fn fault(error: &ureq::Error) -> Option<TlsFault> {
    let cause = match error {
        ureq::Error::Rustls(cause) => cause,
        ureq::Error::Tls(words) => return Some(TlsFault::Other((*words).to_owned())),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref::<rustls::Error>()?,
        _ => return None,
    };
    Some(match cause {
        rustls::Error::InvalidCertificate(fault) => match fault {
            // The second: one of the same name is known, and did not sign it.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFault::Authority,
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => TlsFault::Time,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsFault::Name
            }
            other => TlsFault::Other(format!("its certificate is not valid: {other}")),
        },
        rustls::Error::InvalidMessage(_) => TlsFault::Other("it does not speak TLS there".to_owned()),
        other => TlsFault::Other(other.to_string()),
    })
}

/// Certificates of the authorities: of the flag, else of the configuration, else of the environment's `SSL_CERT_FILE` or the system.
fn roots(settings: &Settings, flag: Option<&Path>) -> Result<Vec<Certificate<'static>>, PrometheusError> {
    let named = || std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let path = flag.map(Path::to_owned).or_else(|| settings.authorities.clone()).or_else(named);
    let Some(path) = path else { return roots_of_system() };
    let fault = |reason: String| PrometheusError::Authorities { path: path.clone(), reason };
    let roots = certificates(&std::fs::read(&path).map_err(|error| fault(error.to_string()))?);
    if roots.is_empty() {
        return Err(fault("expected PEM certificates, found none".to_owned()));
    }
    Ok(roots)
}

fn roots_of_system() -> Result<Vec<Certificate<'static>>, PrometheusError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or("this system has none".to_owned(), ToString::to_string);
        return Err(PrometheusError::Authorities { path: PathBuf::from("/etc/ssl/certs"), reason });
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// This client's certificate with its key, tried out: the library would panic on a key that is another certificate's.
fn identity(chain: &[u8], key: &[u8], config: &Path) -> Result<ClientCert, PrometheusError> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let fault = |reason: &str| PrometheusError::Config { path: config.to_owned(), reason: reason.to_owned() };
    let own = certificates(chain);
    if own.is_empty() {
        return Err(fault("tls_config.cert_file has no PEM certificate"));
    }
    let private = PrivateKey::from_pem(key);
    let (private, der) = private
        .ok()
        .zip(PrivateKeyDer::from_pem_slice(key).ok())
        .ok_or_else(|| fault("tls_config.key_file has no PEM key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = own.iter().map(|certificate| CertificateDer::from(certificate.der().to_vec())).collect();
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|tried| {
            tried.with_root_certificates(RootCertStore::empty()).with_client_auth_cert(chain, der)
        })
        .map_err(|_| fault("tls_config.key_file is not the key of tls_config.cert_file"))?;
    Ok(ClientCert::new_with_certs(&own, private))
}

/// All certificates of a PEM file; what is none is passed over, as bundles have old ones that nobody can read.
fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    let items = parse_pem(pem).filter_map(Result::ok);
    items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate.to_owned()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// The fault of a certificate, as the library tells it while it connects, and while it reads.
    fn fault_of(certificate: CertificateError) -> TlsFault {
        let cause = || rustls::Error::InvalidCertificate(certificate.clone());
        let reading = ureq::Error::Io(io::Error::new(io::ErrorKind::InvalidData, cause()));
        let told = fault(&ureq::Error::Rustls(cause())).unwrap();
        assert_eq!(fault(&reading).as_ref(), Some(&told));
        told
    }

    #[test]
    fn a_signature_that_is_wrong_or_of_nobody_known_is_the_authoritys_fault() {
        assert_eq!(fault_of(CertificateError::UnknownIssuer), TlsFault::Authority);
        assert_eq!(fault_of(CertificateError::BadSignature), TlsFault::Authority);
    }

    #[test]
    fn a_certificate_that_is_too_old_or_too_young_is_times_fault() {
        use rustls::pki_types::UnixTime;
        let [time, not_before, not_after] = [(); 3].map(|()| UnixTime::now());
        assert_eq!(fault_of(CertificateError::Expired), TlsFault::Time);
        assert_eq!(fault_of(CertificateError::ExpiredContext { time, not_after }), TlsFault::Time);
        assert_eq!(fault_of(CertificateError::NotValidYet), TlsFault::Time);
        assert_eq!(fault_of(CertificateError::NotValidYetContext { time, not_before }), TlsFault::Time);
    }

    #[test]
    fn a_certificate_of_another_name_is_told_as_such_and_any_other_fault_in_the_librarys_words() {
        assert_eq!(fault_of(CertificateError::NotValidForName), TlsFault::Name);
        let TlsFault::Other(words) = fault_of(CertificateError::Revoked) else { panic!() };
        assert!(words.starts_with("its certificate is not valid: "), "{words}");
    }

    #[test]
    fn what_is_not_of_encryption_is_no_fault_of_it() {
        assert_eq!(fault(&ureq::Error::Io(io::Error::other("broken pipe"))), None);
        assert_eq!(fault(&ureq::Error::Io(io::ErrorKind::BrokenPipe.into())), None);
        assert_eq!(fault(&ureq::Error::HostNotFound), None);
        assert_eq!(fault(&ureq::Error::Tls("no")), Some(TlsFault::Other("no".to_owned())));
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        let told = fault(&ureq::Error::Rustls(plain));
        assert_eq!(told, Some(TlsFault::Other("it does not speak TLS there".to_owned())));
    }
}
