//! The settings that all connections of a client share, and the sockets that they open.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use crate::error::WireError;
use crate::sasl::{Mechanism, Sasl};
use crate::tls::{self, TlsOptions};
use crate::write::STRING_BYTES_MAX;

/// The settings by which brokers are reached. Cheap to clone; the files that they name are read once, when it is made.
#[derive(Clone)]
pub struct Transport(Arc<Inner>);

struct Inner {
    options: TransportOptions,
    tls: Option<Arc<ClientConfig>>,
}

/// The settings of a [`Transport`].
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// Encrypted or not.
    pub security: Security,
    /// Our user, where the listener asks for one.
    pub sasl: Option<Sasl>,
    /// The client id; brokers' quotas and logs go by it.
    pub client_id: String,
    /// The options of every socket.
    pub socket: SocketOptions,
    /// The time for everything until a connection can be used: name, TCP, TLS, versions, SASL.
    pub open_timeout: Duration,
    /// The longest response that is believed.
    pub frame_limit_bytes: usize,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self {
            security: Security::Plaintext,
            sasl: None,
            client_id: "plumb".to_owned(),
            socket: SocketOptions::default(),
            open_timeout: Duration::from_secs(10),
            frame_limit_bytes: 128 << 20,
        }
    }
}

/// Encrypted or not.
#[derive(Debug, Clone, Default)]
pub enum Security {
    /// Bytes as they are.
    #[default]
    Plaintext,
    /// Encrypted.
    Tls(TlsOptions),
}

/// The options that are set on every socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketOptions {
    /// Send at once, without waiting for more (TCP_NODELAY).
    pub no_delay: bool,
    /// SO_SNDBUF; the kernel tunes it by itself where it is absent.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF; the same.
    pub receive_buffer_bytes: Option<usize>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { no_delay: true, send_buffer_bytes: None, receive_buffer_bytes: None }
    }
}

impl Transport {
    /// Reads certificates and keys, and checks what can be checked without a broker.
    ///
    /// # Errors
    /// [`WireError::Settings`].
    pub fn new(options: TransportOptions) -> Result<Self, WireError> {
        check(&options)?;
        let tls = match &options.security {
            Security::Plaintext => None,
            Security::Tls(tls) => Some(tls::client_config(tls)?),
        };
        Ok(Self(Arc::new(Inner { options, tls })))
    }

    /// The settings that it was made of.
    #[must_use]
    pub(crate) fn options(&self) -> &TransportOptions {
        &self.0.options
    }

    pub(super) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.0.tls.as_ref()
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transport").field(&self.0.options).finish()
    }
}

fn check(options: &TransportOptions) -> Result<(), WireError> {
    let problem = |what: &str, problem: &str| {
        Err(WireError::Settings { what: what.to_owned(), problem: problem.to_owned() })
    };
    if options.client_id.len() > STRING_BYTES_MAX {
        return problem("client.id", "expected at most 32,767 bytes");
    }
    if let Some(sasl) = &options.sasl
        && sasl.mechanism == Mechanism::Plain
        && (sasl.user.contains('\0') || sasl.password.reveal().contains('\0'))
    {
        return problem("sasl.username or sasl.password", "PLAIN cannot carry a NUL character");
    }
    Ok(())
}
