//! The trust, identity and checks of a TLS connection, from PEM to a configuration of rustls; and the meaning of its errors.
//!
//! TLS 1.2 and 1.3, with rustls on ring. The bytes are moved in `connection/stream.rs`.

mod verifier;

use std::ffi::OsStr;
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

/// The directories in which OpenSSL of common distributions looks for authorities under hashed names.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/// The settings of a TLS connection.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// The authorities that are trusted.
    pub trust: Trust,
    /// The certificate to present when the broker asks for one.
    pub identity: Option<ClientIdentity>,
    /// The extent of the checks on the broker's certificate.
    pub verification: Verification,
}

/// The authorities that are trusted to confirm a broker's name.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// The authorities that the distribution trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` count as OpenSSL has them.
    #[default]
    System,
    /// These authorities and no others (`ssl.ca.location`, `ssl.ca.pem`).
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

/// The extent of the checks on the broker's certificate.
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

/// The configuration of rustls.
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
            let variables = (std::env::var_os("SSL_CERT_FILE"), std::env::var_os("SSL_CERT_DIR"));
            let certificates = match variables {
                (None, None) => of_distribution()?,
                (file, directories) => {
                    let system = SYSTEM_DIRECTORIES.map(Path::new);
                    of_environment(file.as_deref(), directories.as_deref(), &system)?
                }
            };
            // Bundles have old certificates in them that nobody can read, and the others are good all the same.
            roots.add_parsable_certificates(certificates);
        }
    }
    Ok(roots)
}

fn of_distribution() -> Result<Vec<CertificateDer<'static>>, WireError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or("found none".to_owned(), ToString::to_string);
        let problem = format!("{why} (ssl.ca.location names others)");
        return Err(settings("certificate authorities of the system", problem));
    }
    Ok(found.certs)
}

/// The authorities of the environment, as OpenSSL's SSL_CTX_set_default_verify_paths(3) has them: `SSL_CERT_FILE` is a file,
/// `SSL_CERT_DIR` a list of directories in place of the system's, which otherwise counts beside the file. Each variable that is
/// set must lead to at least one certificate.
fn of_environment(
    file: Option<&OsStr>,
    directories: Option<&OsStr>,
    system: &[&Path],
) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let mut certificates = match directories {
        None => of_directories(system.iter().map(PathBuf::from)),
        Some(directories) => {
            let found = of_directories(std::env::split_paths(directories));
            if found.is_empty() {
                let what = format!("SSL_CERT_DIR {}", directories.display());
                let problem = "expected certificates under names that `openssl rehash` makes, found none";
                return Err(settings(what, problem));
            }
            found
        }
    };
    if let Some(file) = file {
        certificates.extend(Pem::File(PathBuf::from(file)).certificates("SSL_CERT_FILE")?.0);
    }
    Ok(certificates)
}

/// The certificates that OpenSSL would find in the directories: only files that are named by a hash. A directory of a list may be
/// absent.
fn of_directories(directories: impl Iterator<Item = PathBuf>) -> Vec<CertificateDer<'static>> {
    let entries = directories.filter_map(|directory| std::fs::read_dir(directory).ok()).flatten();
    let hashed = entries.filter_map(Result::ok).filter(|entry| is_hashed(&entry.file_name()));
    let read = hashed.filter_map(|entry| Pem::File(entry.path()).certificates("SSL_CERT_DIR").ok());
    read.flat_map(|(found, _)| found).collect()
}

/// Eight hexadecimal digits, a dot and a number, as openssl-rehash(1) has it.
fn is_hashed(name: &OsStr) -> bool {
    let parts = name.to_str().and_then(|name| name.split_once('.'));
    parts.is_some_and(|(hash, number)| {
        hash.len() == 8
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pem() -> String {
        rcgen::generate_simple_self_signed(["authority".to_owned()]).unwrap().cert.pem()
    }

    #[test]
    fn the_environments_authorities_are_read_as_openssl_reads_them() {
        let (system, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(system.path().join("0123abcd.0"), pem()).unwrap();
        std::fs::write(system.path().join("not-hashed.pem"), pem()).unwrap();
        std::fs::write(own.path().join("0123abcd.0"), pem()).unwrap();
        std::fs::write(own.path().join("0123abcd.1"), pem()).unwrap();
        std::fs::write(own.path().join("89abcdef.0"), "no certificate").unwrap();
        let file = own.path().join("authority.pem");
        std::fs::write(&file, pem()).unwrap();
        let file = Some(file.as_os_str());
        let directories = std::env::join_paths([Path::new("/nowhere"), own.path()]).unwrap();
        let read = |file, directories| of_environment(file, directories, &[system.path()]);
        assert_eq!(read(file, None).unwrap().len(), 2, "the system's directory counts beside the file");
        assert_eq!(read(None, Some(directories.as_os_str())).unwrap().len(), 2, "in place of the system's");
        assert_eq!(read(file, Some(directories.as_os_str())).unwrap().len(), 3);
        assert!(read(Some(OsStr::new("/nowhere.pem")), None).is_err());
        let error = read(None, Some(OsStr::new("/nowhere"))).unwrap_err();
        assert!(error.to_string().contains("SSL_CERT_DIR /nowhere"), "{error}");
    }
}
