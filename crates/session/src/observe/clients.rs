//! The statistics of clients while the window lasts.
//!
//! Each source has a thread of its own, so that a slow one neither delays the others nor the readings of threads. Only what comes
//! within the window counts: of a file what is written from its begin on, of an address what it answers from then on. A page of a Java client's
//! metrics is read at both ends.

mod address;
mod file;
mod properties;

use address::AddressSource;
use file::FileSource;
use plumb_model::observed::{ClientWindow, Unseen};
use plumb_observe::{
    ClientReadings, ClientsSeen, ObserveError, PageOf, Scrape, StatisticsPage, java_clients, scrape,
    statistics_at,
};
pub(super) use properties::give_properties;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for an address's first line; one that answers and says nothing in it is a stream.
const FIRST_LINE: Duration = Duration::from_secs(3);
/// Longest wait for a page of metrics.
const PAGE: Duration = Duration::from_secs(10);

/// Sources of statistics, before the window.
pub(super) struct ClientSources(Vec<Source>);

enum Source {
    File(String),
    Address(String),
    Page(String),
}

impl ClientSources {
    /// Looks at the addresses. One that cannot be read is unseen, and the others go on.
    pub(super) fn open(sources: &[String], unseen: &mut Vec<Unseen>) -> Self {
        let source = |source: &String| {
            if !source.starts_with("http://") && !source.starts_with("https://") {
                return Some(Source::File(source.clone()));
            }
            match statistics_at(source, FIRST_LINE) {
                Ok(StatisticsPage::Librdkafka) => Some(Source::Address(source.clone())),
                Ok(StatisticsPage::Metrics) => Some(Source::Page(source.clone())),
                Err(error) => {
                    unseen.push(not_read(source, &error));
                    None
                }
            }
        };
        ClientSources(sources.iter().filter_map(source).collect())
    }

    /// The window begins: from here on what the sources say counts.
    pub(super) fn begin(self, window: Duration, unseen: &mut Vec<Unseen>) -> Watched {
        let watched = |source| match source {
            Source::File(path) => Some(Reading::File(FileSource::begin(&path))),
            Source::Address(url) => Some(Reading::Address(AddressSource::begin(&url, window))),
            Source::Page(url) => match scrape(&url, None, PAGE, PageOf::Clients) {
                Ok(before) => Some(Reading::Page { url, before }),
                Err(error) => {
                    unseen.push(not_read(&url, &error));
                    None
                }
            },
        };
        Watched(self.0.into_iter().filter_map(watched).collect())
    }
}

/// Sources that are being read.
pub(super) struct Watched(Vec<Reading>);

enum Reading {
    File(FileSource),
    Address(AddressSource),
    Page { url: String, before: Scrape },
}

impl Watched {
    /// The window ends.
    pub(super) fn close(self, unseen: &mut Vec<Unseen>) -> Vec<ClientWindow> {
        for reading in &self.0 {
            match reading {
                Reading::File(file) => file.shared.stop(),
                Reading::Address(address) => address.shared.stop(),
                Reading::Page { .. } => {}
            }
        }
        let mut clients = Vec::new();
        for reading in self.0 {
            let seen = match reading {
                Reading::File(file) => file.close(),
                Reading::Address(address) => address.close(),
                Reading::Page { url, before } => match scrape(&url, None, PAGE, PageOf::Clients) {
                    Ok(after) => java_clients(&before, &after, shown(&url)),
                    Err(error) => {
                        ClientsSeen { unseen: vec![not_read(&url, &error)], ..ClientsSeen::default() }
                    }
                },
            };
            clients.extend(seen.clients);
            unseen.extend(seen.unseen);
        }
        clients
    }
}

/// What a reader's thread and the window's have in common.
#[derive(Clone)]
struct Shared {
    source: String,
    stopped: Arc<AtomicBool>,
    readings: Arc<Mutex<ClientReadings>>,
}

impl Shared {
    fn new(source: &str) -> Self {
        Shared {
            source: source.to_owned(),
            stopped: Arc::default(),
            readings: Arc::new(Mutex::new(ClientReadings::new(source))),
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn readings(&self) -> MutexGuard<'_, ClientReadings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was seen until now.
    fn close(&self) -> ClientsSeen {
        std::mem::replace(&mut *self.readings(), ClientReadings::new(&self.source)).close()
    }

    /// Nothing was seen, for this reason.
    fn unseen(&self, reason: String, hint: &str) -> ClientsSeen {
        let unseen =
            Unseen { what: Unseen::client_statistics(&self.source), reason, hint: Some(hint.to_owned()) };
        ClientsSeen { unseen: vec![unseen], ..ClientsSeen::default() }
    }
}

/// An address without its login, with which it is refused.
fn shown(url: &str) -> &str {
    url.split('@').next_back().unwrap_or(url)
}

fn not_read(url: &str, error: &ObserveError) -> Unseen {
    let unseen = super::unseen(&Unseen::client_statistics(shown(url)), error);
    let hint = "--client-statistics takes http://HOST:PORT/PATH of an application that answers with librdkafka's statistics or a page of a Java \
                client's metrics, without a login, or a file";
    Unseen { hint: Some(hint.to_owned()), ..unseen }
}
