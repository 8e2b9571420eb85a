//! What a TLS connection trusts, shows and checks, from PEM to a configuration of rustls; and what its errors mean.
//!
//! TLS 1.2 and 1.3, with rustls on ring. The bytes are moved in `connection/stream.rs`.

mod verifier;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use self::verifier::Lenient;
use crate::error::{TlsProblem, WireError};

/// Where distributions keep the authorities that they trust, most common first.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How to connect by TLS.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Whose word on the broker's name is believed.
    pub trust: Trust,
    /// What we show when the broker asks who we are.
    pub identity: Option<ClientIdentity>,
    /// How far the broker's certificate is checked.
    pub verification: Verification,
}

/// Whose word on the broker's name is believed.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// The authorities that the distribution trusts.
    #[default]
    System,
    /// These and no others (`ssl.ca.location`, `ssl.ca.pem`).
    Authorities(Pem),
}

/// A client's certificate and key.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// The certificate, followed by those that lead to the authority (`ssl.certificate.location`).
    pub certificate: Pem,
    /// Its private key, not encrypted (`ssl.key.location`).
    pub key: Pem,
}

/// How far the broker's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verification {
    /// The authority and the name.
    #[default]
    Full,
    /// The authority, for whatever name (`ssl.endpoint.identification.algorithm=none`).
    AnyName,
    /// Nothing: whoever answers (`enable.ssl.certificate.verification=false`).
    None,
}

/// PEM text, or the file that it is in.
#[derive(Clone)]
pub enum Pem {
    /// A file.
    File(PathBuf),
    /// The text itself.
    Text(Vec<u8>),
}

impl fmt::Debug for Pem {
    /// Without the text: it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

impl Pem {
    /// The text, and what to call it in an error.
    fn read(&self, what: &str) -> Result<(Vec<u8>, String), WireError> {
        match self {
            Self::Text(text) => Ok((text.clone(), what.to_owned())),
            Self::File(path) => {
                read_file(path, what).map(|text| (text, format!("{what} {}", path.display())))
            }
        }
    }

    fn certificates(&self, what: &str) -> Result<(Vec<CertificateDer<'static>>, String), WireError> {
        let (text, what) = self.read(what)?;
        let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        match certificates {
            Ok(certificates) if !certificates.is_empty() => Ok((certificates, what)),
            Ok(_) => Err(settings(what, "expected PEM with BEGIN CERTIFICATE, got none of that")),
            Err(error) => Err(settings(what, error)),
        }
    }

    fn key(&self, what: &str) -> Result<(PrivateKeyDer<'static>, String), WireError> {
        const ENCRYPTED: &[u8] = b"ENCRYPTED";
        let (text, what) = self.read(what)?;
        match PrivateKeyDer::from_pem_slice(&text) {
            _ if text.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) => Err(settings(
                what,
                "the key is encrypted, and only plain ones can be read (openssl pkcs8 -in KEY -out PLAIN takes the password off)",
            )),
            Ok(key) => Ok((key, what)),
            Err(error) => Err(settings(what, error)),
        }
    }
}

/// What rustls needs to know.
pub(crate) fn client_config(options: &TlsOptions) -> Result<Arc<ClientConfig>, WireError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| settings("TLS", error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier(options, provider)?);
    let config = match &options.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (certificates, certificate_name) = identity.certificate.certificates("client certificate")?;
            let (key, key_name) = identity.key.key("client key")?;
            builder.with_client_auth_cert(certificates, key).map_err(|error| {
                settings(certificate_name, format!("it cannot be used with {key_name}: {error}"))
            })?
        }
    };
    Ok(Arc::new(config))
}

fn verifier(
    options: &TlsOptions,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, WireError> {
    let roots = match options.verification {
        Verification::None => None,
        _ => Some(Arc::new(roots(&options.trust)?)),
    };
    let Some(roots) = roots else { return Ok(Arc::new(Lenient::new(None, provider))) };
    match options.verification {
        Verification::Full => WebPkiServerVerifier::builder_with_provider(roots, provider)
            .build()
            .map(|verifier| verifier as Arc<dyn ServerCertVerifier>)
            .map_err(|error| settings("TLS", error)),
        _ => Ok(Arc::new(Lenient::new(Some(roots), provider))),
    }
}

fn roots(trust: &Trust) -> Result<RootCertStore, WireError> {
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Authorities(pem) => {
            let (certificates, what) = pem.certificates("certificate authorities")?;
            for certificate in certificates {
                roots.add(certificate).map_err(|error| settings(what.as_str(), error))?;
            }
        }
        Trust::System => {
            let bundle =
                SYSTEM_BUNDLES.iter().map(Path::new).find(|path| path.exists()).ok_or_else(|| {
                    let looked_at = SYSTEM_BUNDLES.join(", ");
                    settings(
                        "certificate authorities of the system",
                        format!("expected one of {looked_at}, got none (ssl.ca.location names another)"),
                    )
                })?;
            let (certificates, _) =
                Pem::File(bundle.to_owned()).certificates("certificate authorities of the system")?;
            // Bundles have old certificates in them that nobody can read, and the others are good all the same.
            roots.add_parsable_certificates(certificates);
        }
    }
    Ok(roots)
}

fn read_file(path: &Path, what: &str) -> Result<Vec<u8>, WireError> {
    std::fs::read(path).map_err(|error| settings(format!("{what} {}", path.display()), error))
}

fn settings(what: impl Into<String>, problem: impl fmt::Display) -> WireError {
    WireError::Settings { what: what.into(), problem: problem.to_string() }
}

impl From<&rustls::Error> for TlsProblem {
    fn from(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(problem) => certificate_problem(problem),
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                Self::ClientCertificateRequired
            }
            rustls::Error::AlertReceived(alert) => Self::Alert(format!("{alert:?}")),
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Other(other.to_string()),
        }
    }
}

fn certificate_problem(problem: &CertificateError) -> TlsProblem {
    use CertificateError as E;
    let words = problem.to_string();
    match problem {
        E::NotValidForName | E::NotValidForNameContext { .. } => TlsProblem::WrongName(words),
        E::UnknownIssuer => TlsProblem::Untrusted("no authority that we trust has signed it".to_owned()),
        E::BadSignature => TlsProblem::Untrusted("it bears a wrong signature".to_owned()),
        // A self-signed certificate that says it is an authority, shown by a server, ends here.
        E::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => TlsProblem::Untrusted(
            "it is a certificate authority's own, which only signs and is not shown by a server".to_owned(),
        ),
        _ => TlsProblem::Invalid(words),
    }
}
