//! TLS 1.3 handshakes between two ends in this process, without a socket: the server's time alone counts.

use super::{Batch, refused};
use crate::crypto::{CryptoError, keys};
use plumb_model::probe::crypto::{EngineName, Operation};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, HandshakeKind, ServerConfig, ServerConnection,
    SignatureScheme,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Messages of a handshake go back and forth a few times; one that needs more than this never ends.
const TURNS_MAX: u32 = 10;

pub(super) fn prepare(operation: Operation) -> Result<Batch<'static>, CryptoError> {
    let (key, certificate) = match operation {
        Operation::HandshakeRsa => (keys::RSA_KEY, keys::RSA_CERTIFICATE),
        _ => (keys::ECDSA_KEY, keys::ECDSA_CERTIFICATE),
    };
    let resumed = operation == Operation::HandshakeResumed;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut ends = Ends::new(&provider, key, certificate, resumed)?;
    if resumed {
        // The tickets of this one are what the first that counts resumes.
        ends.shake()?;
    }
    let kind = if resumed { HandshakeKind::Resumed } else { HandshakeKind::Full };
    Ok(Box::new(move |count| {
        let begun = Instant::now();
        let mut server = Duration::ZERO;
        for _ in 0..count {
            let shaken = ends.shake()?;
            if shaken.kind != Some(kind) {
                return Err(refused("a handshake of the kind that was to be measured")(()));
            }
            server += shaken.server;
        }
        Ok(begun.elapsed().saturating_sub(server))
    }))
}

struct Ends {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

struct Shaken {
    server: Duration,
    kind: Option<HandshakeKind>,
}

impl Ends {
    fn new(
        provider: &Arc<CryptoProvider>,
        key: &'static [u8],
        certificate: &'static [u8],
        resumed: bool,
    ) -> Result<Self, CryptoError> {
        let version = &[&rustls::version::TLS13];
        let server = ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(version)
            .map_err(refused("TLS 1.3"))?
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from(certificate)],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)),
            )
            .map_err(refused("a certificate"))?;
        let mut client = ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(version)
            .map_err(refused("TLS 1.3"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(OwnServer(Arc::clone(provider))))
            .with_no_client_auth();
        if !resumed {
            client.resumption = Resumption::disabled();
        }
        let name = ServerName::try_from("localhost").map_err(refused("a name"))?;
        Ok(Ends { client: Arc::new(client), server: Arc::new(server), name })
    }

    /// Makes one handshake to its end, tickets included.
    fn shake(&mut self) -> Result<Shaken, CryptoError> {
        let mut client = ClientConnection::new(Arc::clone(&self.client), self.name.clone())
            .map_err(refused("a client's connection"))?;
        let begun = Instant::now();
        let mut server =
            ServerConnection::new(Arc::clone(&self.server)).map_err(refused("a server's connection"))?;
        let mut server_time = begun.elapsed();
        let mut bytes = Vec::with_capacity(8 << 10);
        for _ in 0..TURNS_MAX {
            bytes.clear();
            client.write_tls(&mut bytes).map_err(io)?;
            let begun = Instant::now();
            if !bytes.is_empty() {
                server.read_tls(&mut bytes.as_slice()).map_err(io)?;
                server.process_new_packets().map_err(refused("a client's message"))?;
            }
            bytes.clear();
            while server.wants_write() {
                server.write_tls(&mut bytes).map_err(io)?;
            }
            server_time += begun.elapsed();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                client.read_tls(&mut rest).map_err(io)?;
                client.process_new_packets().map_err(refused("a server's message"))?;
            }
            if !client.is_handshaking() && !server.is_handshaking() && !client.wants_write() {
                return Ok(Shaken { server: server_time, kind: server.handshake_kind() });
            }
        }
        Err(refused("to end a handshake")(()))
    }
}

fn io(source: std::io::Error) -> CryptoError {
    CryptoError::System { engine: EngineName::Own, source }
}

/// The server is this process, so nobody has to vouch for its certificate; its signature is verified all the same.
#[derive(Debug)]
struct OwnServer(Arc<CryptoProvider>);

impl ServerCertVerifier for OwnServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
