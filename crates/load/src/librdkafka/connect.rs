//! Finds out whether a cluster can be used, and says in the user's terms why not.

use super::ffi::{AdminError, Client, EventView, Role};
use crate::clock::now_ns;
use crate::error::LoadError;
use plumb_model::plan::Properties;
use std::collections::VecDeque;
use std::time::Duration;

/// Longest wait for the first answer of a cluster.
const CONNECT_S: u64 = 10;

/// A cluster that answers.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) client: Client,
    /// host:port, comma separated.
    pub bootstrap: String,
    /// Connection and security properties that every client of the run gets.
    pub properties: Properties,
    /// Brokers, as the cluster names them: id, host, port.
    pub brokers: Vec<(i32, String, i32)>,
    /// The cluster's id.
    pub id: Option<String>,
}

/// Connects, or says why that is not possible.
pub fn connect(bootstrap: &str, security: &Properties) -> Result<Cluster, LoadError> {
    let mut properties = security.clone();
    properties.insert("bootstrap.servers".to_owned(), bootstrap.to_owned());
    let mut patient = properties.clone();
    patient.entry("reconnect.backoff.max.ms".to_owned()).or_insert_with(|| "500".to_owned());
    let client = Client::new(Role::Admin, &patient)?;
    let started = now_ns();
    let mut words = LastWords::default();
    loop {
        let answer = client.metadata(None, Duration::from_millis(500));
        while let Some(event) = client.poll(Duration::ZERO) {
            words.hear(&event.view());
        }
        match answer {
            Ok(metadata) if !metadata.brokers.is_empty() => {
                let id = client.cluster_id(Duration::from_secs(5));
                let bootstrap = bootstrap.to_owned();
                return Ok(Cluster { client, bootstrap, properties, brokers: metadata.brokers, id });
            }
            Ok(_) | Err(_) => {}
        }
        let waited_s = (now_ns() - started) / 1_000_000_000;
        if let Some(error) = words.verdict(bootstrap, waited_s, waited_s >= CONNECT_S) {
            return Err(error);
        }
    }
}

/// The last errors that a client spoke of while it tried.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    lines: VecDeque<(String, String)>,
    heard: usize,
}

impl LastWords {
    pub(crate) fn hear(&mut self, event: &EventView<'_>) {
        let line = match event {
            EventView::Error { code, text, .. } => (code.clone(), text.clone()),
            EventView::Log { facility, text } => (facility.clone(), text.clone()),
            _ => return,
        };
        self.heard += 1;
        if !self.lines.iter().any(|known| *known == line) {
            self.lines.push_back(line);
        }
        if self.lines.len() > 8 {
            self.lines.pop_front();
        }
    }

    /// The error that the words amount to. Refused credentials and failed handshakes do not get better by waiting.
    fn verdict(&self, bootstrap: &str, waited_s: u64, out_of_time: bool) -> Option<LoadError> {
        let find = |codes: &[&str]| self.lines.iter().find(|(code, _)| codes.contains(&code.as_str()));
        let bootstrap = bootstrap.to_owned();
        if let Some((_, text)) = find(&["_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED"]) {
            return Some(LoadError::Authentication { bootstrap, reason: tidy(text) });
        }
        if let Some((_, text)) = find(&["_SSL"]) {
            return Some(LoadError::Tls { bootstrap, reason: tidy(text) });
        }
        let hopeless = find(&["_ALL_BROKERS_DOWN"]).is_some() && waited_s >= 3;
        if !(out_of_time || hopeless) {
            return None;
        }
        let reason = find(&["_RESOLVE"]).or_else(|| find(&["_TRANSPORT"])).or_else(|| self.lines.back());
        let reason = reason.map_or_else(|| "no answer".to_owned(), |(_, text)| tidy(text));
        Some(LoadError::Unreachable { bootstrap, waited_s, reason })
    }
}

/// Drops the client's name and the times and counts that the library adds to its sentences.
fn tidy(text: &str) -> String {
    let text = text.split("]: ").last().unwrap_or(text);
    match text.find(" (after ") {
        Some(end) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

impl From<(AdminError, &str)> for LoadError {
    fn from((error, operation): (AdminError, &str)) -> Self {
        LoadError::Refused {
            operation: operation.to_owned(),
            reason: format!("{} ({})", error.text, error.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_librarys_sentences_lose_what_varies() {
        let line = "ssl://127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed: Connection refused \
                    (after 0ms in state CONNECT, 1 identical error(s) suppressed)";
        assert_eq!(
            tidy(line),
            "ssl://127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed: Connection refused"
        );
        assert_eq!(tidy("[thrd:app]: no brokers"), "no brokers");
    }
}
