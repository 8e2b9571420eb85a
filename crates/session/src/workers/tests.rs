//! A run and its workers, all in this process.

use super::*;
use crate::error::SessionError;
use crate::run::run_with_workers;
use crate::run_dir::read_document;
use crate::watcher::{Event, Watcher};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use plumb_model::document::RunState;
use plumb_model::fault::{Fault, HasFault};
use plumb_model::resolve::{Sources, resolve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};

/// What a run tells, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Note(String),
    Block,
    Second,
}

/// Passes on what it is told.
struct Ears(Mutex<Sender<Said>>);

impl Watcher for Ears {
    fn event(&self, event: &Event<'_>) {
        let said = match event {
            Event::Note(words) => Said::Note((*words).to_owned()),
            Event::Block { .. } => Said::Block,
            Event::Second(_) => Said::Second,
            _ => return,
        };
        // A test that has heard enough does not listen.
        let _ = self.0.lock().unwrap().send(said);
    }
}

fn ears() -> (Arc<dyn Watcher>, Receiver<Said>) {
    let (said, heard) = channel();
    (Arc::new(Ears(Mutex::new(said))), heard)
}

fn wait_for(heard: &Receiver<Said>, wanted: impl Fn(&Said) -> bool) -> Said {
    loop {
        let said = heard.recv_timeout(Duration::from_secs(120)).unwrap();
        if wanted(&said) {
            return said;
        }
    }
}

/// A worker that joins as the run says.
fn worker(name: &str, how: &str, stop: &Arc<AtomicBool>) -> JoinHandle<Result<()>> {
    let word = |flag: &str| {
        let after = how.split(flag).nth(1).unwrap_or_else(|| panic!("{flag}: {how}"));
        after.split_whitespace().next().unwrap().to_owned()
    };
    let options = WorkerOptions {
        join: word("--join"),
        certificate_sha256: certificate_digest(&word("--cert-sha256")).unwrap(),
        token_file: word("--token-file").into(),
        name: name.to_owned(),
        properties: Properties::new(),
        within: Duration::from_secs(60),
    };
    let stop = Arc::clone(stop);
    spawn(move || work(&options, &stop, &ears().0))
}

#[test]
fn a_run_whose_worker_does_not_come_back_in_its_time_fails_without_the_lost_block_and_the_others_hear_why() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("run");
    let file = format!(
        "cluster: {{bootstrap: \"{}\"}}\nblocks: 2\nsettle: 0s\n\
         load: {{rate: 200, duration: 10s, warm_up: 0s, producers: 2, size: 100B, workers: 2}}\n",
        sink.bootstrap()
    );
    let plan = resolve(&serde_saphyr::from_str(&file).unwrap(), &Sources::new()).unwrap();
    let (watcher, heard) = ears();
    let options = WorkersOptions { back: Duration::from_millis(300), ..WorkersOptions::default() };
    let run = {
        let out = out.clone();
        spawn(move || run_with_workers(plan, Some(&out), &options, &Arc::default(), &watcher))
    };
    let how = wait_for(&heard, |said| matches!(said, Said::Note(words) if words.contains("can join now")));
    let Said::Note(how) = how else { unreachable!() };
    let [stays, leaves] = [(); 2].map(|()| Arc::<AtomicBool>::default());
    let (staying, leaving) = (worker("stays", &how, &stays), worker("leaves", &how, &leaves));
    for said in [Said::Block, Said::Block, Said::Second] {
        wait_for(&heard, |heard| *heard == said);
    }
    leaves.store(true, Ordering::Relaxed);

    let error = run.join().unwrap().unwrap_err();

    assert!(
        matches!(&error, SessionError::Link(LinkError::NotBack { name, .. }) if name == "leaves"),
        "{error}"
    );
    assert_eq!(error.fault(), Fault::Environment);
    let document = read_document(&out).unwrap();
    assert!(matches!(document.run.state, RunState::Failed { .. }), "{:?}", document.run.state);
    let lost = document.run.lost_block.as_ref().unwrap();
    assert_eq!((lost.worker.as_str(), lost.block), ("leaves", Some(1)));
    let counts = document.steps[0].counts;
    assert_eq!((document.steps[0].blocks.len(), counts.sent, counts.acked), (1, 1_000, 1_000));
    assert!(leaving.join().unwrap().unwrap_err().is_stop());
    let told = staying.join().unwrap().unwrap_err();
    assert_eq!(told.fault(), Fault::Environment);
    let words = chain(&told).join(": ");
    assert!(words.contains("the run failed: worker leaves did not come back within"), "{words}");
}

#[test]
fn workers_are_in_the_order_of_their_numbers() {
    let mut names = ["worker-10", "worker-2", "worker-0", "a"];
    names.sort_by(|one, other| in_order(one, other));
    assert_eq!(names, ["a", "worker-0", "worker-2", "worker-10"]);
}

#[test]
fn an_address_that_means_all_of_this_host_is_shown_by_a_name_that_others_can_reach() {
    let port = |text: &str| reachable(text.parse().unwrap());
    assert_eq!(port("10.0.0.5:7587"), "10.0.0.5:7587");
    let shown = port("0.0.0.0:7587");
    assert!(shown.ends_with(":7587") && !shown.starts_with("0.0.0.0"), "{shown}");
}
