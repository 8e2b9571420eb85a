//! However it ends, nothing is left in the directory, and what was measured is shown where somebody can read it.

use super::{names_in, probe, rates, wait_for_blocks};
use crate::program::Running;
use rustix::process::Signal;
use std::path::Path;

/// A probe that would go on for an hour, once its files are there.
fn under_way(path: &Path) -> Running {
    let mut running =
        probe(path, "--no-streams --method fsync --committers 1 --duration 3600s --rounds 1000").start();
    let place = path.display().to_string();
    running.wait_for("files of the probe", |running| {
        let open = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).ok()?;
        let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        let ours = links.filter(|link| {
            let link = link.display().to_string();
            link.starts_with(&place) && (link.ends_with("(deleted)") || link.contains("/.plumb-probe-"))
        });
        // One is appended to, the other overwritten.
        (ours.count() == 2).then_some(())
    });
    running
}

#[test]
fn an_interrupted_probe_shows_what_it_has_and_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = tempfile::tempdir().unwrap();
        let running = under_way(place.path());
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
        assert_eq!(ended.json()["complete"], false);
        assert!(names_in(place.path()).is_empty());
    }
}

#[test]
fn a_killed_probe_leaves_nothing_that_the_next_one_does_not_remove() {
    let place = tempfile::tempdir().unwrap();
    let running = under_way(place.path());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code(), None);
    let left = names_in(place.path());
    assert!(left.iter().all(|name| name.starts_with(".plumb-probe-")), "{left:?}");
    probe(place.path(), "--no-streams --method fsync --committers 1 --duration 30ms --rounds 3").run();
    assert!(names_in(place.path()).is_empty());
}

#[test]
fn a_probe_that_fills_a_large_file_hears_the_user() {
    let place = tempfile::tempdir().unwrap();
    // Sparse it is not: no device fills it in the time that this test waits.
    let free = rustix::fs::statvfs(place.path()).unwrap();
    let room = free.f_bavail * free.f_frsize / 2;
    let words =
        format!("--no-streams --method fsync --overwrite --committers 1 --file {}", room.min(512 << 30));
    let mut running = probe(place.path(), &words).start();
    running.wait_for("a file that is being filled", |running| {
        let written = std::fs::read_to_string(format!("/proc/{}/io", running.pid())).ok()?;
        let bytes: u64 = written.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())?;
        (bytes > 1 << 20).then_some(())
    });
    let asked = std::time::Instant::now();
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    assert!(asked.elapsed().as_secs() < 30, "{:?}", asked.elapsed());
    assert_eq!((&ended.json()["complete"], rates(&ended.json())), (&false.into(), 0));
    assert!(names_in(place.path()).is_empty());
}

#[test]
fn a_directory_that_vanishes_meanwhile_is_named_and_what_was_measured_before_is_shown() {
    let place = tempfile::tempdir().unwrap();
    let inner = place.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let words = "--no-streams --method fsync --committers 1 --duration 300s --rounds 1000";
    let mut running = probe(&inner, words).args([place.path()]).start();
    wait_for_blocks(&mut running);
    std::fs::remove_dir(&inner).unwrap();
    let ended = running.wait();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("vanished while it was probed"), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["complete"], false);
    assert!(document["ended_by"].as_str().unwrap().contains("vanished while it was probed"), "{document}");
    assert!(rates(&document) >= 1, "{document}");
    assert!(names_in(place.path()).is_empty());
}
