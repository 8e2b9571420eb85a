//! Encryption to a metrics server: which authorities are believed, who this client is, and why a server is not trusted.
//!
//! A server's certificate is always checked: its authority, its time, its name. There is no way to go without, as the figures of
//! a server that anybody could be prove nothing, and a token sent to it is gone.

use super::config::Settings;
use super::error::PrometheusError;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// Why a server is not trusted, or no encryption comes about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsFault {
    /// Nobody here believes whoever signed it.
    #[error("its certificate is from an authority that is not known here")]
    Authority,
    /// Too late, or too early.
    #[error("its certificate has expired, or is not valid yet")]
    Time,
    /// It is somebody else's.
    #[error("its certificate is for another name than that of the address")]
    Name,
    /// Anything else, in the words of the library.
    #[error("{0}")]
    Other(String),
}

/// What a connection is made with. `config` is the file that the settings are from.
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

/// Whether it is encryption that failed, and why.
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
