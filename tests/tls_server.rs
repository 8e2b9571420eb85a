//! A server by TLS in this process, with a certificate that it has made itself: it answers each request by its head.

use rustls::pki_types::PrivateKeyDer;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

/// Where it is, and its certificate.
pub(crate) struct TlsServer {
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// In PEM.
    pub(crate) certificate: String,
}

/// Serves for as long as this process lives.
pub(crate) fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> TlsServer {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut stream = stream.unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && tls.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let _ = tls.write_all(&answer(&String::from_utf8_lossy(&head)));
        }
    });
    TlsServer { address, certificate: own.cert.pem() }
}
