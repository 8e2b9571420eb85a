use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::error::TlsProblem;
use crate::tls::{ClientIdentity, Pem, TlsOptions, Trust, Verification};

/// Signs whatever it is asked to.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two authorities of the same name would differ in their keys only.
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {:p}", &params));
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for a host, and its key.
    fn issue(&self, host: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// The configuration of a server of that name; it asks clients for a certificate of `clients`.
    fn server(&self, host: &str, clients: Option<&Self>) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let (certificate, key) = self.issue(host);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(clients.pem.as_bytes()).unwrap()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
                builder.with_client_cert_verifier(verifier)
            }
        };
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        Arc::new(builder.with_single_cert(vec![certificate], key).unwrap())
    }

    fn trusted(&self) -> Trust {
        Trust::Authorities(text(&self.pem))
    }
}

fn text(pem: &str) -> Pem {
    Pem::Text(pem.as_bytes().to_vec())
}

type Encrypted = StreamOwned<ServerConnection, TcpStream>;

/// A broker behind TLS that tells its versions and then does what `script` says.
fn serve(config: Arc<ServerConfig>, script: impl FnOnce(Encrypted) + Send + 'static) -> Broker {
    Broker::start(move |socket| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
        // A refused handshake: hanging up at once could overtake the alert.
        while stream.conn.is_handshaking() {
            if stream.conn.complete_io(&mut stream.sock).is_err() {
                return drain(stream.sock);
            }
        }
        broker::answer_versions(&mut stream);
        script(stream);
    })
}

fn over_tls(tls: TlsOptions) -> TransportOptions {
    TransportOptions { security: Security::Tls(tls), ..options() }
}

/// The problem when that server is spoken to in that way.
fn problem(server: Arc<ServerConfig>, tls: TlsOptions) -> TlsProblem {
    let broker = serve(server, drain);
    let error = broker.open(over_tls(tls)).unwrap_err();
    broker.finish();
    match error {
        WireError::Tls { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn a_certificate_of_a_trusted_authority_for_the_address_is_good() {
    let authority = Authority::new();
    let broker = serve(authority.server("127.0.0.1", None), drain);
    let tls = TlsOptions { trust: authority.trusted(), ..TlsOptions::default() };
    let connection = broker.open(over_tls(tls)).unwrap();
    assert_eq!(connection.version(ApiKey::Metadata, 1..=8).unwrap(), 5);
    drop(connection);
    broker.finish();
}

#[test]
fn a_certificate_of_another_authority_is_not_trusted_unless_nothing_is_checked() {
    let (authority, other) = (Authority::new(), Authority::new());
    for verification in [Verification::Full, Verification::AnyName] {
        let tls = TlsOptions { trust: other.trusted(), verification, identity: None };
        let problem = problem(authority.server("127.0.0.1", None), tls);
        assert!(matches!(problem, TlsProblem::Untrusted(_)), "{problem}");
    }
    let broker = serve(authority.server("127.0.0.1", None), drain);
    let tls = TlsOptions { verification: Verification::None, ..TlsOptions::default() };
    drop(broker.open(over_tls(tls)).unwrap());
    broker.finish();
}

#[test]
fn a_certificate_for_another_host_is_a_wrong_name_unless_names_are_not_checked() {
    let authority = Authority::new();
    let tls = |verification| TlsOptions { trust: authority.trusted(), verification, identity: None };
    let problem = problem(authority.server("kafka.example", None), tls(Verification::Full));
    assert!(matches!(&problem, TlsProblem::WrongName(words) if words.contains("kafka.example")), "{problem}");
    for verification in [Verification::AnyName, Verification::None] {
        let broker = serve(authority.server("kafka.example", None), drain);
        drop(broker.open(over_tls(tls(verification))).unwrap());
        broker.finish();
    }
}

#[test]
fn a_client_certificate_is_shown_where_it_is_asked_for_and_its_lack_is_named() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let (certificate, key) = clients.issue("ann");
    let identity = ClientIdentity { certificate: text(&certificate), key: text(&key) };
    let with = |identity| TlsOptions { trust: authority.trusted(), identity, ..TlsOptions::default() };

    let broker = serve(authority.server("127.0.0.1", Some(&clients)), drain);
    drop(broker.open(over_tls(with(Some(identity)))).unwrap());
    broker.finish();

    let problem = problem(authority.server("127.0.0.1", Some(&clients)), with(None));
    assert_eq!(problem, TlsProblem::ClientCertificateRequired);
}

#[test]
fn a_listener_that_answers_tls_with_plaintext_is_named() {
    let broker = Broker::start(|mut socket| {
        socket.write_all(&response(1, b"this is no handshake")).unwrap();
        drain(socket);
    });
    let tls = TlsOptions { verification: Verification::None, ..TlsOptions::default() };
    let error = broker.open(over_tls(tls.clone())).unwrap_err();
    assert!(matches!(error, WireError::Tls { problem: TlsProblem::NotTls, .. }), "{error}");
    broker.finish();

    // As Kafka does it: the first bytes look like a request that is too long.
    let broker = Broker::start(|mut socket| drop(socket.read(&mut [0; 4])));
    let error = broker.open(over_tls(tls)).unwrap_err();
    assert!(matches!(error, WireError::Closed { during: Stage::TlsHandshake, .. }), "{error}");
    assert!(error.to_string().contains("probably plaintext"), "{error}");
    broker.finish();
}

#[test]
fn a_tls_listener_that_is_spoken_to_in_plaintext_is_named() {
    let server = Authority::new().server("127.0.0.1", None);
    let broker = Broker::start(move |mut socket| {
        let mut session = ServerConnection::new(server).unwrap();
        session.complete_io(&mut socket).unwrap_err();
        drain(socket);
    });
    let error = broker.open(options()).unwrap_err();
    assert!(matches!(error, WireError::ListenerSpeaksTls { .. }), "{error}");
    broker.finish();
}

#[test]
fn large_requests_and_responses_go_through_whole_however_the_records_fall() {
    let authority = Authority::new();
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 253) as u8).collect();
    let (sent, echoed) = (large.clone(), large.clone());
    let (go_on, may_go_on) = mpsc::channel();
    let broker = serve(authority.server("127.0.0.1", None), move |mut stream| {
        may_go_on.recv().unwrap();
        let mut received = vec![0; sent.len()];
        stream.read_exact(&mut received).unwrap();
        assert!(received == sent);
        for id in 0..3 {
            stream.write_all(&response(id, &echoed)).unwrap();
            stream.write_all(&response(100 + id, b"small")).unwrap();
        }
        stream.conn.send_close_notify();
        stream.flush().unwrap();
    });
    let tls = TlsOptions { trust: authority.trusted(), ..TlsOptions::default() };
    // Small socket buffers, so that TLS has to hold bytes back.
    let socket = SocketOptions {
        send_buffer_bytes: Some(32 << 10),
        receive_buffer_bytes: Some(32 << 10),
        ..SocketOptions::default()
    };
    let mut connection = broker.open(TransportOptions { socket, ..over_tls(tls) }).unwrap();
    // Nobody reads yet: what TLS holds back has a bound.
    let mut written = 0;
    while let Ok(bytes) = connection.write_vectored(&[IoSlice::new(&large[written..])]) {
        assert!(bytes > 0);
        written += bytes;
    }
    assert!(written < large.len() && connection.wants_write());
    go_on.send(()).unwrap();
    write_all(&mut connection, &large[written..]);
    for id in 0..3 {
        let (got, body) = next_body(&mut connection).unwrap();
        assert!(got == id && body == large);
        assert_eq!(next_body(&mut connection).unwrap(), (100 + id, b"small".to_vec()));
    }
    assert!(matches!(next_body(&mut connection), Err(WireError::Closed { .. })));
    broker.finish();
}

#[test]
fn pem_that_cannot_be_used_is_named_and_no_key_is_shown() {
    let (certificate, key) = Authority::new().issue("ann");
    let refused = |trust, identity| {
        let tls = TlsOptions { trust, identity, ..TlsOptions::default() };
        Transport::new(over_tls(tls)).unwrap_err().to_string()
    };
    let missing = refused(Trust::Authorities(Pem::File("/no/such/ca.pem".into())), None);
    assert!(missing.starts_with("certificate authorities /no/such/ca.pem: "), "{missing}");
    let none = refused(Trust::Authorities(text("nothing")), None);
    assert!(none.contains("expected PEM with BEGIN CERTIFICATE"), "{none}");

    let trust = || Trust::Authorities(text(&certificate));
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let identity = |key: &str| Some(ClientIdentity { certificate: text(&certificate), key: text(key) });
    let locked = refused(trust(), identity(&encrypted));
    assert!(locked.contains("the key is encrypted"), "{locked}");
    let (_, other_key) = Authority::new().issue("bob");
    let mismatch = refused(trust(), identity(&other_key));
    assert!(mismatch.contains("cannot be used with client key"), "{mismatch}");

    let options = over_tls(TlsOptions { trust: trust(), identity: identity(&key), ..TlsOptions::default() });
    let secret = key.lines().nth(1).unwrap();
    assert!(!format!("{options:?}").contains(secret));
}
