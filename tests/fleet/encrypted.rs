//! A front that speaks TLS before a metrics server that does not, with a certificate that is right or wrong in a known way.

use super::scripted::question;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The kind of certificate that it shows to whoever connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certificate {
    Right,
    OtherName,
    Expired,
}

/// The authority of all fronts of this process: its certificate, and what it signs with.
static AUTHORITY: LazyLock<(String, Issuer<'static, KeyPair>)> = LazyLock::new(|| {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
});

/// A front that listens until the tests' process ends.
pub(super) struct Front {
    pub(super) url: String,
    asked: Arc<AtomicUsize>,
}

impl Front {
    /// The certificate to trust, PEM.
    pub(super) fn authority_pem() -> &'static str {
        &AUTHORITY.0
    }

    /// `authorization`: the only value of that header that is let through.
    pub(super) fn before(upstream: &str, certificate: Certificate, authorization: Option<String>) -> Self {
        let config = Arc::new(config(certificate));
        let upstream = upstream.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let question = question(&mut stream);
                // One that does not trust the certificate ends here.
                if question.is_empty() {
                    continue;
                }
                counted.fetch_add(1, Ordering::Relaxed);
                let answer = answer(&question, &upstream, authorization.as_deref());
                // A client that has gone away has failed its test already.
                let _ = stream.write_all(&answer);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Front { url, asked }
    }

    /// Questions that came through.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// The certificate of an authority that signed nothing.
pub(super) fn other_authority_pem() -> String {
    CertificateParams::default().self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// A certificate, and a key that is not its own, PEM.
pub(super) fn strangers() -> (String, String) {
    (other_authority_pem(), KeyPair::generate().unwrap().serialize_pem())
}

fn answer(question: &str, upstream: &str, authorization: Option<&str>) -> Vec<u8> {
    let header = |name: &str| {
        question.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    };
    let sent = header("authorization");
    if authorization.is_some() && sent != authorization {
        // As unwise as a server can be: it says what it was sent.
        let body = format!("not {}", sent.unwrap_or("without a header").trim_start_matches("Basic "));
        let head = format!("HTTP/1.1 401 x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        return (head + &body).into_bytes();
    }
    let mut stream = TcpStream::connect(upstream).unwrap();
    let (first, rest) = question.split_once("\r\n").unwrap();
    write!(stream, "{first}\r\nConnection: close\r\n{rest}").unwrap();
    let mut whole = Vec::new();
    stream.read_to_end(&mut whole).unwrap();
    whole
}

fn config(certificate: Certificate) -> ServerConfig {
    let name = if certificate == Certificate::OtherName { "metrics.example" } else { "127.0.0.1" };
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    if certificate == Certificate::Expired {
        (params.not_before, params.not_after) =
            (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2021, 1, 1));
    }
    let key = KeyPair::generate().unwrap();
    let signed = params.signed_by(&key, &AUTHORITY.1).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.der().clone()], key)
        .unwrap()
}
