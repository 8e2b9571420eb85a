//! `plumb probe clock HOST` as a user has it: against listeners whose clock is known, through ways of unequal length, and against such
//! as go away or talk nonsense.
//!
//! The truth is inside the band whatever this machine has to do meanwhile; how wide the band is, is held against nothing but the least
//! round trip of the same run.

use crate::program::{Ended, Program, Running};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Of a greeting and its answer, of an account, of a question and its answer.
const GREETING_BYTES: usize = 20;
const ACCOUNT_BYTES: usize = 48;
const QUESTION_BYTES: usize = 32;
const CLOCK: u8 = 3;

fn probe(words: &[&str]) -> Program {
    Program::new(["probe", "clock", "--output", "json"]).args(words)
}

/// A listener that serves until it is ended. It takes no turn of the machine: the program that it serves does.
struct Listening {
    child: Child,
    address: String,
}

fn listener(wrapper: &[&str]) -> Listening {
    let words = [env!("CARGO_BIN_EXE_plumb"), "probe", "network", "--listen", "127.0.0.1:0"];
    let command: Vec<&str> = wrapper.iter().copied().chain(words).collect();
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let address =
        said.trim_end().strip_prefix("listening on ").unwrap_or_else(|| panic!("{said}")).to_owned();
    Listening { child, address }
}

impl Listening {
    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends it as its user does.
    fn end(mut self) {
        self.signal(Signal::INT);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Without effect on one that has been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends of a band of the document.
fn band(document: &Value, name: &str) -> (i64, i64) {
    let of = |end: &str| document[name][end].as_i64().unwrap_or_else(|| panic!("{name}: {document}"));
    assert!(of("low_ns") <= of("ahead_ns") && of("ahead_ns") <= of("high_ns"), "{document}");
    (of("low_ns"), of("high_ns"))
}

fn holds(document: &Value, name: &str, truth_ns: i64) {
    let (low_ns, high_ns) = band(document, name);
    assert!(low_ns <= truth_ns && truth_ns <= high_ns, "{truth_ns}: {document}");
}

fn every_row_holds(document: &Value, truth_ns: i64) {
    let course = document["course"].as_array().unwrap();
    assert!(!course.is_empty());
    for at in course {
        let (low_ns, high_ns) = (at["low_ns"].as_i64().unwrap(), at["high_ns"].as_i64().unwrap());
        assert!(low_ns <= truth_ns && truth_ns <= high_ns, "{truth_ns}: {at}");
    }
}

#[test]
fn two_programs_of_one_machine_have_one_clock_and_the_exchanges_do_not_contradict() {
    let listening = listener(&[]);
    let ended = probe(&[&listening.address, "--duration", "1s"]).run();
    listening.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!((&document["probe"], &document["relation"]), (&"clock_offset".into(), &"one_clock".into()));
    assert_eq!((band(&document, "difference"), document["latency_error_ns"].as_u64()), ((0, 0), Some(0)));
    assert!(document["exchanges"].as_u64() >= Some(50) && document["complete"] == true, "{document}");
    holds(&document, "measured", 0);
    every_row_holds(&document, 0);
    let rates = &document["rates"]["oscillators"];
    assert!(rates["low_ppm"].as_f64() <= Some(0.0) && Some(0.0) <= rates["high_ppm"].as_f64(), "{rates}");
}

/// A wrapper that gives a program a monotonic clock shifted by so many seconds; none, said so, where that is not to be had.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn shifted(seconds: &str) -> Option<[&str; 4]> {
    let wrapper = ["unshare", "--time", "--monotonic", seconds];
    let tried = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").stderr(Stdio::null()).status();
    let works = tried.is_ok_and(|status| status.success());
    if !works {
        eprintln!("passed over: no time namespaces here (`unshare --time` needs root and Linux 5.6)");
    }
    works.then_some(wrapper)
}

#[test]
fn a_time_namespace_shifts_the_monotonic_clock_by_a_hundred_seconds_and_the_wall_clock_not_at_all() {
    for seconds in ["100", "-100"] {
        let Some(wrapper) = shifted(seconds) else { return };
        let listening = listener(&wrapper);
        let ended = probe(&[&listening.address, "--duration", "1s"]).run();
        listening.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let document = ended.json();
        assert_eq!(document["relation"], "one_machine", "{document}");
        holds(&document, "difference", 0);
        every_row_holds(&document, 0);
        assert_eq!(document["difference"], document["measured"]);
        assert!(document["latency_error_ns"].as_u64() > Some(0));
    }
}

/// A proxy in front of `behind`, which is late by so much there and back, for a test's whole life. Its address, and the bytes that came
/// back through it.
fn proxy(behind: &str, there: Duration, back: Duration) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let behind: SocketAddr = behind.parse().unwrap();
    let came_back = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&came_back);
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(behind) else { return };
            let ways = [
                (near.try_clone().unwrap(), far.try_clone().unwrap(), there, Arc::new(AtomicU64::new(0))),
                (far, near, back, Arc::clone(&counted)),
            ];
            for (from, to, late, count) in ways {
                to.set_nodelay(true).unwrap();
                std::thread::spawn(move || copy(from, to, late, &count));
            }
        }
    });
    (address, came_back)
}

fn copy(mut from: TcpStream, mut to: TcpStream, late: Duration, copied: &AtomicU64) {
    let mut bytes = [0; 4 << 10];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        std::thread::sleep(late);
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
        copied.fetch_add(n as u64, Relaxed);
    }
    let _ = (to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

#[test]
fn ways_of_unequal_length_move_the_middle_and_never_the_band_off_the_truth() {
    let listening = listener(&[]);
    let (address, _) = proxy(&listening.address, Duration::from_millis(2), Duration::from_millis(3));
    let ended = probe(&[&address, "--duration", "3s"]).run();
    listening.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    holds(&document, "measured", 0);
    every_row_holds(&document, 0);
    let (low_ns, high_ns) = band(&document, "measured");
    let least_ns = document["least_round_trip_ns"].as_i64().unwrap();
    assert!(least_ns >= 5_000_000, "{document}");
    assert!((high_ns - low_ns) as f64 <= 1.5 * least_ns as f64, "{low_ns} to {high_ns}, {least_ns}");
}

/// Answers of so many exchanges, with those of the greetings.
const SOME_ANSWERS: u64 = (2 * GREETING_BYTES + ACCOUNT_BYTES + 60 * QUESTION_BYTES) as u64;

/// A probe under way through a proxy, after some exchanges.
fn under_way(address: &str) -> Running {
    let (address, came_back) = proxy(address, Duration::ZERO, Duration::ZERO);
    let mut running = probe(&[&address, "--duration", "10m"]).start();
    running.wait_for("some exchanges", |_| (came_back.load(Relaxed) >= SOME_ANSWERS).then_some(()));
    running
}

fn has_what_was_measured(ended: &Ended) -> Value {
    let document = ended.json();
    assert_eq!(document["complete"], false, "{document}");
    holds(&document, "measured", 0);
    document
}

#[test]
fn a_peer_that_is_killed_in_the_middle_leaves_what_was_measured_and_its_error() {
    let listening = listener(&[]);
    let running = under_way(&listening.address);
    listening.signal(Signal::KILL);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    let document = has_what_was_measured(&ended);
    assert!(document["ended_by"].as_str().unwrap().contains("broke off"), "{document}");
    assert!(ended.stderr.contains("error: ") && ended.stderr.contains("hint: "), "{}", ended.stderr);
}

#[test]
fn ctrl_c_gives_what_was_measured() {
    let listening = listener(&[]);
    let running = under_way(&listening.address);
    running.signal(Signal::INT);
    let ended = running.wait();
    listening.end();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    assert!(has_what_was_measured(&ended)["ended_by"].is_null());
}

fn now_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A listener as the protocol has it, for a test's whole life, with which a connection for clock readings is `clock`'s.
fn peer(clock: impl Fn(TcpStream) + Send + Sync + Copy + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut greeting = [0; GREETING_BYTES];
                stream.set_nodelay(true).unwrap();
                if stream.read_exact(&mut greeting).is_err() {
                    return;
                }
                let asked = greeting[10];
                greeting[10..16].fill(0);
                if asked == CLOCK {
                    // It answers the greeting itself, or does not.
                    if stream.write_all(&greeting).is_ok() {
                        clock(stream);
                    }
                    return;
                }
                let _ = stream.write_all(&greeting);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    address
}

/// Of another boot, and with no claim.
fn account() -> [u8; ACCOUNT_BYTES] {
    let mut account = [0; ACCOUNT_BYTES];
    account[..16].fill(0xbb);
    account[32] = 3;
    account
}

/// Tells this account, and answers each question with three readings of `tell`, given its number.
fn answering(mut stream: TcpStream, account: [u8; ACCOUNT_BYTES], tell: impl Fn(u32) -> [i64; 3]) {
    if stream.write_all(&account).is_err() {
        return;
    }
    let mut message = [0; QUESTION_BYTES];
    for number in 1.. {
        if stream.read_exact(&mut message).is_err() {
            return;
        }
        for (at, reading) in [8, 16, 24].into_iter().zip(tell(number)) {
            message[at..at + 8].copy_from_slice(&reading.to_le_bytes());
        }
        if stream.write_all(&message).is_err() {
            return;
        }
    }
}

/// Its raw clock is ahead by thirteen days, its wall clock by 1.5 s.
fn readings() -> [i64; 3] {
    let raw = || now_ns(ClockId::MonotonicRaw) + (1 << 50);
    [raw(), now_ns(ClockId::Realtime) + AHEAD_NS, raw()]
}

const AHEAD_NS: i64 = 1_500_000_000;

#[test]
fn another_machines_wall_clock_is_ahead_by_what_it_is_ahead() {
    let address = peer(|stream| answering(stream, account(), |_| readings()));
    let ended = probe(&[&address, "--duration", "1s"]).run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["relation"], "two_machines");
    holds(&document, "difference", AHEAD_NS);
    every_row_holds(&document, AHEAD_NS);
    assert!(document["claim_there"].is_null() && document["claims_hold"].is_null(), "{document}");
    assert_eq!(document["steps"], serde_json::json!([]));
}

#[test]
fn a_wall_clock_that_is_set_meanwhile_is_a_finding_and_the_difference_is_of_the_time_after() {
    let stepping = peer(|stream| {
        answering(stream, account(), |number| {
            let [before, wall, after] = readings();
            [before, if number < 56 { wall } else { wall - 10_000_000_000 }, after]
        });
    });
    let ended = probe(&[&stepping, "--duration", "2s"]).run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    let document = ended.json();
    holds(&document, "difference", AHEAD_NS - 10_000_000_000);
    assert_eq!(document["steps"][0]["clock"], "wall_there", "{document}");
    let step = |end: &str| document["steps"][0][end].as_i64().unwrap();
    assert!(step("low_ns") <= -10_000_000_000 && -10_000_000_000 <= step("high_ns"), "{document}");
}

#[test]
fn a_copy_of_this_machine_is_told_by_its_clock() {
    let copied = peer(|stream| {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let digits: String = boot.trim().replace('-', "");
        let mut same = account();
        for (at, byte) in same[..16].iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
        }
        answering(stream, same, |_| readings());
    });
    let ended = Program::new(["probe", "clock", &copied, "--duration", "1s"]).run();
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert!(ended.stdout.contains("FINDING  Both sides name the same boot"), "{}", ended.stdout);
    assert!(ended.stdout.contains("ahead of this host's"), "{}", ended.stdout);
}

#[test]
fn peers_that_talk_nonsense_are_told_by_what_is_wrong_and_give_no_figure() {
    let other_number = |mut stream: TcpStream| {
        let _ = stream.write_all(&account());
        let mut message = [0; QUESTION_BYTES];
        while stream.read_exact(&mut message).is_ok() {
            let _ = stream.write_all(&[0x55; QUESTION_BYTES]);
        }
    };
    let backward = |stream| answering(stream, account(), |_| [2_000, 1_000, 1_000]);
    let before_1970 = |stream| answering(stream, account(), |_| [1_000, -5, 1_000]);
    let far_away = |stream| answering(stream, account(), |_| [i64::MAX, i64::MAX, i64::MAX]);
    let slow = |stream| answering(stream, account(), |_| [0, 1_000, 1 << 60]);
    let no_account = |mut stream: TcpStream| {
        let _ = stream.write_all(&[0xff; 2 * ACCOUNT_BYTES]);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    };
    for (address, said) in [
        (peer(other_number), "with other bytes than it was sent"),
        (peer(backward), "answered exchange 1 with readings that no clock can have"),
        (peer(before_1970), "readings that no clock can have"),
        (peer(far_away), "readings that no clock can have"),
        (peer(slow), "readings that no clock can have"),
        (peer(no_account), "says of its clocks what no plumb says"),
        (peer(drop), "broke off"),
    ] {
        let ended = probe(&[&address]).run();
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(4), ""), "{said}: {}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains("hint: "), "{said}: {}", ended.stderr);
    }
}

/// Answers the first bytes of each connection, given what was asked, and closes it; for a test's whole life.
fn greeter(answer: fn([u8; GREETING_BYTES]) -> Option<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut greeting = [0; GREETING_BYTES];
            if stream.read_exact(&mut greeting).is_ok()
                && let Some(bytes) = answer(greeting)
            {
                let _ = stream.write_all(&bytes);
                held.push(stream);
            }
        }
    });
    address
}

#[test]
fn whoever_is_no_listener_or_an_older_one_is_told_apart() {
    // The first listeners of this version closed a role that they did not know.
    let older = greeter(|mut greeting| {
        let known = greeting[10] < CLOCK;
        greeting[10..16].fill(0);
        known.then(|| greeting.to_vec())
    });
    let other_version = greeter(|mut greeting| {
        greeting[8] = 9;
        Some(greeting.to_vec())
    });
    let web = greeter(|_| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (peer, code, said, hint) in [
        (
            older.as_str(),
            4,
            "of an earlier version, which exchanges no clock readings",
            "same version of plumb",
        ),
        (&other_version, 4, "speaks version 9 of the probe's protocol, expected 2", "same version of plumb"),
        (&web, 4, "is no `plumb probe network --listen`", "another program's"),
        (&free, 4, "no connection to", "plumb probe network --listen ADDR"),
        ("127.0.0.1:99999", 2, "ports end at 65535", "HOST or HOST:PORT"),
        ("no-such-host.invalid", 2, "is no address", "HOST or HOST:PORT"),
    ] {
        let ended = probe(&[peer]).run();
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(code), ""), "{peer}: {}", ended.stderr);
        assert!(ended.stderr.contains(said) && ended.stderr.contains(hint), "{peer}: {}", ended.stderr);
    }
    let long = probe(&["127.0.0.1", "--duration", "1h"]).run();
    assert_eq!(long.code(), Some(2), "{}", long.stderr);
    assert!(long.stderr.contains("10m at most"), "{}", long.stderr);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_peer_that_falls_silent() {
    let silent = peer(|mut stream| {
        let _ = stream.write_all(&account());
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    let mut running = probe(&[&silent]).start();
    running.wait_until_it_listens_for_signals();
    running.signal(Signal::INT);
    assert_eq!(running.wait().code(), Some(130));
}

#[test]
fn the_difference_is_kept_and_shown_again_as_it_was() {
    let listening = listener(&[]);
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("kept");
    let words = ["probe", "clock", &listening.address, "--duration", "300ms", "--out"];
    let first = Program::new(words).args([&out]).run();
    listening.end();
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    assert!(first.stdout.contains("read one clock"), "{}", first.stdout);
    let again = Program::new(["report".as_ref(), out.as_os_str()]).run();
    assert_eq!((again.code(), &again.stdout), (Some(0), &first.stdout), "{}", again.stderr);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("<table"), "{page}");
}

/// The listener is asked by whoever comes, and answers another version with its own.
#[test]
fn a_listener_tells_its_version_to_one_of_another() {
    let listening = listener(&[]);
    let mut stream = TcpStream::connect(&listening.address).unwrap();
    stream.write_all(b"PLUMBNET\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    listening.end();
    assert_eq!((answer.len(), &answer[..10]), (GREETING_BYTES, &b"PLUMBNET\x02\x00"[..]));
}
