//! Who is let in, and what those are told who are not.

use crate::door::{Door, NO_STOP, PATIENCE, introduction};
use crate::stranger::{Stranger, frame, greeting};
use plumb_link::{
    Arrival, CertificateDigest, FIRST_KIND, FRAME_BYTES_MAX, LinkError, Refusal, Workers, join,
};
use plumb_model::fault::HasFault;
use serde_json::json;
use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn workers_that_know_token_and_certificate_are_gathered_with_messages_and_clocks() {
    let door = Door::open(Workers::Any(2));
    let (one, two) = (door.worker("one"), door.worker("two"));
    let there = door.gather();
    assert_eq!(there.iter().map(|peer| peer.name()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!((one.index(), two.index(), one.workers(), one.epoch()), (0, 1, 2, 1));
    let largest = vec![7; FRAME_BYTES_MAX];
    there[1].send(FIRST_KIND, &largest).unwrap();
    one.send(FIRST_KIND + 1, b"from one").unwrap();
    assert_eq!(two.receive(PATIENCE).unwrap().unwrap().bytes, largest);
    let frame = there[0].receive(PATIENCE).unwrap().unwrap();
    assert_eq!((frame.kind, &frame.bytes[..]), (FIRST_KIND + 1, &b"from one"[..]));
    for (kind, bytes) in [(FIRST_KIND - 1, 1), (FIRST_KIND, FRAME_BYTES_MAX + 1)] {
        assert!(matches!(one.send(kind, &vec![0; bytes]), Err(LinkError::CannotSend { .. })));
    }
    // Both read the clock of this host, which nobody told them.
    let clock = there[0].clock().unwrap();
    assert!(clock.exchanges() > 0 && !clock.one_clock());
    let band = clock.latest().unwrap().band;
    assert!(band.holds(0) && band.width_ns() > 0, "{band:?}");
}

#[test]
fn whoever_is_turned_away_is_told_why_and_what_to_do() {
    let door = Door::open(Workers::Any(1));
    let _there = door.worker("a");
    let refusal = |error: LinkError| {
        let hint = error.hint();
        assert!(hint.is_some_and(|hint| !hint.is_empty()), "{error}");
        match error {
            LinkError::Refused { refusal } => refusal,
            other => panic!("{other}"),
        }
    };
    let other_token = door.other_token();
    assert_eq!(refusal(door.turned_away(|options| options.token_file = other_token)), Refusal::Token);
    let build = refusal(door.turned_away(|options| options.introduction = introduction("another")));
    assert_eq!(build, Refusal::Build { coordinator: "one build".into(), worker: "another".into() });
    let taken = refusal(door.turned_away(|options| options.name = "a".into()));
    assert_eq!(taken, Refusal::NameTaken { name: "a".into() });
    assert_eq!(refusal(door.turned_away(|_| ())), Refusal::Full { workers: 1 });
    assert_eq!(refusal(door.turned_away(|options| options.name = "no name".into())), Refusal::Name);
    assert!(door.gathering.seen().refused >= 5);
    let said = door.gathering.seen().refusals.join("; ");
    assert!(!said.contains(&door.token()), "{said}");
}

#[test]
fn workers_whose_names_are_listed_have_the_places_of_the_list() {
    let door = Door::open(Workers::Named(vec!["x".to_owned(), "y".to_owned()]));
    let (second, first) = (door.worker("y"), door.worker("x"));
    assert_eq!((first.index(), second.index()), (0, 1));
    let error = door.turned_away(|options| options.name = "z".into());
    assert!(matches!(error, LinkError::Refused { refusal: Refusal::NotExpected { .. } }), "{error}");
}

#[test]
fn another_certificate_than_the_expected_one_is_named_and_nothing_is_said_to_its_owner() {
    let door = Door::open(Workers::Any(1));
    let expected: CertificateDigest = "ab".repeat(32).parse().unwrap();
    match door.turned_away(|options| options.certificate_sha256 = expected) {
        LinkError::WrongCertificate { expected: e, got, .. } => assert_eq!((e, got), (expected, door.digest)),
        other => panic!("{other}"),
    }
    let until = Instant::now() + PATIENCE;
    while door.gathering.seen().strangers == 0 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(door.gathering.seen().refused, 0);
}

#[test]
fn too_few_workers_in_time_are_named_with_those_who_were_turned_away() {
    let door = Door::open(Workers::Named(vec!["a".to_owned(), "c".to_owned()]));
    let _there = door.worker("a");
    door.turned_away(|_| ());
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut told = Vec::new();
    match door.gathering.gather(deadline, NO_STOP, &mut |arrival| told.push(arrival)).unwrap_err() {
        LinkError::TooFew { expected, missing, refused, .. } => {
            assert_eq!((expected, missing), (2, vec!["c".to_owned()]));
            assert!(refused[0].starts_with("b from 127.0.0.1 ("), "{refused:?}");
            let joined = Arrival::Joined { name: "a".to_owned(), present: 1 };
            assert!(
                told.contains(&joined) && told.contains(&Arrival::TurnedAway(refused[0].clone())),
                "{told:?}"
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_worker_that_tries_again_and_again_for_a_name_that_is_taken_is_told_once() {
    let door = Door::open(Workers::Any(2));
    let _there = door.worker("a");
    // It tries five times a second.
    door.turned_away(|options| (options.name, options.within) = ("a".to_owned(), Duration::from_secs(1)));
    assert!(door.gathering.seen().refused >= 2);
    let mut told = Vec::new();
    let ended = door.gathering.gather(Instant::now(), NO_STOP, &mut |arrival| told.push(arrival));
    let Err(LinkError::TooFew { refused, .. }) = ended else { panic!("{ended:?}") };
    let turned_away = |arrival: &&Arrival| matches!(arrival, Arrival::TurnedAway(_));
    assert_eq!(told.iter().filter(turned_away).count(), 1, "{told:?}");
    assert!(refused.len() == 1 && refused[0].ends_with(" times"), "{refused:?}");
}

#[test]
fn where_nobody_listens_a_worker_says_so_after_its_time() {
    let door = Door::open(Workers::Any(1));
    let mut options = door.options("a");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    (options.address, options.within) = (free.to_string(), Duration::from_millis(300));
    let mut told = Vec::new();
    let ended = join(&options, NO_STOP, &mut |error| told.push(error.to_string()));
    assert!(matches!(ended, Err(LinkError::NoCoordinator { .. })));
    assert_eq!(told.len(), 1, "each reason once: {told:?}");
}

#[test]
fn another_protocol_is_told_before_anything_else_is_looked_at() {
    let door = Door::open(Workers::Any(1));
    let mut stranger = Stranger::at(&door);
    stranger.greet(&json!({ "protocol": 999, "what": "nobody knows" }));
    assert_eq!(stranger.hear_refusal(), Refusal::Protocol { coordinator: plumb_link::PROTOCOL, worker: 999 });
}

#[test]
fn the_clock_of_a_link_that_is_no_more_or_of_another_is_not_taken() {
    let door = Door::open(Workers::Any(1));
    let _there = door.worker("a");
    for (epoch, ticket) in [(7, "0".repeat(32)), (1, "0".repeat(32)), (1, "no ticket".to_owned())] {
        let mut stranger = Stranger::at(&door);
        stranger.greet(&greeting(&door, &json!({ "clock": { "epoch": epoch, "ticket": ticket } })));
        assert_eq!(stranger.hear_refusal(), Refusal::OldLink { epoch });
    }
}

#[test]
fn a_stranger_has_one_frame_and_is_closed_after_it() {
    let door = Door::open(Workers::Any(1));
    for first in [frame(0, b"no greeting"), frame(200, b""), frame(0, &[b'['; 60_000])] {
        let mut stranger = Stranger::at(&door);
        stranger.say(&first);
        stranger.greet(&greeting(&door, &json!({ "clock": { "epoch": 1, "ticket": "" } })));
        // One answer, although a second frame came.
        assert_eq!(stranger.hear_refusal(), Refusal::Unreadable);
    }
    assert_eq!(door.gathering.seen().refused, 3);
}

#[test]
fn who_says_nothing_or_never_ends_a_frame_is_closed_in_time_and_keeps_nobody_out() {
    let door = Door::open(Workers::Any(1));
    let begun = Instant::now();
    let mut silent = TcpStream::connect(door.gathering.address()).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut torn = Stranger::at(&door);
    torn.say_last(&frame(0, &[b' '; 1_000])[..500]);
    assert_eq!(torn.hear_all(), b"");
    let mut slow = Stranger::at(&door);
    slow.say(&frame(0, &[b' '; 1_000])[..500]);
    let mut huge = Stranger::at(&door);
    huge.say(&u32::MAX.to_le_bytes());
    assert_eq!(huge.hear_all(), b"");
    let _there = door.worker("a");
    assert_eq!(slow.hear_all(), b"");
    assert_eq!(silent.read(&mut [0; 1]).unwrap(), 0);
    assert!(begun.elapsed() >= Duration::from_secs(1), "they have some time");
    assert_eq!(door.gathering.seen().strangers, 4);
}
