//! The certificate of a run, known by its digest: made when the run begins and forgotten with it, or read from files that were made before,
//! so that workers can be started by something that does not wait for what the run prints.
//!
//! A worker trusts the one certificate whose digest it was given, whoever signed it and whatever names it has, as `kubeadm join` does with
//! `--discovery-token-ca-cert-hash`. TLS 1.3 alone: both sides are of one build.

use crate::digest::CertificateDigest;
use crate::secret_error::SecretError;
use crate::secret_file;
use rcgen::CertifiedKey;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Nobody looks at it: the digest says who it is. rustls wants one.
const NAME: &str = "plumb-run";

/// The files of a certificate and of its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate: no secret.
    pub certificate: PathBuf,
    /// Its key, which only the coordinator has.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Makes a certificate and writes it with its key, which its owner alone may read.
    ///
    /// # Errors
    /// When one of the files is there already or cannot be written, or no certificate made.
    pub fn create(&self) -> Result<CertificateDigest, SecretError> {
        let CertifiedKey { cert, signing_key } = new_certificate()?;
        secret_file::create(secret_file::KEY, &self.key, &signing_key.serialize_pem())?;
        secret_file::create_open("certificate file", &self.certificate, &cert.pem())?;
        Ok(CertificateDigest::of(cert.der()))
    }
}

/// The coordinator's side: its certificate and the key of it.
#[derive(Clone)]
pub struct Certificate {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) digest: CertificateDigest,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Certificate {
    /// A new certificate, for this run alone.
    ///
    /// # Errors
    /// When none can be made.
    pub fn make() -> Result<Certificate, SecretError> {
        let CertifiedKey { cert, signing_key } = new_certificate()?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        Certificate::of(cert.der().clone(), key).map_err(|why| SecretError::Certificate { why })
    }

    /// One that was made before.
    ///
    /// # Errors
    /// When a file cannot be read or holds something else, everybody may read the key, or the two do not belong together.
    pub fn read(files: &CertificateFiles) -> Result<Certificate, SecretError> {
        let certificate = read_certificate(&files.certificate)?;
        let text = secret_file::read(secret_file::KEY, &files.key)?;
        let key = PrivateKeyDer::from_pem_slice(&text)
            .map_err(|_| SecretError::NotPem { what: "private key", path: files.key.clone() })?;
        Certificate::of(certificate, key).map_err(|why| SecretError::UnusableKey {
            certificate: files.certificate.clone(),
            key: files.key.clone(),
            why,
        })
    }

    fn of(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Result<Certificate, String> {
        let digest = CertificateDigest::of(&certificate);
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
            .map_err(|error| error.to_string())?;
        // Nobody comes back to a session: a worker that returns shakes hands anew.
        config.send_tls13_tickets = 0;
        Ok(Certificate { config: Arc::new(config), digest })
    }
}

fn new_certificate() -> Result<CertifiedKey<rcgen::KeyPair>, SecretError> {
    rcgen::generate_simple_self_signed([NAME.to_owned()])
        .map_err(|error| SecretError::Certificate { why: error.to_string() })
}

/// The digest of the first certificate of a PEM file.
///
/// # Errors
/// When the file cannot be read or has none.
pub fn digest_of_file(path: &Path) -> Result<CertificateDigest, SecretError> {
    read_certificate(path).map(|certificate| CertificateDigest::of(&certificate))
}

fn read_certificate(path: &Path) -> Result<CertificateDer<'static>, SecretError> {
    let text = secret_file::read_open("certificate file", path)?;
    CertificateDer::from_pem_slice(&text)
        .map_err(|_| SecretError::NotPem { what: "certificate", path: path.to_owned() })
}

/// The worker's side, for one connection.
pub(crate) struct Pinned {
    config: Arc<ClientConfig>,
    verifier: Arc<Pin>,
}

impl Pinned {
    pub(crate) fn new(expected: CertificateDigest) -> Result<Self, SecretError> {
        let provider = provider();
        let verifier = Arc::new(Pin { expected, got: Mutex::default(), provider: Arc::clone(&provider) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| SecretError::Certificate { why: error.to_string() })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Pinned { config: Arc::new(config), verifier })
    }

    /// A TLS session before its handshake.
    pub(crate) fn session(&self) -> Result<ClientConnection, SecretError> {
        let failed = |error: &dyn fmt::Display| SecretError::Certificate { why: error.to_string() };
        let name = ServerName::try_from(NAME).map_err(|error| failed(&error))?;
        ClientConnection::new(Arc::clone(&self.config), name).map_err(|error| failed(&error))
    }

    /// The certificate that was shown instead of the expected one.
    pub(crate) fn wrong(&self) -> Option<CertificateDigest> {
        let got = *self.verifier.got.lock().unwrap_or_else(PoisonError::into_inner);
        got.filter(|got| *got != self.verifier.expected)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Believes one certificate. The handshake's signature, which says that the peer owns it, is checked as ever.
#[derive(Debug)]
struct Pin {
    expected: CertificateDigest,
    got: Mutex<Option<CertificateDigest>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let got = CertificateDigest::of(end_entity);
        *self.got.lock().unwrap_or_else(PoisonError::into_inner) = Some(got);
        match got == self.expected {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::General("the certificate is not the expected one".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_digest_is_read_as_it_is_printed_and_with_colons() {
        let made = Certificate::make().unwrap().digest;
        let text = made.to_string();
        assert_eq!(text.parse(), Ok(made));
        let pairs: Vec<&str> = (0..32).map(|at| &text[2 * at..2 * at + 2]).collect();
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(made));
        assert!("12ab".parse::<CertificateDigest>().is_err());
    }

    #[test]
    fn every_run_has_another_certificate() {
        assert_ne!(Certificate::make().unwrap().digest, Certificate::make().unwrap().digest);
    }

    fn files(directory: &Path, number: u32) -> CertificateFiles {
        let path = |name: &str| directory.join(format!("{name}-{number}.pem"));
        CertificateFiles { certificate: path("certificate"), key: path("key") }
    }

    #[test]
    fn a_certificate_from_files_has_the_digest_that_was_known_when_they_were_made() {
        let directory = tempfile::tempdir().unwrap();
        let files = files(directory.path(), 1);
        let digest = files.create().unwrap();
        assert_eq!(Certificate::read(&files).unwrap().digest, digest);
        assert_eq!(digest_of_file(&files.certificate).unwrap(), digest);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&files.key), 0o600);
        // A worker may run as another user than the one who brought it the file.
        assert_eq!(mode(&files.certificate) & 0o400, 0o400);
        assert_ne!(mode(&files.certificate) & 0o044, 0, "or this machine's umask hides it");
        assert!(matches!(files.create(), Err(SecretError::File { .. })), "a key is not overwritten");
    }

    #[test]
    fn a_key_that_everybody_may_read_or_of_another_certificate_and_a_file_that_is_no_pem_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = [1, 2].map(|number| files(directory.path(), number));
        one.create().unwrap();
        other.create().unwrap();
        let read = |certificate: &Path, key: &Path| {
            Certificate::read(&CertificateFiles { certificate: certificate.to_owned(), key: key.to_owned() })
                .unwrap_err()
        };
        let mixed = read(&one.certificate, &other.key);
        assert!(matches!(mixed, SecretError::UnusableKey { .. }), "{mixed:?}");
        let turned = read(&one.key, &one.certificate);
        assert!(matches!(turned, SecretError::NotPem { what: "certificate", .. }), "{turned:?}");
        std::fs::set_permissions(&one.key, std::fs::Permissions::from_mode(0o644)).unwrap();
        let open = read(&one.certificate, &one.key);
        assert!(matches!(open, SecretError::SecretOpen { mode: 0o644, .. }), "{open:?}");
    }
}
