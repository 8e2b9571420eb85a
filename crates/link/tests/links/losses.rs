//! Links that end, for each reason that there is, and those that only seem to.

use crate::door::{Door, NO_STOP, PATIENCE, end_of};
use crate::proxy::Proxy;
use plumb_link::{FIRST_KIND, Goodbye, LinkError, Peer, Workers};
use plumb_model::fault::HasFault;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn goodbye(error: LinkError) -> Goodbye {
    assert!(error.hint().is_some(), "{error}");
    match error {
        LinkError::Closed { goodbye, .. } => goodbye,
        other => panic!("{other}"),
    }
}

#[test]
fn a_link_that_is_closed_says_why_after_all_that_was_sent_before() {
    let why = "a message cannot be read".to_owned();
    let reasons = [
        Goodbye::RunOver,
        Goodbye::RunFailed { why: why.clone() },
        Goodbye::JoinAgain { why: why.clone() },
        Goodbye::Leaves { why },
    ];
    for reason in reasons {
        let door = Door::open(Workers::Any(1));
        let worker = door.worker("a");
        let there = door.gather().remove(0);
        (0..50_u8).for_each(|number| there.send(FIRST_KIND, &[number]).unwrap());
        there.close(reason.clone());
        for number in 0..50 {
            assert_eq!(worker.receive(PATIENCE).unwrap().unwrap().bytes, [number]);
        }
        assert_eq!(goodbye(worker.receive(PATIENCE).unwrap_err()), reason);
        assert!(matches!(end_of(&there), LinkError::ClosedHere { .. }));
        assert!(matches!(worker.send(FIRST_KIND, b"late"), Err(LinkError::Closed { .. })));
    }
}

#[test]
fn a_worker_that_leaves_says_so_to_the_run() {
    let door = Door::open(Workers::Any(1));
    let worker = door.worker("a");
    let there = door.gather().remove(0);
    let leaves = Goodbye::Leaves { why: "it was told to stop".to_owned() };
    worker.close_and_wait(leaves.clone());
    assert_eq!(goodbye(end_of(&there)), leaves);
}

#[test]
fn workers_that_waited_for_a_run_that_never_began_are_told_that_and_why() {
    let door = Door::open(Workers::Any(2));
    let worker = door.worker("a");
    let deadline = Instant::now() + Duration::from_secs(1);
    let gathered = door.gathering.gather(deadline, NO_STOP, &mut |_| ());
    assert!(matches!(gathered, Err(LinkError::TooFew { .. })));
    let why = "1 of 2 workers joined in time".to_owned();
    assert_eq!(goodbye(end_of(&worker)), Goodbye::NotBegun { why });
}

#[test]
fn a_worker_that_came_back_too_late_hears_how_the_run_ended() {
    let door = Door::open(Workers::Any(1));
    let worker = door.worker("a");
    let failed = Goodbye::RunFailed { why: "worker b did not come back".to_owned() };
    door.gathering.say_at_end(failed.clone());
    drop(door);
    assert_eq!(goodbye(end_of(&worker)), failed);
}

/// Both ends of a link by way of a proxy.
struct Held {
    door: Door,
    proxy: Proxy,
    worker: Peer,
    there: Peer,
}

fn held() -> Held {
    let door = Door::open(Workers::Any(1));
    let proxy = Proxy::to(door.gathering.address());
    let worker = door.worker_by("a", proxy.address);
    let there = door.gather().remove(0);
    Held { door, proxy, worker, there }
}

/// A worker of the same name joins again: under its index, with the next number of its link.
fn comes_back(door: &Door, epoch: u32) {
    let again = door.worker("a");
    let there = door.gathering.rejoin("a", PATIENCE, NO_STOP).unwrap();
    assert_eq!((again.index(), again.epoch(), there.index(), there.epoch()), (0, epoch, 0, epoch));
    again.send(FIRST_KIND, b"back").unwrap();
    assert_eq!(there.receive(PATIENCE).unwrap().unwrap().bytes, b"back");
}

#[test]
fn a_link_on_which_nothing_comes_for_three_seconds_is_given_up_by_both_sides_and_made_again() {
    let Held { door, proxy, worker, there } = held();
    let begun = Instant::now();
    proxy.hold(true);
    for side in [&worker, &there] {
        let error = end_of(side);
        assert!(
            matches!(error, LinkError::Silent { silence, .. } if silence >= Duration::from_secs(3)),
            "{error}"
        );
        assert!(error.is_loss());
    }
    assert!(begun.elapsed() >= Duration::from_secs(2));
    comes_back(&door, 2);
}

#[test]
fn a_link_that_breaks_off_without_a_word_is_lost_and_another_of_the_same_name_is_taken() {
    let Held { door, proxy, worker, there } = held();
    worker.send(FIRST_KIND, b"the last word").unwrap();
    assert_eq!(there.receive(PATIENCE).unwrap().unwrap().bytes, b"the last word");
    proxy.cut();
    assert!(end_of(&worker).is_loss());
    assert!(end_of(&there).is_loss());
    comes_back(&door, 2);
    let error = door.gathering.rejoin("nobody", Duration::ZERO, NO_STOP).unwrap_err();
    assert!(matches!(error, LinkError::NoSuchWorker { .. }), "{error}");
}

#[test]
fn a_worker_that_does_not_come_back_is_named_with_the_time_that_it_had() {
    let Held { door, proxy, there, .. } = held();
    proxy.cut();
    end_of(&there);
    let error = door.gathering.rejoin("a", Duration::from_millis(200), NO_STOP).unwrap_err();
    assert!(error.to_string().contains("worker a did not come back within 0.2 s"), "{error}");
}

/// More than both queues and the kernel hold. Frames wait where they are, and their sender with them.
#[test]
fn a_link_that_is_held_up_for_less_than_three_seconds_loses_nothing_and_lives_on() {
    const FRAMES: u32 = 64;
    let Held { door: _door, proxy, worker, there } = held();
    let sent = AtomicU32::new(0);
    std::thread::scope(|scope| {
        proxy.hold(true);
        scope.spawn(|| {
            for number in 0..FRAMES {
                let mut frame = vec![0; 1 << 20];
                frame[..4].copy_from_slice(&number.to_le_bytes());
                worker.send(FIRST_KIND, &frame).unwrap();
                sent.fetch_add(1, Relaxed);
            }
        });
        // Nothing arrives for a second.
        assert_eq!(there.receive(Duration::from_secs(1)).unwrap(), None);
        assert!(sent.load(Relaxed) < FRAMES, "a sender without an end fills the memory");
        proxy.hold(false);
        for number in 0..FRAMES {
            let frame = there.receive(PATIENCE).unwrap().unwrap();
            assert_eq!(frame.bytes[..4], number.to_le_bytes());
        }
    });
    assert!(worker.broken().is_none() && there.broken().is_none());
}

/// A reader that is behind for longer than the other side may be silent: signs of life come all the same.
#[test]
fn a_reader_that_falls_behind_holds_up_the_frames_and_not_the_signs_of_life() {
    let Held { door: _door, worker, there, .. } = held();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..48).for_each(|_| worker.send(FIRST_KIND, &vec![0; 1 << 20]).unwrap()));
        let until = Instant::now() + Duration::from_secs(4);
        while Instant::now() < until {
            let error = there.broken().or_else(|| worker.broken());
            assert!(error.is_none(), "{error:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        (0..48).for_each(|_| drop(there.receive(PATIENCE).unwrap().unwrap()));
    });
}
