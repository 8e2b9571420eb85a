//! Somebody who speaks TLS and frames, and says whatever a test has him say.

use crate::door::{Door, PATIENCE};
use plumb_link::Refusal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const HELLO: u8 = 0;
const REFUSED: u8 = 2;

pub(crate) struct Stranger(StreamOwned<ClientConnection, TcpStream>);

impl Stranger {
    pub(crate) fn at(door: &Door) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(door.certificate()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("plumb-run").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let socket = TcpStream::connect(door.gathering.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Stranger(StreamOwned::new(session, socket))
    }

    /// Says something; what becomes of it is seen when he listens.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        let _closed = self.0.write_all(bytes).and_then(|()| self.0.flush());
    }

    /// Says something, and that nothing more comes.
    pub(crate) fn say_last(&mut self, bytes: &[u8]) {
        self.say(bytes);
        self.0.conn.send_close_notify();
        self.say(&[]);
    }

    pub(crate) fn greet(&mut self, greeting: &Value) {
        self.say(&frame(HELLO, greeting.to_string().as_bytes()));
    }

    /// Everything that is said to him until the other side closes.
    pub(crate) fn hear_all(&mut self) -> Vec<u8> {
        let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            match self.0.read(&mut bytes) {
                Ok(0) => return heard,
                Ok(read) => heard.extend_from_slice(&bytes[..read]),
                Err(error) => {
                    let open =
                        matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
                    assert!(!open, "the connection stays open");
                    return heard;
                }
            }
        }
    }

    /// The one frame that is said to him before the other side closes.
    pub(crate) fn hear_refusal(&mut self) -> Refusal {
        let heard = self.hear_all();
        let (head, content) = heard.split_at(5);
        assert_eq!((&head[..4], head[4]), (&u32::to_le_bytes(content.len() as u32 + 1)[..], REFUSED));
        serde_json::from_slice(content).unwrap()
    }
}

pub(crate) fn frame(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::to_le_bytes(content.len() as u32 + 1);
    [&length[..], &[kind], content].concat()
}

/// A greeting as a worker of this build says it.
pub(crate) fn greeting(door: &Door, purpose: &Value) -> Value {
    json!({ "protocol": plumb_link::PROTOCOL, "token": door.token(), "name": "a", "purpose": purpose })
}
