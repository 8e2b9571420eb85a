//! The certificate of a run: made when it begins, known by its digest, forgotten with it.
//!
//! A worker trusts the one certificate whose digest it was given, whoever signed it and whatever names it has, as `kubeadm join` does with
//! `--discovery-token-ca-cert-hash`. TLS 1.3 alone: both sides are of one build.

use crate::error::LinkError;
use crate::token::{hex, read_hex};
use ring::digest::{SHA256, digest};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// Nobody looks at it: the digest says who it is. rustls wants one.
const NAME: &str = "plumb-run";

/// SHA-256 of a certificate in DER.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificateDigest([u8; 32]);

impl CertificateDigest {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        CertificateDigest(bytes)
    }
}

impl fmt::Display for CertificateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CertificateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CertificateDigest {
    type Err = String;

    /// From 64 hexadecimal digits, with or without colons between pairs, as `openssl x509 -fingerprint` prints them.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = text.trim().chars().filter(|character| *character != ':').collect();
        let mut bytes = [0; 32];
        let expected = || format!("expected 64 hexadecimal digits (SHA-256 of a certificate), got {text:?}");
        read_hex(&digits, &mut bytes).map(|()| CertificateDigest(bytes)).ok_or_else(expected)
    }
}

/// The coordinator's side.
pub(crate) struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) digest: CertificateDigest,
}

/// A new certificate with its key.
pub(crate) fn make() -> Result<Identity, LinkError> {
    let failed = |error: &dyn fmt::Display| LinkError::Certificate { why: error.to_string() };
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|error| failed(&error))?;
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let digest = CertificateDigest::of(&certificate);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(|error| failed(&error))?;
    // Nobody comes back to a session: a worker that returns shakes hands anew.
    config.send_tls13_tickets = 0;
    Ok(Identity { config: Arc::new(config), digest })
}

/// The worker's side, for one connection.
pub(crate) struct Pinned {
    config: Arc<ClientConfig>,
    verifier: Arc<Pin>,
}

impl Pinned {
    pub(crate) fn new(expected: CertificateDigest) -> Result<Self, LinkError> {
        let provider = provider();
        let verifier = Arc::new(Pin { expected, got: Mutex::default(), provider: Arc::clone(&provider) });
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| LinkError::Certificate { why: error.to_string() })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _)
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Pinned { config: Arc::new(config), verifier })
    }

    /// A TLS session before its handshake.
    pub(crate) fn session(&self) -> Result<ClientConnection, LinkError> {
        let failed = |error: &dyn fmt::Display| LinkError::Certificate { why: error.to_string() };
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

    #[test]
    fn a_digest_is_read_as_it_is_printed_and_with_colons() {
        let made = make().unwrap().digest;
        let text = made.to_string();
        assert_eq!(text.parse(), Ok(made));
        let pairs: Vec<&str> = (0..32).map(|at| &text[2 * at..2 * at + 2]).collect();
        assert_eq!(pairs.join(":").to_uppercase().parse(), Ok(made));
        assert!("12ab".parse::<CertificateDigest>().is_err());
    }

    #[test]
    fn every_run_has_another_certificate() {
        assert_ne!(make().unwrap().digest, make().unwrap().digest);
    }
}
