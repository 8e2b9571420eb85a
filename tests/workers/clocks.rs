//! Workers whose clocks are not the run's: shifted, of another boot, fast, behind a way that is slower in one direction. The truth is a
//! topic whose records are visible a known time after they came.

use super::{WaitingRun, counts, document, scenario, start};
use crate::kafka::Broker;
use crate::program::{Program, Running};
use plumb_lab::sink::{Delay, SinkBroker, SinkOptions};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const LATE: Duration = Duration::from_millis(200);
const LOAD: &str =
    "driver: wire\ntopic: {name: late}\nload: {rate: 100, count: 150, warm_up: 200ms, size: 100B}\n";

fn sink() -> SinkBroker {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    Broker::at(&sink.bootstrap()).create_topic("late", 1, &[]);
    sink.control().delay_visibility("late", Delay::Constant(LATE));
    sink
}

/// A wrapper that gives a program a monotonic clock shifted by so many seconds; none, said so, where that is not to be had.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn shifted(seconds: &str) -> Option<[&str; 4]> {
    let wrapper = ["unshare", "--time", "--monotonic", seconds];
    let tried = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").output();
    let works = tried.is_ok_and(|tried| tried.status.success());
    if !works {
        eprintln!("passed over: no time namespaces here (`unshare --time` needs root and Linux 5.6)");
    }
    works.then_some(wrapper)
}

/// The producer's clock is a hundred seconds ahead, or behind: a latency that took the clocks for one would be off by as much.
#[test]
fn latencies_between_hosts_whose_clocks_are_a_hundred_seconds_apart_are_those_of_the_path() {
    let sink = sink();
    for seconds in ["100", "-100"] {
        let Some(wrapper) = shifted(seconds) else { return };
        let run = start(&scenario(&sink, LOAD), &["--workers", "2"]);
        let workers = vec![run.worker("far").under(&wrapper), run.worker("near")];
        let document = document(&run.with_workers(workers));
        assert_eq!((counts(&document, "received"), counts(&document, "lost")), (&150.into(), &0.into()));
        let parts = document["steps"][0]["blocks"][0]["workers"].as_array().unwrap();
        // Of two namespaces of one boot the difference is known exactly, and told as such.
        let error_ns = parts.iter().filter_map(|part| part["clock_error_ns"].as_u64()).max().unwrap();
        let latency = &document["steps"][0]["latency"]["end_to_end"];
        let least_ns = latency["min_ns"].as_u64().unwrap();
        assert!(least_ns + error_ns >= LATE.as_nanos() as u64, "{latency:#} {error_ns}");
        // Neighbours of a test make a latency longer, never by a hundred seconds.
        assert!(latency["p50_ns"].as_u64().is_none_or(|ns| ns < 50_000_000_000), "{latency:#}");
        assert_eq!(latency["samples"], 150);
    }
}

/// A wrapper that gives a program a shifted clock, and a boot that is not that of its coordinator: then the difference follows from the
/// exchanges alone, and is known to a band.
fn other_boot(run: &Running, seconds: &str) -> Option<Vec<String>> {
    let boot = run.path("boot_id");
    std::fs::write(&boot, "01234567-89ab-cdef-0123-456789abcdef\n").unwrap();
    let mount = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
    let boot = boot.to_string_lossy().into_owned();
    let wrapper = [&shifted(seconds)?[..], &["unshare", "--mount", "sh", "-c", mount, &boot]].concat();
    Some(wrapper.into_iter().map(str::to_owned).collect())
}

/// What a run says whose far worker sends messages that are visible [`LATE`] after they came.
fn latency_of(mut run: WaitingRun, workers: [Program; 2]) -> Value {
    let workers = workers.map(Program::start);
    run.run.wait_for("the run's begin", |run| run.complained().contains("block").then_some(()));
    let document = document(&run.run.wait());
    for worker in workers {
        assert_eq!(worker.wait().code(), Some(0));
    }
    assert_eq!((counts(&document, "received"), counts(&document, "lost")), (&150.into(), &0.into()));
    assert_eq!(document["environment"]["workers"][0]["one_clock"], false);
    let latency = &document["steps"][0]["latency"]["end_to_end"];
    assert_eq!(latency["samples"], 150);
    // Neighbours of a test make a latency longer, never by a hundred seconds.
    assert!(latency["p50_ns"].as_u64().is_none_or(|ns| ns < 50_000_000_000), "{latency:#}");
    document
}

fn figure(document: &Value, name: &str) -> u64 {
    document["steps"][0]["latency"]["end_to_end"][name].as_u64().unwrap()
}

#[test]
fn between_hosts_of_two_boots_a_latency_is_that_of_the_path_within_the_error_that_is_told() {
    let sink = sink();
    for seconds in ["100", "-100"] {
        let run = start(&scenario(&sink, LOAD), &["--workers", "2"]);
        let Some(wrapper) = other_boot(&run.run, seconds) else { return };
        let workers = [run.worker("far").under(&wrapper), run.worker("near")];
        let document = latency_of(run, workers);
        let error_ns = figure(&document, "clock_error_ns");
        assert!(error_ns > 0 && error_ns < LATE.as_nanos() as u64 / 2, "{error_ns}");
        assert!(figure(&document, "min_ns") + error_ns >= LATE.as_nanos() as u64, "{document:#}");
        // Stages would be differences of a time that is known to a band.
        assert_eq!(document["steps"][0]["stages"].as_array().map(Vec::len), Some(0));
        // Of a run that its host made unfit for use no figure is told.
        let summary = document["summary"].to_string();
        let invalid = document["outcome"] == "invalid";
        assert!(invalid || summary.contains("by the workers' clocks"), "{summary}");
    }
}

/// Exchanges cannot tell how the time of a way is shared out between there and back, and take the clocks for half a millisecond less or more
/// apart than they are; the error that is told has to hold this, and a clock that runs fast.
#[test]
fn a_way_of_2_ms_there_and_3_ms_back_and_a_clock_that_runs_50_ppm_fast_are_within_the_error_that_is_told() {
    let sink = sink();
    for [there, back] in [[2, 3], [3, 2]] {
        let run = start(&scenario(&sink, LOAD), &["--workers", "2"]);
        let Some(wrapper) = other_boot(&run.run, "100") else { return };
        let way = SlowWay { there, back }.to(&run.address);
        let Some(far) = with_fast_clock(run.worker_by("far", &way), &run.run, "50") else { return };
        let workers = [far.under(&wrapper), run.worker("near")];
        let document = latency_of(run, workers);
        let (least_ns, error_ns) = (figure(&document, "min_ns"), figure(&document, "clock_error_ns"));
        // Half of what the way takes at least.
        assert!(error_ns >= 2_500_000, "{error_ns}");
        let parts = document["steps"][0]["blocks"][0]["workers"].as_array().unwrap();
        assert!(parts[0]["round_trip_ns"].as_u64().unwrap() >= 5_000_000, "{parts:?}");
        let late_ns = LATE.as_nanos() as u64;
        assert!(least_ns + error_ns >= late_ns, "{least_ns} {error_ns}");
        assert!(least_ns <= late_ns + 2 * error_ns + 50_000_000, "{least_ns} {error_ns}");
    }
}

/// No clock does so, and what a band of it would say is not believed: no latency is told as if it were known.
#[test]
fn a_clock_that_runs_faster_than_any_oscillator_leaves_no_latency_to_believe() {
    let sink = sink();
    let mut run = start(&scenario(&sink, LOAD), &["--workers", "2"]);
    let Some(wrapper) = other_boot(&run.run, "100") else { return };
    let Some(far) = with_fast_clock(run.worker("far"), &run.run, "20000") else { return };
    let workers = [far.under(&wrapper), run.worker("near")].map(Program::start);
    run.run.wait_for("the run's begin", |run| run.complained().contains("block").then_some(()));
    let ended = run.run.wait();
    for worker in workers {
        worker.wait();
    }
    // Where it confirmed none of the starts, four times, the run ends there.
    if ended.stderr.contains("4 workers were lost one after another") {
        assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
        return;
    }
    assert_eq!(ended.code(), Some(1), "{}", ended.stderr);
    assert_eq!(ended.json()["outcome"], "invalid", "{}", ended.stdout);
}

/// A way to a coordinator that holds everything up by milliseconds.
struct SlowWay {
    there: u64,
    back: u64,
}

impl SlowWay {
    /// Its address; it goes on until the tests end.
    fn to(self, coordinator: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, coordinator) = (listener.local_addr().unwrap(), coordinator.to_owned());
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, Ok(far)) = (near.unwrap(), TcpStream::connect(&coordinator)) else { return };
                let ends = |stream: &TcpStream| stream.try_clone().unwrap();
                hold_up(ends(&near), ends(&far), Duration::from_millis(self.there));
                hold_up(far, near, Duration::from_millis(self.back));
            }
        });
        address.to_string()
    }
}

/// Hands on what comes so much later than it came, however much is under way.
fn hold_up(mut from: TcpStream, mut to: TcpStream, by: Duration) {
    let (came, comes) = channel::<(Instant, Vec<u8>)>();
    to.set_nodelay(true).unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            let sent = came.send((Instant::now(), bytes[..read].to_vec()));
            if sent.is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (at, bytes) in comes {
            std::thread::sleep((at + by).saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _gone = to.shutdown(Shutdown::Both);
    });
}

/// A library that makes the steered and the raw monotonic clock of a program run fast from its first look on, by `FAST_PPM`. It writes over
/// the kernel's own function (vDSO), by which Plumb reads its clocks, and which no other library's would replace.
const FAST_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t begun[CLOCK_MONOTONIC_RAW + 1], ppm;

static int fast(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (failed || (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_RAW)) return failed;
    int64_t now = time->tv_sec * 1000000000ll + time->tv_nsec;
    now += (now - begun[clock]) / 1000 * ppm / 1000;
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

__attribute__((constructor)) static void patch(void) {
    ppm = atoll(getenv("FAST_PPM"));
    for (int clock = CLOCK_MONOTONIC; clock <= CLOCK_MONOTONIC_RAW; clock++) {
        struct timespec time;
        clock_gettime(clock, &time);
        begun[clock] = time.tv_sec * 1000000000ll + time.tv_nsec;
    }
    uint8_t *entry = dlsym(dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_LAZY), "__vdso_clock_gettime");
    uint8_t *page = (uint8_t *)((uintptr_t)entry & -4096ul);
    uint8_t jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    void *to = fast;
    memcpy(jump + 2, &to, 8);
    if (!entry || mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) abort();
    memcpy(entry, jump, 12);
}
"#;

/// Has a worker's clock run fast; none, said so, where that cannot be done.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn with_fast_clock(worker: Program, run: &Running, ppm: &str) -> Option<Program> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("passed over: the library is written for x86-64");
        return None;
    }
    let (source, library) = (run.path("fast.c"), run.path("fast.so"));
    std::fs::write(&source, FAST_CLOCK).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).status();
    assert!(compiled.unwrap().success());
    Some(worker.env("LD_PRELOAD", library).env("FAST_PPM", ppm))
}
