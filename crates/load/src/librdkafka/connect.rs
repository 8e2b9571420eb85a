//! Finds out whether a cluster can be used, and says in the user's terms why not.

use super::ffi::{AdminError, Client, EventView, MetadataOf, Role};
use crate::clock::now_ns;
use crate::error::LoadError;
use crate::patience::Patience;
use plumb_model::plan::Properties;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longest wait for the first answer of a cluster.
const CONNECT_S: u64 = 10;
/// The same once the library says that every broker is down. Ours: enough for a few attempts.
const HOPELESS_S: u64 = 3;
/// Different sentences that are kept.
const WORDS_MOST: usize = 16;

/// A cluster that answers.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) client: Client,
    /// The time that exchanges with it may wait.
    pub patience: Patience,
    /// host:port, comma separated.
    pub bootstrap: String,
    /// Connection and security properties that every client of the run gets.
    pub properties: Properties,
    /// Brokers, as the cluster names them: id, host, port.
    pub brokers: Vec<(i32, String, i32)>,
    /// The cluster's id.
    pub id: Option<String>,
}

/// Connects, or says why that is not possible. `stop` gives up, and makes all exchanges with the cluster short.
pub fn connect(bootstrap: &str, security: &Properties, stop: &Arc<AtomicBool>) -> Result<Cluster, LoadError> {
    let mut properties = security.clone();
    properties.insert("bootstrap.servers".to_owned(), bootstrap.to_owned());
    let mut patient = properties.clone();
    patient.entry("reconnect.backoff.max.ms".to_owned()).or_insert_with(|| "500".to_owned());
    let client = Client::new(Role::Admin, &patient)?;
    let patience = Patience::new(stop);
    let started = now_ns();
    let mut words = Words::default();
    loop {
        let answer = client.metadata(MetadataOf::Brokers, Duration::from_millis(500));
        while let Some(event) = client.poll(Duration::ZERO) {
            words.hear(&event.view());
        }
        match answer {
            Ok(metadata) if !metadata.brokers.is_empty() => {
                let id = client.cluster_id(Duration::from_secs(5));
                let bootstrap = bootstrap.to_owned();
                let brokers = metadata.brokers;
                return Ok(Cluster { client, patience, bootstrap, properties, brokers, id });
            }
            Ok(_) | Err(_) => {}
        }
        if stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        let waited_s = (now_ns() - started) / 1_000_000_000;
        if let Some(error) = words.verdict(&properties, waited_s) {
            return Err(error);
        }
    }
}

/// The messages of a client while it tried.
#[derive(Debug, Default)]
struct Words {
    /// Code (of an error) or facility (of a log line) with its text, each once.
    lines: Vec<(String, String)>,
    all_down: bool,
}

impl Words {
    fn hear(&mut self, event: &EventView<'_>) {
        let (code, text) = match event {
            EventView::Error { code, .. } if code == "_ALL_BROKERS_DOWN" => {
                self.all_down = true;
                return;
            }
            EventView::Error { code, text, .. } => (code, text),
            EventView::Log { facility, text } => (facility, text),
            _ => return,
        };
        let line = (code.clone(), tidy(text).to_owned());
        if self.lines.len() < WORDS_MOST && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// The error that the words amount to. Refused credentials and failed handshakes do not get better by waiting.
    fn verdict(&self, properties: &Properties, waited_s: u64) -> Option<LoadError> {
        let coded = |codes: &[&str]| self.lines.iter().find(|(code, _)| codes.contains(&code.as_str()));
        let said = |words: &str| self.lines.iter().find(|(_, text)| text.contains(words));
        let bootstrap = properties.get("bootstrap.servers").cloned().unwrap_or_default();
        let reason = |(_, text): &(String, String)| without_address(text, &bootstrap).to_owned();
        if let Some(line) = coded(&["_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"]) {
            return Some(LoadError::Authentication { reason: reason(line), bootstrap });
        }
        if let Some(line) = coded(&["_SSL"]).or_else(|| said("PLAINTEXT broker listener")) {
            return Some(LoadError::Tls { reason: reason(line), bootstrap });
        }
        let hopeless = self.all_down && waited_s >= HOPELESS_S;
        if waited_s < CONNECT_S && !hopeless {
            return None;
        }
        let known = coded(&["_RESOLVE"]).or_else(|| said("Connect to "));
        // The same end of a connection, as it is met by a read or a write.
        let ended = ["isconnected", "Broken pipe", "reset by peer"].iter().any(|words| said(words).is_some());
        if known.is_none() && ended {
            let protocol = properties.get("security.protocol").map_or("plaintext", String::as_str);
            let protocol = protocol.to_ascii_uppercase();
            return Some(LoadError::Disconnected { bootstrap, protocol });
        }
        let known = known.or_else(|| coded(&["_TRANSPORT"])).or(self.lines.last());
        // Requests that timed out are counted in the library's words; to the user it is silence.
        let reason = known
            .filter(|(_, text)| !text.contains("Timed out"))
            .map_or_else(|| "no answer".to_owned(), reason);
        Some(LoadError::Unreachable { bootstrap, waited_s, reason })
    }
}

/// Drops the thread's name and the times and counts that the library adds to its sentences.
fn tidy(text: &str) -> &str {
    let text = text.split("]: ").last().unwrap_or(text);
    text.find(" (after ").map_or(text, |end| &text[..end])
}

/// Drops the address in front of a sentence when it is the only one there is.
fn without_address<'a>(text: &'a str, bootstrap: &str) -> &'a str {
    match text.split_once("/bootstrap: ") {
        Some((address, rest)) if address.ends_with(bootstrap) => rest,
        _ => text,
    }
}

impl AdminError {
    /// The error of an operation that was refused with this.
    pub(super) fn refusing(self, operation: &str) -> LoadError {
        LoadError::Refused {
            operation: operation.to_owned(),
            reason: format!("{} ({})", self.text, self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(security: &[(&str, &str)], lines: &[(&str, &str)]) -> Option<LoadError> {
        let mut words = Words { all_down: true, ..Words::default() };
        for (facility, text) in lines {
            words.hear(&EventView::Log { facility: (*facility).to_owned(), text: (*text).to_owned() });
        }
        let given = security.iter().chain([&("bootstrap.servers", "127.0.0.1:9")]);
        let properties = given.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        words.verdict(&properties, HOPELESS_S)
    }

    #[test]
    fn the_librarys_sentences_lose_what_varies_and_the_address_that_the_user_gave() {
        let line = "[thrd:127.0.0.1:9/bootstrap]: 127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed: \
                    Connection refused (after 0ms in state CONNECT, 1 identical error(s) suppressed)";
        let reason = "Connect to ipv4#127.0.0.1:9 failed: Connection refused".to_owned();
        let expected = LoadError::Unreachable { bootstrap: "127.0.0.1:9".into(), waited_s: 3, reason };
        assert_eq!(verdict(&[], &[("_TRANSPORT", line)]), Some(expected));
    }

    #[test]
    fn a_plaintext_port_and_a_tls_port_are_told_by_what_they_do_to_the_other() {
        let plaintext = "ssl://127.0.0.1:9/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: \
                         connecting to a PLAINTEXT broker listener? (after 2ms in state SSL_HANDSHAKE)";
        let found = verdict(&[("security.protocol", "ssl")], &[("_TRANSPORT", plaintext)]);
        assert!(matches!(found, Some(LoadError::Tls { .. })), "{found:?}");
        let tls = "127.0.0.1:9/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN \
                   (after 1ms in state APIVERSION_QUERY)";
        let found = verdict(&[], &[("FAIL", tls)]);
        let Some(LoadError::Disconnected { protocol, .. }) = found else { panic!("{found:?}") };
        assert_eq!(protocol, "PLAINTEXT");
    }

    #[test]
    fn a_cluster_that_says_nothing_is_waited_for() {
        assert_eq!(Words::default().verdict(&Properties::new(), HOPELESS_S), None);
        let silent = Words::default().verdict(&Properties::new(), CONNECT_S);
        assert!(matches!(silent, Some(LoadError::Unreachable { .. })), "{silent:?}");
    }
}
