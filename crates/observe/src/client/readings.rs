//! All librdkafka clients of one source, out of its text as it comes.
//!
//! Clients are told apart by their names and by the moment at which each was made (its clock less its age), so that processes with clients
//! of one name can write into one file. A client that ended before another of its name began was started anew.

use super::emission::{Emission, Kind, unescaped_client_id};
use super::follow::{Followed, Follower};
use crate::lines::Lines;
use plumb_model::observed::{ClientWindow, Unseen};
use std::collections::{BTreeSet, HashMap};

/// Longest line that is read. librdkafka writes about a kilobyte for each partition, so that this is a client with tens of
/// thousands of them.
const LINE_LIMIT_BYTES: usize = 32 << 20;
/// Text of one answer that is kept to be read as a whole where no line of it has statistics (ours).
const ANSWER_LIMIT_BYTES: usize = 8 << 20;
/// Clients that are followed in one source (ours).
const CLIENTS_MOST: usize = 1_000;
/// Partitions of all clients of one source that are kept in memory (ours).
const PARTITIONS_MOST: usize = 1_000_000;
/// Clients whose statistics are no JSON that are named (ours).
const UNESCAPED_MOST: usize = 20;
/// Characters of a line that a reason shows.
const SHOWN_MOST: usize = 60;

const HINT: &str = "librdkafka writes statistics where the application sets statistics.interval.ms (0 by default) and a callback that \
                    writes each as one line; --duration must be several of these intervals";

/// Follows the clients of one source.
#[derive(Debug)]
pub struct ClientReadings {
    source: String,
    lines: Lines,
    /// The answer that is being read, as long as no line of it had statistics.
    answer: Option<Vec<u8>>,
    clients: HashMap<Identity, Seen>,
    emissions: u64,
    other_lines: u64,
    /// Begin of the first line without statistics.
    other: Option<String>,
    /// What librdkafka calls clients whose statistics are no JSON for that.
    unescaped: BTreeSet<String>,
    too_many: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    client: Client,
    /// The client's clock when it was made, in microseconds.
    made_at_us: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Client {
    name: String,
    client_id: String,
    is_producer: bool,
}

#[derive(Debug)]
struct Seen {
    follower: Follower,
    /// Numbers of its first and its last emission among all of the source.
    first: u64,
    last: u64,
}

impl ClientReadings {
    /// Nothing read yet; `source` is what the document calls it.
    pub fn new(source: &str) -> Self {
        ClientReadings {
            source: source.to_owned(),
            lines: Lines::new(LINE_LIMIT_BYTES),
            answer: None,
            clients: HashMap::new(),
            emissions: 0,
            other_lines: 0,
            other: None,
            unescaped: BTreeSet::new(),
            too_many: false,
        }
    }

    /// Takes text that came within the window: whole lines or parts of them.
    pub fn take(&mut self, bytes: &[u8]) {
        if let Some(answer) = &mut self.answer {
            let room = ANSWER_LIMIT_BYTES.saturating_sub(answer.len());
            answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        lines.take(bytes, |line| self.take_line(line));
        self.lines = lines;
    }

    /// An answer begins, which may be one object over several lines.
    pub fn begin_of_answer(&mut self) {
        self.answer = Some(Vec::new());
    }

    /// The answer has ended: its last line is whole.
    pub fn end_of_answer(&mut self) {
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        lines.finish(|line| self.take_line(line));
        self.lines = lines;
        if let Some(answer) = self.answer.take() {
            Emission::each_in(&answer, |emission| self.take_emission(&emission));
        }
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let before = self.emissions;
        Emission::each_in(line, |emission| self.take_emission(&emission));
        if self.emissions > before {
            self.answer = None;
            return;
        }
        if self.unescaped.len() < UNESCAPED_MOST {
            let shown = |id: String| id.chars().take(SHOWN_MOST).collect();
            self.unescaped.extend(unescaped_client_id(line).map(shown));
        }
        self.other_lines += 1;
        let text = || String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN_MOST)]).into_owned();
        self.other.get_or_insert_with(|| text().chars().take(SHOWN_MOST).collect());
    }

    fn take_emission(&mut self, emission: &Emission) {
        self.emissions += 1;
        let client = Client {
            name: emission.name.clone(),
            client_id: emission.client_id.clone(),
            is_producer: emission.kind == Kind::Producer,
        };
        let made_at_us = emission.age.map(|age| (emission.ts - age) as i64);
        let identity = Identity { client, made_at_us };
        if let Some(seen) = self.clients.get_mut(&identity) {
            seen.follower.take(emission);
            seen.last = self.emissions;
            return;
        }
        let partitions: usize = self.clients.values().map(|seen| seen.follower.partitions()).sum();
        if self.clients.len() >= CLIENTS_MOST || partitions >= PARTITIONS_MOST {
            self.too_many = true;
            return;
        }
        let seen = Seen { follower: Follower::new(emission), first: self.emissions, last: self.emissions };
        self.clients.insert(identity, seen);
    }

    /// The clients over the window, by name, and what could not be seen.
    pub fn close(self) -> ClientsSeen {
        let mut seen = ClientsSeen::default();
        let source = self.source.as_str();
        let mut clients: HashMap<Client, Vec<Seen>> = HashMap::new();
        for (identity, of_identity) in self.clients {
            clients.entry(identity.client).or_default().push(of_identity);
        }
        let mut clients: Vec<(Client, Vec<Seen>)> = clients.into_iter().collect();
        clients.sort_by(|a, b| a.0.cmp(&b.0));
        for (client, mut of_name) in clients {
            of_name.sort_by_key(|seen| seen.first);
            let in_turn = of_name.windows(2).all(|pair| pair[0].last < pair[1].first);
            if in_turn && of_name.len() > 1 {
                let times = of_name.len() - 1;
                seen.doubt(source, &client.name, &format!("it started anew within the window ({times} times): its figures are of the last start on"));
                of_name.drain(..times);
            }
            let kind = if client.is_producer { Kind::Producer } else { Kind::Consumer };
            for (index, one) in of_name.into_iter().enumerate() {
                let name = match index {
                    0 => client.name.clone(),
                    _ => format!("{} ({})", client.name, index + 1),
                };
                let Followed { window, doubts } = one.follower.close(source, &name, kind);
                doubts.iter().for_each(|doubt| seen.doubt(source, &window.name, doubt));
                seen.clients.push(window);
            }
        }
        if self.too_many {
            seen.unseen.push(Unseen {
                what: format!("further clients in {source}"),
                reason: format!(
                    "there are more than {CLIENTS_MOST} clients or {PARTITIONS_MOST} partitions in it"
                ),
                hint: None,
            });
        }
        let too_long = self.lines.too_long;
        if too_long > 0 {
            seen.unseen.push(Unseen {
                what: format!("lines of {source}"),
                reason: format!(
                    "{too_long} are longer than {} MB and were passed over",
                    LINE_LIMIT_BYTES >> 20
                ),
                hint: None,
            });
        }
        seen.unseen.extend(self.unescaped.iter().map(|client_id| unescaped(source, client_id)));
        if seen.clients.is_empty() && self.unescaped.is_empty() {
            let reason = match (&self.other, self.other_lines, too_long, self.lines.is_within_line()) {
                (Some(first), lines, ..) => {
                    format!(
                        "{lines} lines came within the window, none of them with librdkafka's statistics; the first began with {first:?}"
                    )
                }
                (None, _, 0, true) => "within the window came a part of a line, and not its end".to_owned(),
                (None, _, 0, false) => "no line came within the window".to_owned(),
                (None, ..) => "no line came within the window but such as are too long".to_owned(),
            };
            seen.unseen.push(Unseen {
                what: Unseen::client_statistics(source),
                reason,
                hint: Some(HINT.to_owned()),
            });
        }
        seen
    }
}

/// A client whose statistics are no JSON for what it is called.
fn unescaped(source: &str, client_id: &str) -> Unseen {
    Unseen {
        what: Unseen::client_statistics(source),
        reason: format!(
            "the client.id {client_id:?} has a quotation mark or a backslash, which librdkafka does not escape: what it writes is no JSON"
        ),
        hint: Some("take quotation marks and backslashes out of client.id".to_owned()),
    }
}

/// Clients that were seen, and what was not.
#[derive(Debug, Default)]
pub struct ClientsSeen {
    /// The clients.
    pub clients: Vec<ClientWindow>,
    /// What could not be seen, with the reason.
    pub unseen: Vec<Unseen>,
}

impl ClientsSeen {
    pub(super) fn doubt(&mut self, source: &str, name: &str, reason: &str) {
        self.unseen.push(Unseen {
            what: format!("figures of client {name} in {source}"),
            reason: reason.to_owned(),
            hint: None,
        });
    }
}

#[cfg(test)]
mod tests;
