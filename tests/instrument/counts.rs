//! Losses, duplicates and swaps of chosen records are counted exactly, and the verdict says so.

use super::{Document, Path, TOPIC, record};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::{Ended, Program};
use plumb_lab::sink::{ApiKey, Apis, Records};
use std::time::Duration;

on_both_drivers!(
    records_that_vanish_after_their_acknowledgement_are_lost_and_the_run_is_invalid,
    records_stored_twice_are_duplicates_and_not_received_twice,
    as_many_dropped_as_doubled_do_not_cancel_out_where_nobody_receives,
    records_stored_behind_their_successors_are_reordered_and_nothing_else,
    an_undisturbed_run_loses_repeats_and_swaps_nothing,
    records_that_followers_have_not_copied_are_counted_as_such_and_only_what_is_gone_is_lost,
    offsets_without_records_are_gaps_and_what_is_dropped_beside_them_is_lost,
    records_that_are_deleted_before_they_are_read_are_counted_as_such_and_what_stays_is_received,
);

const MESSAGES: u64 = 1_000;
/// The first, neighbours, one in the middle.
const CHOSEN: [u64; 5] = [0, 300, 301, 302, 700];

fn chosen(messages: &[u64]) -> Records {
    Records::at(TOPIC, messages.iter().map(|message| record(*message)))
}

/// A run whose drain is short: what is lost does not come however long one waits.
fn run(path: &Path) -> Ended {
    run_with(path, "")
}

fn run_with(path: &Path, load: &str) -> Ended {
    let (bootstrap, driver) = (path.sink.bootstrap(), path.driver);
    let scenario = format!(
        "cluster: {{bootstrap: \"{bootstrap}\"}}\n\
         driver: {driver}\n\
         topic: {{name: {TOPIC}}}\n\
         load: {{{load}rate: 1000, count: {MESSAGES}, size: 100B, warm_up: 0s, drain: 1s}}\n\
         setups:\n  - producer: {{acks: 1, linger.ms: 0}}\n"
    );
    let program = Program::new(["run", "scenario.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("scenario.yaml"), scenario).unwrap();
    program.run()
}

fn accounting(document: &Document, name: &str) -> u64 {
    document.at(&format!("/steps/0/accounting/{name}")).as_u64().unwrap()
}

fn offset_delta(document: &Document) -> u64 {
    accounting(document, "offset_delta")
}

fn records_that_vanish_after_their_acknowledgement_are_lost_and_the_run_is_invalid(driver: Driver) {
    let path = Path::new(driver);
    let (lost, last) = (CHOSEN.len() as u64 + 1, MESSAGES - 1);
    path.control.drop_records(chosen(&CHOSEN));
    path.control.drop_records(chosen(&[last]));
    let ended = run(&path);
    let document = Document::of(&ended);
    assert_eq!(document.count("acked"), MESSAGES);
    assert_eq!(document.count("lost"), lost);
    assert_eq!(document.count("received"), MESSAGES - lost);
    assert_eq!((document.count("duplicated"), document.count("reordered")), (0, 0));
    assert_eq!(offset_delta(&document), 1 + MESSAGES - lost, "the probe and what is left");
    assert_eq!(document.at("/steps/0/accounting/agrees"), false);
    assert_eq!(document.verdict(), "invalid");
    assert!(document.has_reason("messages-lost"), "{:?}", document.reasons());
    assert!(document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());
    assert_eq!(ended.code(), Some(1));
}

fn records_that_followers_have_not_copied_are_counted_as_such_and_only_what_is_gone_is_lost(driver: Driver) {
    let path = Path::new(driver);
    path.control.stop_replication_at_record(TOPIC, record(700));
    path.control.drop_records(chosen(&[300]));
    let document = Document::of(&run(&path));
    let waiting = document.at("/steps/0/accounting/unreplicated").as_u64().unwrap();
    // A batch that holds the 700th message may begin a little before it.
    assert!((300..320).contains(&waiting), "{waiting}");
    assert_eq!(document.at("/steps/0/accounting/unreplicated_growth"), waiting);
    assert_eq!(document.count("acked"), MESSAGES);
    assert_eq!(document.count("received"), MESSAGES - waiting - 1);
    assert_eq!(document.count("lost"), 1, "the one that was dropped");
    assert_eq!(offset_delta(&document), 1 + MESSAGES - 1, "the log grew by all that was stored");
    assert!(document.has_reason("replication-behind"), "{:?}", document.reasons());
}

fn records_that_are_deleted_before_they_are_read_are_counted_as_such_and_what_stays_is_received(
    driver: Driver,
) {
    let path = Path::new(driver);
    // Nothing is given to consumers from the 500th message on until the log begins with the 700th.
    path.control.stall_at_record(TOPIC, record(500), Apis::one(ApiKey::Fetch), Duration::from_millis(600));
    path.control.delete_before_record(TOPIC, record(700));
    let document = Document::of(&run(&path));
    assert_eq!(document.count("acked"), MESSAGES);
    let unread = MESSAGES - document.count("received");
    // A batch that holds the 500th message may begin a little before it.
    assert!((200..220).contains(&unread), "{unread}");
    assert_eq!(document.at("/steps/0/counts/removed"), unread);
    assert_eq!((document.count("lost"), document.at("/steps/0/accounting/agrees")), (0, &true.into()));
    assert_eq!(
        (document.has_reason("removed-before-read"), document.has_reason("messages-lost")),
        (true, false)
    );
    assert_eq!(document.verdict(), "invalid");
}

fn offsets_without_records_are_gaps_and_what_is_dropped_beside_them_is_lost(driver: Driver) {
    let path = Path::new(driver);
    // As others' transactions that end: a marker each.
    for (message, offsets) in [(200, 1), (500, 3)] {
        path.control.leave_gap_before_record(TOPIC, record(message), offsets);
    }
    let document = Document::of(&run(&path));
    assert_eq!((document.count("acked"), document.count("received")), (MESSAGES, MESSAGES));
    assert_eq!((document.count("lost"), document.at("/steps/0/counts/removed")), (0, &0.into()));
    assert_eq!((accounting(&document, "surplus"), accounting(&document, "gaps")), (4, 4));
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    assert!(!document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());

    let path = Path::new(driver);
    path.control.leave_gap_before_record(TOPIC, record(200), 2);
    path.control.drop_records(chosen(&[300]));
    let document = Document::of(&run(&path));
    assert_eq!((document.count("lost"), accounting(&document, "gaps")), (1, 2));
    assert_eq!(accounting(&document, "missing"), 1);
    assert!(document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());
}

fn records_stored_twice_are_duplicates_and_not_received_twice(driver: Driver) {
    let path = Path::new(driver);
    path.control.duplicate_records(chosen(&CHOSEN));
    let document = Document::of(&run(&path));
    let twice = CHOSEN.len() as u64;
    assert_eq!(document.count("duplicated"), twice);
    assert_eq!((document.count("acked"), document.count("received")), (MESSAGES, MESSAGES));
    assert_eq!((document.count("lost"), document.count("reordered")), (0, 0));
    assert_eq!(document.at("/steps/0/latency/end_to_end/samples"), MESSAGES, "one latency a message");
    assert_eq!(offset_delta(&document), 1 + MESSAGES + twice);
    assert!(document.has_reason("duplicates-or-reorder"), "{:?}", document.reasons());
    // As many more are in the log as came twice: each record is accounted for.
    assert_eq!((accounting(&document, "missing"), accounting(&document, "surplus")), (0, twice));
    assert!(!document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());
    assert_eq!(document.severity("duplicates-or-reorder"), "suspect");
}

fn as_many_dropped_as_doubled_do_not_cancel_out_where_nobody_receives(driver: Driver) {
    let path = Path::new(driver);
    let doubled = [100, 101, 400, 600, 900];
    path.control.drop_records(chosen(&CHOSEN));
    path.control.duplicate_records(chosen(&doubled));
    let document = Document::of(&run_with(&path, "consumers: 0, "));
    assert_eq!((document.count("acked"), document.count("received")), (MESSAGES, 0));
    assert_eq!(offset_delta(&document), 1 + MESSAGES, "the sum is right");
    // A record that was dropped has the offset of the next, if that is not behind the log's end.
    assert_eq!(accounting(&document, "missing"), CHOSEN.len() as u64);
    assert_eq!(accounting(&document, "surplus"), doubled.len() as u64);
    assert_eq!(document.at("/steps/0/accounting/agrees"), false);
    assert!(document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());
    assert_eq!(document.verdict(), "invalid");
}

fn records_stored_behind_their_successors_are_reordered_and_nothing_else(driver: Driver) {
    let path = Path::new(driver);
    // Each behind the next that is not swapped itself: a swap is one message out of order.
    let swapped = [0, 300, 700];
    path.control.swap_records(chosen(&swapped));
    let ended = run(&path);
    let document = Document::of(&ended);
    assert_eq!(document.count("reordered"), swapped.len() as u64);
    assert_eq!((document.count("acked"), document.count("received")), (MESSAGES, MESSAGES));
    assert_eq!((document.count("lost"), document.count("duplicated")), (0, 0));
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    assert!(document.has_reason("duplicates-or-reorder"), "{:?}", document.reasons());
    assert!(!document.has_reason("counts-do-not-add-up"), "{:?}", document.reasons());
}

fn an_undisturbed_run_loses_repeats_and_swaps_nothing(driver: Driver) {
    let path = Path::new(driver);
    let ended = run(&path);
    let document = Document::of(&ended);
    for name in ["intended", "sent", "acked", "received"] {
        assert_eq!(document.count(name), MESSAGES, "{name}");
    }
    for name in ["failed", "unknown", "lost", "duplicated", "reordered"] {
        assert_eq!(document.count(name), 0, "{name}");
    }
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    assert_eq!(offset_delta(&document), 1 + MESSAGES);
    for id in ["messages-lost", "messages-failed", "duplicates-or-reorder", "counts-do-not-add-up"] {
        assert!(!document.has_reason(id), "{id}");
    }
}
