//! Questions over HTTP: with what the configuration says, for a bounded time, of a bounded size, and a few times where a fault may pass.

use super::answer::{self, Answer};
use super::config;
use super::error::PrometheusError;
use super::query::Question;
use super::tls;
use crate::request::PrometheusSource;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use ureq::{Agent, Error, Timeout};

/// The most that is read of one answer.
const ANSWER_LIMIT_BYTES: u64 = 512 << 20;

/// The waits before a question is asked again where the fault may pass.
const WAITS: [Duration; 2] = [Duration::from_millis(200), Duration::from_millis(800)];

/// The longest for a connection, with TLS: whoever takes longer is not there, or waits for us as we do for it.
const CONNECT_S: u64 = 10;

/// Asks one server.
pub(super) struct Client {
    agent: Agent,
    /// Without a slash at its end.
    address: String,
    headers: Vec<(String, String)>,
    /// The texts that must not be in any message: a server may send back what it was sent.
    secrets: Vec<String>,
    timeout_s: u64,
    limit_bytes: u64,
}

impl Client {
    pub(super) fn new(source: &PrometheusSource) -> Result<Self, PrometheusError> {
        let address = checked(&source.url)?;
        let settings = source.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
        let mut builder = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(source.timeout_s)))
            .timeout_connect(Some(Duration::from_secs(source.timeout_s.min(CONNECT_S))))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("plumb")
            // As Prometheus' own tools: not asked for, the environment's proxy is not used.
            .proxy(None);
        let authorities = source.authorities.as_deref();
        if address.starts_with("https://") {
            let path = source.config.as_deref().unwrap_or(Path::new(""));
            builder = builder.tls_config(tls::config(&settings, authorities, path)?);
        } else if let Some(path) = authorities {
            let reason = "of no use: the address of the metrics server is not https".to_owned();
            return Err(PrometheusError::Authorities { path: path.to_owned(), reason });
        }
        Ok(Client {
            agent: builder.build().new_agent(),
            address,
            headers: settings.headers,
            secrets: settings.secrets,
            timeout_s: source.timeout_s,
            limit_bytes: ANSWER_LIMIT_BYTES,
        })
    }

    /// Asks, and once more where the fault may pass.
    pub(super) fn ask(&self, question: &Question) -> Result<Answer, PrometheusError> {
        let mut asked = self.ask_once(question);
        for wait in WAITS {
            match &asked {
                Err(error) if error.is_passing() => {}
                _ => break,
            }
            std::thread::sleep(wait);
            asked = self.ask_once(question);
        }
        asked
    }

    fn ask_once(&self, question: &Question) -> Result<Answer, PrometheusError> {
        // POST: a selector with many servers in it is longer than an address may be.
        let mut request = self.agent.post(format!("{}/api/v1/{}", self.address, question.endpoint));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let form = question.form.iter().map(|(name, value)| (*name, value.as_str()));
        let mut response = request.send_form(form).map_err(|error| self.fault(error))?;
        let status = response.status().as_u16();
        let body =
            read_bounded(response.body_mut().as_reader(), self.limit_bytes).map_err(|error| match error {
                Error::Io(error) if error.kind() != std::io::ErrorKind::TimedOut => {
                    PrometheusError::BrokeOff { address: self.address.clone(), reason: error.to_string() }
                }
                other => self.fault(other),
            })?;
        match answer::parse(&body) {
            // Errors come with a status of their own and say more than it. A query that takes the server too long has that of a server
            // that is away.
            Err(PrometheusError::Refused { kind, reason }) if status != 503 || kind == "timeout" => {
                Err(PrometheusError::Refused { kind, reason: self.without_secrets(&reason) })
            }
            Err(PrometheusError::Answer { expected, got }) if status == 200 => {
                Err(PrometheusError::Answer { expected, got: self.without_secrets(&got) })
            }
            answer if status == 200 => answer,
            answer => Err(PrometheusError::Status {
                address: self.address.clone(),
                status,
                reason: match answer {
                    Err(PrometheusError::Refused { reason, .. }) => self.without_secrets(&reason),
                    _ => {
                        let text = self.without_secrets(&String::from_utf8_lossy(&body));
                        text.chars().take(200).collect::<String>().trim().to_owned()
                    }
                },
            }),
        }
    }

    fn without_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "(secret)"))
    }

    fn fault(&self, error: Error) -> PrometheusError {
        let address = self.address.clone();
        if let Some(fault) = tls::fault(&error) {
            return PrometheusError::Tls { address, fault };
        }
        match error {
            Error::Timeout(Timeout::Connect) => {
                PrometheusError::TimedOut { address, timeout_s: self.timeout_s.min(CONNECT_S) }
            }
            Error::Timeout(_) => PrometheusError::TimedOut { address, timeout_s: self.timeout_s },
            Error::BodyExceedsLimit(limit_bytes) => PrometheusError::TooLarge { limit_bytes },
            Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                PrometheusError::TimedOut { address, timeout_s: self.timeout_s }
            }
            other => PrometheusError::Connect { address, reason: other.to_string() },
        }
    }
}

/// All of it. The library's own limit counts what comes, before compression is undone: a small answer could fill the memory.
fn read_bounded(body: impl Read, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    let mut read = Vec::new();
    body.take(limit_bytes.saturating_add(1)).read_to_end(&mut read)?;
    match read.len() as u64 > limit_bytes {
        true => Err(Error::BodyExceedsLimit(limit_bytes)),
        false => Ok(read),
    }
}

/// An address with a scheme and a host, and without a password: arguments are seen by everybody on a machine.
fn checked(url: &str) -> Result<String, PrometheusError> {
    let fault = |problem| Err(PrometheusError::Address { problem });
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return fault("has no http:// or https:// before it");
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return fault("has a user or password in it");
    }
    if host.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
        return fault("has no host");
    }
    if rest.contains(['?', '#']) {
        return fault("has more than a path behind the host");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// 4,000 times the figure 0, by gzip.
    const BOMB: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\x4a\xeb\x9f\xce\x18\x3e\x40\x01\x00\x00\x00\x6f\x03\x1d\x96\xee\xfa\xa0\x0f\x00\x00";

    #[test]
    fn the_limit_is_on_what_an_answer_becomes_and_not_on_what_it_was_compressed_to() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut request, mut byte) = (Vec::new(), [0]);
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                BOMB.len()
            );
            stream.write_all(&[head.as_bytes(), BOMB].concat()).unwrap();
        });
        let agent = Agent::config_builder().proxy(None).build().new_agent();
        let (headers, secrets) = (Vec::new(), Vec::new());
        let client = Client { agent, address, headers, secrets, timeout_s: 20, limit_bytes: 1_000 };
        let asked = client.ask_once(&Question { endpoint: "query", form: Vec::new() });
        assert!(matches!(asked, Err(PrometheusError::TooLarge { limit_bytes: 1_000 })), "{asked:?}");
        server.join().unwrap();
    }

    #[test]
    fn an_address_has_a_scheme_a_host_and_no_password() {
        assert_eq!(checked("https://a.b:9090/prometheus/").unwrap(), "https://a.b:9090/prometheus");
        let refused =
            ["a:9090", "ftp://a", "http://", "http:///x", "http://u:hunter2@a", "http://a?b", "http://a b"];
        for url in refused {
            let error = checked(url).unwrap_err().to_string();
            assert!(
                error.starts_with("the address of the metrics server") && !error.contains("hunter2"),
                "{error}"
            );
        }
    }
}
