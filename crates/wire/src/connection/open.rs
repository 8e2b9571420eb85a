//! From a host's name to a connection that is ready: name, TCP, TLS, versions, SASL, all before one deadline.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use super::stream::{Socket, Stream, TlsStream};
use super::transport::{SocketOptions, Transport};
use super::wait::ready;
use super::{Connection, Deadline};
use crate::error::{AuthenticationProblem, ErrorCode, Stage, WireError};
use crate::sasl::scram::Scram;
use crate::sasl::{
    self, AUTHENTICATE_VERSIONS, Authenticate, HANDSHAKE_VERSIONS, Handshake, Mechanism, Sasl,
};
use crate::versions::{ApiKey, ApiVersions};
use crate::write;
use std::time::Duration;

impl Transport {
    /// Opens a connection that is ready for requests. Blocks, for the time that the options allow.
    ///
    /// # Errors
    /// One for each thing that can be wrong; see [`WireError`].
    pub fn open(&self, host: &str, port: u16) -> Result<Connection, WireError> {
        self.open_within(host, port, self.options().open_timeout)
    }

    /// The same, in another time than the options allow.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_within(&self, host: &str, port: u16, timeout: Duration) -> Result<Connection, WireError> {
        open(self, host, port, timeout)
    }
}

fn open(transport: &Transport, host: &str, port: u16, timeout: Duration) -> Result<Connection, WireError> {
    // As people write it in addresses.
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let broker = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let options = transport.options();
    let deadline = Deadline::after(timeout);
    let addresses = resolve(&broker, host, port, deadline)?;
    let socket = connect(&broker, &addresses, &options.socket, deadline)?;
    let stream = match transport.tls() {
        None => Stream::Plain(socket),
        Some(config) => {
            let name = ServerName::try_from(host.to_owned()).map_err(|error| WireError::Settings {
                what: format!("host {host}"),
                problem: format!("TLS needs a name or an address: {error}"),
            })?;
            let session = ClientConnection::new(Arc::clone(config), name)
                .map_err(|error| WireError::Tls { broker: broker.clone(), problem: (&error).into() })?;
            Stream::Tls(Box::new(TlsStream::new(session, socket)))
        }
    };
    let mut connection = Connection::new(stream, broker, options);
    connection.shake_hands(deadline)?;
    connection.ask_versions(deadline)?;
    if let Some(sasl) = &options.sasl {
        connection.authenticate(sasl, deadline)?;
    }
    Ok(connection)
}

/// The host's addresses. The system's resolver knows no deadline, so it is left behind in a thread when ours comes first.
fn resolve(broker: &str, host: &str, port: u16, deadline: Deadline) -> Result<Vec<SocketAddr>, WireError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let unresolved = |source| WireError::Unresolved { broker: broker.to_owned(), source };
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    std::thread::Builder::new()
        .name("resolver".to_owned())
        .spawn(move || {
            // Nobody listens any more when the deadline has passed.
            let _unheard = sender.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect));
        })
        .map_err(unresolved)?;
    let addresses: Vec<_> = receiver
        .recv_timeout(deadline.left())
        .map_err(|_| deadline.missed(broker, Stage::Resolving))?
        .map_err(unresolved)?;
    if addresses.is_empty() {
        return Err(unresolved(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
    }
    Ok(addresses)
}

/// Tries one address after the other; each may take its share of the time that is left.
fn connect(
    broker: &str,
    addresses: &[SocketAddr],
    options: &SocketOptions,
    deadline: Deadline,
) -> Result<Socket, WireError> {
    let mut last = None;
    for (index, address) in addresses.iter().enumerate() {
        let share = deadline.left() / (addresses.len() - index) as u32;
        match connect_to(*address, options, Instant::now() + share) {
            Ok(socket) => return Ok(socket),
            Err(source) => last = Some(source),
        }
    }
    Err(match last {
        Some(source) if source.kind() != io::ErrorKind::TimedOut => {
            WireError::Unreachable { broker: broker.to_owned(), source }
        }
        _ => deadline.missed(broker, Stage::Connecting),
    })
}

fn connect_to(address: SocketAddr, options: &SocketOptions, deadline: Instant) -> io::Result<Socket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Before the handshake, in which the window's scale is agreed on.
    if let Some(bytes) = options.send_buffer_bytes {
        sockopt::set_socket_send_buffer_size(&socket, bytes)?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
    }
    sockopt::set_tcp_nodelay(&socket, options.no_delay)?;
    match net::connect(&socket, &address) {
        Ok(()) => {}
        // An interrupted handshake goes on as well.
        Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::INTR) => {
            if !ready(&socket, PollFlags::OUT, deadline)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Socket(TcpStream::from(socket)))
}

impl Connection {
    fn shake_hands(&mut self, deadline: Deadline) -> Result<(), WireError> {
        loop {
            let Stream::Tls(tls) = &mut self.stream else { return Ok(()) };
            match tls.shake_hands() {
                Ok(true) => return Ok(()),
                Ok(false) => self.wait(PollFlags::IN, Stage::TlsHandshake, deadline)?,
                Err(error) => return Err(self.failed_during(Stage::TlsHandshake, error)),
            }
        }
    }

    fn ask_versions(&mut self, deadline: Deadline) -> Result<(), WireError> {
        let body = self.ask(ApiKey::ApiVersions, 0, |_| {}, Stage::Versions, deadline)?.body;
        let (error_code, versions) =
            ApiVersions::read(body).map_err(|source| self.undecodable(ApiKey::ApiVersions, source))?;
        ErrorCode(error_code)
            .ok()
            .map_err(|code| self.refused(ApiKey::ApiVersions, "this connection", code))?;
        self.versions = versions;
        Ok(())
    }

    fn authenticate(&mut self, sasl: &Sasl, deadline: Deadline) -> Result<(), WireError> {
        let name = sasl.mechanism.name();
        // A listener without SASL may leave the request out of its versions, and then nothing else is wrong.
        let Ok(version) = self.version(ApiKey::SaslHandshake, HANDSHAKE_VERSIONS) else {
            return Err(self.unauthenticated(sasl, AuthenticationProblem::NoSasl));
        };
        let api = ApiKey::SaslHandshake;
        let body =
            self.ask(api, version, |out| write::string(out, name), Stage::Authentication, deadline)?.body;
        let handshake =
            Handshake::read(body).map_err(|source| self.undecodable(ApiKey::SaslHandshake, source))?;
        match ErrorCode(handshake.error_code) {
            ErrorCode::NONE => {}
            ErrorCode::UNSUPPORTED_SASL_MECHANISM => {
                let problem = AuthenticationProblem::NotOffered(handshake.mechanisms);
                return Err(self.unauthenticated(sasl, problem));
            }
            ErrorCode::ILLEGAL_SASL_STATE => {
                return Err(self.unauthenticated(sasl, AuthenticationProblem::NoSasl));
            }
            code => return Err(self.refused(ApiKey::SaslHandshake, name, code)),
        }
        match Scram::new(sasl.mechanism, &sasl.user, &sasl.password) {
            Some(scram) => self.authenticate_by_scram(sasl, scram, deadline),
            None if sasl.mechanism == Mechanism::Plain => {
                let message = sasl::plain_message(&sasl.user, &sasl.password);
                self.say(sasl, &message, deadline).map(|_| ())
            }
            None => {
                let source = io::Error::other("the system gave no random bytes");
                Err(self.failed_during(Stage::Authentication, source))
            }
        }
    }

    fn authenticate_by_scram(
        &mut self,
        sasl: &Sasl,
        scram: Scram,
        deadline: Deadline,
    ) -> Result<(), WireError> {
        let server_first = self.say(sasl, scram.first_message().as_bytes(), deadline)?;
        let (last, proof) =
            scram.last_message(&server_first).map_err(|problem| self.unauthenticated(sasl, problem))?;
        let server_last = self.say(sasl, last.as_bytes(), deadline)?;
        proof.check(&server_last).map_err(|problem| self.unauthenticated(sasl, problem))
    }

    /// Sends one message of the mechanism, and gives the broker's answer to it.
    fn say(&mut self, sasl: &Sasl, message: &[u8], deadline: Deadline) -> Result<Vec<u8>, WireError> {
        let version = self.version(ApiKey::SaslAuthenticate, AUTHENTICATE_VERSIONS)?;
        let api = ApiKey::SaslAuthenticate;
        let body =
            self.ask(api, version, |out| write::bytes(out, message), Stage::Authentication, deadline)?.body;
        let answer = Authenticate::read(version, body)
            .map(|answer| match ErrorCode(answer.error_code) {
                ErrorCode::NONE => Ok(answer.message.to_vec()),
                code => Err(answer.error_message.map_or_else(|| code.to_string(), str::to_owned)),
            })
            .map_err(|source| self.undecodable(ApiKey::SaslAuthenticate, source))?;
        answer.map_err(|words| self.unauthenticated(sasl, AuthenticationProblem::Refused(words)))
    }

    fn unauthenticated(&self, sasl: &Sasl, problem: AuthenticationProblem) -> WireError {
        WireError::Authentication {
            broker: self.broker().to_owned(),
            mechanism: sasl.mechanism.name(),
            problem,
        }
    }
}
