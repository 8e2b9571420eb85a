//! Fetches one page over HTTP, plain or by TLS, and with a login where the page is not for everybody.
//!
//! One connection for each page, one deadline for all of it, a limit on the size of headers and body. A redirect is not
//! followed, so that a login goes nowhere else, and the environment's proxy is not used. A server's certificate is always checked: by the
//! authorities of this system, or against the one digest that is known of it (`http/pinned.rs`).

mod pinned;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pinned::PinnedTls;
use rustls_native_certs::CertificateResult;
use std::fmt;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use ureq::{Agent, Error as Fault};

/// What a page of metrics is asked for as: Prometheus' text.
pub(crate) const METRICS: &str = "text/plain;version=0.0.4";

/// Bytes that are handed on at once.
const PIECE_BYTES: usize = 64 << 10;

/// Status line and headers.
const HEAD_LIMIT_BYTES: usize = 64 << 10;

/// A user and password for HTTP's basic authentication (RFC 7617).
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Name; without a colon.
    pub user: String,
    /// Password.
    pub password: String,
}

impl fmt::Debug for Login {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Login {
    fn encoded(&self) -> String {
        BASE64.encode(format!("{}:{}", self.user, self.password))
    }

    /// A text of the server's without what it was sent and might send back.
    pub(crate) fn removed_from(&self, text: &str) -> String {
        let secrets = [self.encoded(), self.password.clone()].into_iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(&secret, "[redacted]"))
    }
}

/// A page that could not be fetched.
#[derive(Debug, Error)]
pub enum HttpError {
    /// Usage: the URL is not one that can be fetched here.
    #[error("expected http://HOST[:PORT][/PATH] or https://... without user and password, got {got:?}")]
    Url {
        /// The URL, as far as it may be shown.
        got: String,
    },
    /// Environment: no authority is known here that could have signed a server's certificate.
    #[error("no certificates of authorities are known here: {reason}")]
    Authorities {
        /// The reason.
        reason: String,
    },
    /// Target: no connection, or it broke.
    #[error("connection to {host}")]
    Connection {
        /// Host and port.
        host: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Target: no encryption, or the server is not trusted.
    #[error("no TLS connection to {host}: {reason}")]
    Tls {
        /// Host and port.
        host: String,
        /// The library's words.
        reason: String,
    },
    /// Target: the page was not there in time.
    #[error("no answer from {host} within {limit_ms} ms")]
    TimedOut {
        /// Host and port.
        host: String,
        /// The time that it had.
        limit_ms: u128,
    },
    /// Target: the server refused.
    #[error("expected status 200, got {status}")]
    Status {
        /// Status code.
        status: u16,
    },
    /// Target: the answer is not HTTP/1, or not whole.
    #[error("expected a whole HTTP/1.1 answer from {host}: {reason}")]
    Protocol {
        /// Host and port.
        host: String,
        /// The library's words.
        reason: String,
    },
    /// Target: the page is larger than any broker's.
    #[error("expected at most {limit_bytes} bytes, got more")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
}

/// An answer, and how much of it is read for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) url: &'a str,
    pub(crate) login: Option<&'a Login>,
    pub(crate) trust: Trust,
    /// The kind of text that is wanted.
    pub(crate) accept: &'static str,
    /// For all of it.
    pub(crate) timeout: Duration,
    pub(crate) limit_bytes: u64,
}

/// The servers that are believed, where they are asked by TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those whose certificate an authority of this system has signed for their name.
    Authorities,
    /// The one whose certificate has this SHA-256, whoever signed it, whatever names it has and until when it is said to last.
    Certificate([u8; 32]),
}

/// Hands on the body of a page piece by piece as it comes, until it ends or `each` wants no more; an empty piece comes first, when the
/// server has answered. Nothing of it is kept.
pub(crate) fn read(
    question: &Question<'_>,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), HttpError> {
    let target = Target::parse(question.url)?;
    let believed = match question.trust {
        Trust::Authorities if target.encrypted => Believed::Roots(roots_of_system()?),
        Trust::Authorities => Believed::Roots(Vec::new()),
        Trust::Certificate(sha256) => Believed::Certificate(sha256),
    };
    let Question { login, timeout, limit_bytes, accept, .. } = *question;
    Fetch { target, login, believed, accept, timeout, limit_bytes }.read(each)
}

/// Host and port of a page's address, `kafka-1:9404`; none where it cannot be fetched.
pub fn host_and_port(url: &str) -> Option<String> {
    let target = Target::parse(url).ok()?;
    let authority = target.uri.authority()?;
    let port = authority.port_u16().unwrap_or(if target.encrypted { 443 } else { 80 });
    Some(format!("{}:{port}", authority.host()))
}

/// A URL that can be fetched.
#[derive(Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) uri: Uri,
    /// Host and port, for messages.
    pub(crate) host: String,
    pub(crate) encrypted: bool,
}

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self, HttpError> {
        // What stands before an @ is a password and is not repeated.
        let fault =
            || HttpError::Url { got: url.rsplit('@').next().unwrap_or(url).chars().take(200).collect() };
        let uri: Uri = url.parse().map_err(|_| fault())?;
        let encrypted = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(fault()),
        };
        let authority = uri.authority().ok_or_else(fault)?;
        let port_is_none = authority.port_u16().is_none() && authority.as_str() != authority.host();
        if authority.as_str().contains('@') || authority.host().is_empty() || port_is_none {
            return Err(fault());
        }
        let host = authority.to_string();
        Ok(Target { uri, host, encrypted })
    }
}

/// The authorities of the environment's `SSL_CERT_FILE` and `SSL_CERT_DIR`, else those of this system. A file that is named has to have
/// one at least.
fn roots_of_system() -> Result<Vec<Certificate<'static>>, HttpError> {
    if let Some(file) = std::env::var_os("SSL_CERT_FILE") {
        roots(rustls_native_certs::load_certs_from_paths(Some(Path::new(&file)), None))?;
    }
    roots(rustls_native_certs::load_native_certs())
}

fn roots(found: CertificateResult) -> Result<Vec<Certificate<'static>>, HttpError> {
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or("none was found".to_owned(), ToString::to_string);
        return Err(HttpError::Authorities { reason });
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// A page to fetch, with its address, login and limits.
struct Fetch<'a> {
    target: Target,
    login: Option<&'a Login>,
    believed: Believed,
    accept: &'static str,
    timeout: Duration,
    limit_bytes: u64,
}

/// What a server's certificate is held against.
enum Believed {
    Roots(Vec<Certificate<'static>>),
    Certificate([u8; 32]),
}

impl Fetch<'_> {
    fn read(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), HttpError> {
        let mut request = self.agent()?.get(&self.target.uri).header("Connection", "close");
        if let Some(login) = self.login {
            request = request.header("Authorization", format!("Basic {}", login.encoded()));
        }
        let mut response = request.call().map_err(|error| self.fault(error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(HttpError::Status { status });
        }
        // The library's own limit counts what comes, before a compression that was not asked for is undone.
        let mut reader = response.body_mut().as_reader();
        let (mut piece, mut seen_bytes) = (vec![0; PIECE_BYTES], 0);
        let _ = each(&[]);
        loop {
            let count = match reader.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.fault(error.into())),
            };
            seen_bytes += count as u64;
            if seen_bytes > self.limit_bytes {
                return Err(HttpError::TooLarge { limit_bytes: self.limit_bytes });
            }
            if each(&piece[..count]).is_break() {
                return Ok(());
            }
        }
    }

    fn agent(&self) -> Result<Agent, HttpError> {
        let roots = match &self.believed {
            Believed::Roots(roots) => roots.clone(),
            Believed::Certificate(_) => Vec::new(),
        };
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots)));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(self.timeout))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_response_header_size(HEAD_LIMIT_BYTES)
            .max_idle_connections(0)
            .proxy(None)
            .user_agent("plumb")
            .accept(self.accept)
            .accept_encoding("identity")
            .tls_config(tls.build())
            .build();
        let Believed::Certificate(sha256) = self.believed else { return Ok(config.new_agent()) };
        let pinned = PinnedTls::new(sha256).map_err(|error| self.fault(Fault::Rustls(error)))?;
        let connector = ().chain(TcpConnector::default()).chain(pinned);
        Ok(Agent::with_parts(config, connector, DefaultResolver::default()))
    }

    fn fault(&self, error: Fault) -> HttpError {
        let host = self.target.host.clone();
        match error {
            Fault::Timeout(_) => HttpError::TimedOut { host, limit_ms: self.timeout.as_millis() },
            Fault::Rustls(cause) => HttpError::Tls { host, reason: tls_reason(&cause) },
            Fault::Tls(words) => HttpError::Tls { host, reason: words.to_owned() },
            Fault::Io(source) => self.io_fault(source),
            Fault::HostNotFound => {
                let source = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
                HttpError::Connection { host, source }
            }
            other => HttpError::Protocol { host, reason: other.to_string().chars().take(200).collect() },
        }
    }

    fn io_fault(&self, source: io::Error) -> HttpError {
        let host = self.target.host.clone();
        let tls = source.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
        match (tls, source.kind()) {
            (Some(cause), _) => HttpError::Tls { host, reason: tls_reason(cause) },
            (None, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
                HttpError::TimedOut { host, limit_ms: self.timeout.as_millis() }
            }
            (None, io::ErrorKind::UnexpectedEof) => {
                HttpError::Protocol { host, reason: "the connection ended before it".to_owned() }
            }
            (None, _) => HttpError::Connection { host, source },
        }
    }
}

/// The library's words, and our own where they come by way of it.
fn tls_reason(cause: &rustls::Error) -> String {
    match cause {
        rustls::Error::General(words) => words.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
