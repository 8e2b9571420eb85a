//! Fetches one page over plain HTTP/1.1: enough for a metrics exporter on loopback or in a trusted network.
//!
//! One connection for each page, one deadline for all of it (only the resolution of a name is not under it), a limit on
//! the size. No TLS, no redirects, no passwords: those need a real client, and get an error that says so.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use thiserror::Error;

/// Fifty times the page of a broker with a catch-all rule.
const BODY_LIMIT_BYTES: u64 = 64 << 20;

/// Status line and headers, and likewise the trailers of a chunked body.
const HEAD_LIMIT_BYTES: u64 = 64 << 10;

/// A page that could not be fetched.
#[derive(Debug, Error)]
pub enum HttpError {
    /// Usage: the URL is not one that can be fetched here.
    #[error("expected http://HOST[:PORT][/PATH] without user and password, got {got:?}")]
    Url {
        /// The URL, as far as it may be shown.
        got: String,
    },
    /// Target: no connection, or it broke.
    #[error("connection to {host}")]
    Connection {
        /// Host and port.
        host: String,
        /// What the system said.
        #[source]
        source: io::Error,
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
    /// Target: the answer is not HTTP/1.
    #[error("expected {expected} in the HTTP answer, got {got:?}")]
    Protocol {
        /// What should have come.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Target: the page is larger than any broker's.
    #[error("expected at most {limit_bytes} bytes, got more")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
}

/// The text of the page at `url`; bytes that are no UTF-8 are replaced.
pub(crate) fn get(url: &str, timeout: Duration) -> Result<String, HttpError> {
    let target = Target::parse(url)?;
    let deadline = Instant::now() + timeout;
    let fault = |source: io::Error| match source.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            HttpError::TimedOut { host: target.host.to_owned(), limit_ms: timeout.as_millis() }
        }
        _ => HttpError::Connection { host: target.host.to_owned(), source },
    };
    let mut stream = connect(target.host, target.port, deadline).map_err(fault)?;
    stream.write_all(target.request().as_bytes()).map_err(fault)?;
    let mut reader = BufReader::new(BeforeDeadline { stream, deadline });
    let body = read_answer(&mut reader, BODY_LIMIT_BYTES).map_err(|error| match error {
        AnswerError::Io(source) => fault(source),
        AnswerError::Http(error) => error,
    })?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// A URL in parts.
#[derive(Debug, PartialEq)]
struct Target<'a> {
    /// Host as written, with the port if one is.
    authority: &'a str,
    /// Host without brackets.
    host: &'a str,
    port: u16,
    /// Path and query.
    path: &'a str,
}

impl<'a> Target<'a> {
    fn parse(url: &'a str) -> Result<Self, HttpError> {
        // What stands before an @ is a password and is not repeated.
        let fault =
            || HttpError::Url { got: url.rsplit('@').next().unwrap_or(url).chars().take(200).collect() };
        let visible = url.bytes().all(|byte| byte.is_ascii_graphic());
        let rest = url.strip_prefix("http://").filter(|_| visible).ok_or_else(fault)?;
        let rest = rest.split('#').next().unwrap_or(rest);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = match authority.strip_prefix('[') {
            Some(inside) => inside.split_once(']').ok_or_else(fault)?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => digits.parse().map_err(|_| fault())?,
            None if port.is_empty() => 80,
            None => return Err(fault()),
        };
        if host.is_empty() || authority.contains('@') {
            return Err(fault());
        }
        Ok(Target { authority, host, port, path })
    }

    fn request(&self) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        format!(
            "GET {slash}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: plumb\r\nAccept: text/plain;version=0.0.4\r\n\
             Accept-Encoding: identity\r\nConnection: close\r\n\r\n",
            self.path, self.authority
        )
    }
}

fn connect(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, remaining(deadline)?) {
            Ok(stream) => {
                stream.set_write_timeout(Some(remaining(deadline)?))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn remaining(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A stream that nobody can keep open by dripping bytes.
struct BeforeDeadline {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for BeforeDeadline {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(remaining(self.deadline)?))?;
        self.stream.read(buffer)
    }
}

/// What went wrong in reading an answer.
#[derive(Debug)]
enum AnswerError {
    Io(io::Error),
    Http(HttpError),
}

impl From<io::Error> for AnswerError {
    fn from(error: io::Error) -> Self {
        AnswerError::Io(error)
    }
}

impl From<HttpError> for AnswerError {
    fn from(error: HttpError) -> Self {
        AnswerError::Http(error)
    }
}

fn unexpected(expected: &'static str, got: &str) -> AnswerError {
    HttpError::Protocol { expected, got: got.chars().take(80).collect() }.into()
}

/// How the end of a body is known (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq)]
enum BodyLength {
    Chunked,
    Known(u64),
    UntilClosed,
}

/// Body of an answer with status 200.
fn read_answer(reader: &mut impl BufRead, limit_bytes: u64) -> Result<Vec<u8>, AnswerError> {
    let mut left = HEAD_LIMIT_BYTES;
    let status_line = read_line(reader, &mut left)?;
    let status = status_line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    match status {
        Some(200) => {}
        Some(status) => return Err(HttpError::Status { status }.into()),
        None => return Err(unexpected("HTTP/1.1 and a status", &status_line)),
    }
    let too_large = || HttpError::TooLarge { limit_bytes };
    match read_headers(reader, &mut left)? {
        BodyLength::Chunked => read_chunks(reader, limit_bytes),
        BodyLength::Known(length) if length > limit_bytes => Err(too_large().into()),
        BodyLength::Known(length) => read_exactly(reader, length),
        BodyLength::UntilClosed => {
            let mut body = Vec::new();
            reader.take(limit_bytes.saturating_add(1)).read_to_end(&mut body)?;
            if body.len() as u64 > limit_bytes { Err(too_large().into()) } else { Ok(body) }
        }
    }
}

fn read_headers(reader: &mut impl BufRead, left: &mut u64) -> Result<BodyLength, AnswerError> {
    let mut length = BodyLength::UntilClosed;
    loop {
        let line = read_line(reader, left)?;
        if line.is_empty() {
            return Ok(length);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| unexpected("a header", &line))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(unexpected("the transfer encoding chunked", value));
            }
            length = BodyLength::Chunked;
        } else if name.eq_ignore_ascii_case("content-length") && length != BodyLength::Chunked {
            length = BodyLength::Known(value.parse().map_err(|_| unexpected("a content length", value))?);
        } else if name.eq_ignore_ascii_case("content-encoding") && !value.eq_ignore_ascii_case("identity") {
            return Err(unexpected("no content encoding", value));
        }
    }
}

/// Chunks, each after its size in hexadecimal digits; size 0 and trailers end them.
fn read_chunks(reader: &mut impl BufRead, limit_bytes: u64) -> Result<Vec<u8>, AnswerError> {
    let mut body = Vec::new();
    loop {
        let mut left = HEAD_LIMIT_BYTES;
        let line = read_line(reader, &mut left)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| unexpected("the size of a chunk", &line))?;
        if size == 0 {
            while !read_line(reader, &mut left)?.is_empty() {}
            return Ok(body);
        }
        if size > limit_bytes - body.len() as u64 {
            return Err(HttpError::TooLarge { limit_bytes }.into());
        }
        body.extend(read_exactly(reader, size)?);
        let end = read_line(reader, &mut left)?;
        if !end.is_empty() {
            return Err(unexpected("the end of a chunk", &end));
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64) -> Result<Vec<u8>, AnswerError> {
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    match body.len() as u64 == length {
        true => Ok(body),
        false => Err(unexpected("the whole body", &format!("{} of {length} bytes", body.len()))),
    }
}

/// A line without its end; `left` is what may still be read.
fn read_line(reader: &mut impl BufRead, left: &mut u64) -> Result<String, AnswerError> {
    let mut bytes = Vec::new();
    reader.take(*left).read_until(b'\n', &mut bytes)?;
    *left -= bytes.len() as u64;
    let line = String::from_utf8_lossy(&bytes);
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.strip_suffix('\r').unwrap_or(line).to_owned()),
        None => Err(unexpected("a whole line", &line)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(text: &str) -> Result<String, AnswerError> {
        read_answer(&mut text.as_bytes(), 20).map(|body| String::from_utf8(body).unwrap())
    }

    fn error(text: &str) -> String {
        match answer(text) {
            Err(AnswerError::Http(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_ends_at_its_length_at_its_last_chunk_or_with_the_connection() {
        assert_eq!(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef").unwrap(), "abc");
        assert_eq!(answer("HTTP/1.0 200 OK\r\n\r\nabcdef").unwrap(), "abcdef");
        let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nContent-Length: 9\r\n\r\n\
                      3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\nrest";
        assert_eq!(answer(chunks).unwrap(), "abc0123456789");
    }

    #[test]
    fn a_body_that_is_cut_short_is_an_error_not_a_shorter_page() {
        let short = error("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        assert_eq!(short, "expected the whole body in the HTTP answer, got \"3 of 9 bytes\"");
        let short = error("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        assert_eq!(short, "expected a whole line in the HTTP answer, got \"\"");
    }

    #[test]
    fn a_body_above_the_limit_is_refused_in_every_form() {
        let limit = "expected at most 20 bytes, got more";
        assert_eq!(error("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n"), limit);
        assert_eq!(error("HTTP/1.1 200 OK\r\n\r\n0123456789012345678901"), limit);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(error(&format!("{chunked}FFFFFFFFFFFFFFFF\r\n")), limit);
        assert_eq!(error(&format!("{chunked}5\r\n01234\r\n10\r\n")), limit);
    }

    #[test]
    fn a_status_other_than_200_and_another_protocol_are_named() {
        assert_eq!(error("HTTP/1.1 404 Not Found\r\n\r\n"), "expected status 200, got 404");
        assert!(error("SSH-2.0-OpenSSH\r\n").contains("HTTP/1.1 and a status"));
    }

    #[test]
    fn a_url_is_split_and_a_password_is_refused_without_being_repeated() {
        let target = Target::parse("http://[::1]:9404/metrics?name=a#b").unwrap();
        let parts = Target { authority: "[::1]:9404", host: "::1", port: 9404, path: "/metrics?name=a" };
        assert_eq!(target, parts);
        assert_eq!(Target::parse("http://broker").unwrap().port, 80);
        assert!(Target::parse("http://broker?a=b").unwrap().request().starts_with("GET /?a=b HTTP/1.1\r\n"));
        let refused = Target::parse("http://user:secret@broker/metrics").unwrap_err().to_string();
        assert!(refused.contains("broker/metrics") && !refused.contains("secret"), "{refused}");
        for bad in ["https://a", "http://", "http://a:b", "http://a:70000", "http://[::1", "http://a b/"] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_hostile_server_gets_an_error_or_a_bounded_body(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(body) = read_answer(&mut bytes.as_slice(), 50) {
                prop_assert!(body.len() <= 50);
            }
        }

        #[test]
        fn an_almost_right_answer_gets_an_error_or_a_bounded_body(text in "(?s)HTTP/1.1 200 OK\r\n((Transfer-Encoding: chunked|Content-Length: [0-9]{1,22}|.{0,8})\r\n){0,3}\r\n([0-9a-f]{0,17}\r\n.{0,9}\r\n){0,4}") {
            if let Ok(body) = read_answer(&mut text.as_bytes(), 50) {
                prop_assert!(body.len() <= 50);
            }
        }

        #[test]
        fn any_url_is_a_target_or_an_error(url in "(http://)?.{0,40}") {
            let _ = Target::parse(&url);
        }
    }
}
