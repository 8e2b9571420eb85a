//! The worker's side: joins a run, takes part in its blocks, and ends as the run does.

use super::introduction;
use super::peer_link::PeerLink;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
use plumb_link::{CertificateDigest, Goodbye, JoinOptions, LinkError, Peer, join};
use plumb_load::calibrate::calibrate;
use plumb_load::remote::{WorkerSettings, WorkerTold, serve};
use plumb_model::figure;
use plumb_model::plan::Properties;
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The settings of a worker that joins a run.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// HOST:PORT of the run.
    pub join: String,
    /// The digest of the run's certificate.
    pub certificate_sha256: CertificateDigest,
    /// The file with the run's token.
    pub token_file: PathBuf,
    /// The worker's name, of its own in the run.
    pub name: String,
    /// Client properties of this host: they come before those that the run sends.
    pub properties: Properties,
    /// Attempts to join are made for so long.
    pub within: Duration,
}

/// Joins a run and takes part in its blocks until it is over. Where the connection breaks it joins again, as long as the run lets it.
///
/// # Errors
/// When the run cannot be joined, did not begin, ended with an error, or is lost for good; at a stop.
pub fn work(options: &WorkerOptions, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Result<()> {
    let host = host_facts(&HostRoot::default(), &SystemCommands::default());
    let settings = WorkerSettings { properties: options.properties.clone(), spin_ns: calibrate().spin_ns };
    let joining = JoinOptions {
        address: options.join.clone(),
        certificate_sha256: options.certificate_sha256,
        token_file: options.token_file.clone(),
        name: options.name.clone(),
        introduction: introduction(Some(&host))?,
        within: options.within,
    };
    loop {
        let mut tell = |error: &LinkError| watcher.event(&Event::Note(&attempt_words(error, &joining)));
        let peer = join(&joining, stop, &mut tell)?;
        watcher.event(&Event::Note(&format!("joined {} as {}", options.join, options.name)));
        let carrier = PeerLink::of(peer.clone());
        let mut told = |told: WorkerTold| watcher.event(&Event::Note(&words(&told)));
        let served = serve(&carrier, &settings, stop, &mut told);
        if served.is_err() && stop.load(Ordering::Relaxed) {
            peer.close_and_wait(Goodbye::Leaves { why: "it was told to stop".to_owned() });
            return Err(LinkError::Stopped.into());
        }
        match (served, end_of_run(&peer)) {
            (Ok(()), _) | (Err(_), Some(Ok(()))) => {
                watcher.event(&Event::Note("the run is over"));
                return Ok(());
            }
            (Err(_), Some(Err(error))) => return Err(error.into()),
            (Err(lost), None) => {
                watcher.event(&Event::Note(&format!("lost the run: {}; joining again", lost.reason)));
            }
        }
    }
}

/// How the run ended, as it said when it closed the link; none where it did not say that it has, so that the worker joins again.
fn end_of_run(peer: &Peer) -> Option<Result<(), LinkError>> {
    match peer.broken()? {
        LinkError::Closed { goodbye: Goodbye::RunOver, .. } => Some(Ok(())),
        error @ LinkError::Closed {
            goodbye: Goodbye::NotBegun { .. } | Goodbye::RunFailed { .. }, ..
        } => Some(Err(error)),
        _ => None,
    }
}

/// Why a worker is not there yet.
fn attempt_words(error: &LinkError, joining: &JoinOptions) -> String {
    let reason = match error {
        LinkError::NoCoordinator { address, source, .. } => {
            format!("no coordinator at {address} yet ({source})")
        }
        error => error.to_string(),
    };
    format!("{reason}; trying for {}", figure::estimate(joining.within.as_secs_f64()))
}

fn words(told: &WorkerTold) -> String {
    match told {
        WorkerTold::BlockBegins { topic, producers, consumers } => {
            format!("a block begins: producers {producers}, consumers {consumers}, topic {topic}")
        }
        WorkerTold::BlockEnds => "the block is over".to_owned(),
        WorkerTold::Failed(reason) => format!("the block failed here: {reason}"),
    }
}
