//! A broker on loopback that does what a script says, in a thread.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::*;

/// A listening script.
pub(super) struct Broker {
    pub(super) port: u16,
    script: JoinHandle<()>,
}

/// A request as it came.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) api: i16,
    pub(super) version: i16,
    pub(super) correlation_id: i32,
    pub(super) body: Vec<u8>,
}

impl Broker {
    /// Runs `script` on the first connection.
    pub(super) fn start(script: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = std::thread::spawn(move || script(listener.accept().unwrap().0));
        Self { port, script }
    }

    /// One that answers the first request with the versions that it speaks, then runs `script`.
    pub(super) fn ready(script: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        Self::start(|mut stream| {
            answer_versions(&mut stream);
            script(stream);
        })
    }

    /// Opens a connection to it.
    pub(super) fn open(&self, options: TransportOptions) -> Result<Connection, WireError> {
        Transport::new(options).unwrap().open("127.0.0.1", self.port)
    }

    /// Checks that the script came to its end.
    pub(super) fn finish(self) {
        self.script.join().unwrap();
    }
}

/// The next request; `None` at the end of the stream.
pub(super) fn read_request(stream: &mut impl Read) -> Option<Request> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes).ok()?;
    let mut reader = crate::read::Reader::new(&bytes);
    let (api, version) = (reader.i16("api").unwrap(), reader.i16("version").unwrap());
    let correlation_id = reader.i32("correlation").unwrap();
    assert_eq!(reader.string("client").unwrap(), "plumb");
    Some(Request { api, version, correlation_id, body: reader.rest().to_vec() })
}

/// A response on the wire.
pub(super) fn response(correlation_id: i32, body: &[u8]) -> Vec<u8> {
    [&(body.len() as i32 + 4).to_be_bytes()[..], &correlation_id.to_be_bytes(), body].concat()
}

/// Reads a request, answers it, and gives it back.
pub(super) fn answer(stream: &mut (impl Read + Write), body: &[u8]) -> Request {
    let request = read_request(stream).unwrap();
    stream.write_all(&response(request.correlation_id, body)).unwrap();
    stream.flush().unwrap();
    request
}

/// Answers ApiVersions: Metadata 0 to 5, and what SASL needs.
pub(super) fn answer_versions(stream: &mut (impl Read + Write)) {
    let ranges: [(ApiKey, i16, i16); 3] =
        [(ApiKey::Metadata, 0, 5), (ApiKey::SaslHandshake, 0, 1), (ApiKey::SaslAuthenticate, 0, 2)];
    let mut body = vec![0, 0];
    write::array_length(&mut body, ranges.len());
    for (api, least, most) in ranges {
        [api as i16, least, most].iter().for_each(|field| body.extend_from_slice(&field.to_be_bytes()));
    }
    let request = answer(stream, &body);
    assert_eq!((request.api, request.version), (ApiKey::ApiVersions as i16, 0));
    assert!(request.body.is_empty());
}

/// Reads until the peer hangs up.
pub(super) fn drain(mut stream: impl Read) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
}
