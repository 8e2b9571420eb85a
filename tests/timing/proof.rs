//! Exact answers on a machine that others may use as well.

use std::time::{Duration, Instant};

/// Attempts at a proof. Other programs only ever add time, and not the same every time: an instrument that is wrong is
/// wrong in each attempt.
const ATTEMPTS: usize = 5;

/// Longest wait for a calm machine, and how long a look at it takes.
const CALM_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(300);
/// From this share of idle CPU time on, a machine is calm.
const CALM_IDLE: f64 = 0.8;

/// Right, or the distance of a figure from what it must be.
pub(super) type Verdict = Result<(), String>;

/// Holds if one of a few attempts gives the exact answer.
pub(super) fn holds(attempt: impl Fn() -> Verdict) {
    let mut failures = Vec::new();
    for _ in 0..ATTEMPTS {
        wait_for_calm();
        match attempt() {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("wrong in every attempt: {failures:#?}");
}

/// Waits until the machine has little else to do; after a while, tries all the same.
fn wait_for_calm() {
    let deadline = Instant::now() + CALM_WITHIN;
    while Instant::now() < deadline {
        let (idle_before, all_before) = cpu_ticks();
        std::thread::sleep(LOOK);
        let (idle, all) = cpu_ticks();
        if idle - idle_before >= CALM_IDLE * (all - all_before) {
            return;
        }
    }
}

/// Idle and all ticks of all CPUs so far: the fourth, and the sum, of the figures of `/proc/stat`'s first line.
fn cpu_ticks() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let figures = stat.lines().next().unwrap().split_whitespace().skip(1);
    let ticks: Vec<f64> = figures.map(|figure| figure.parse().unwrap()).collect();
    (ticks[3], ticks.iter().sum())
}

/// `got` is `expected`, give or take `tolerance`, all in milliseconds.
pub(super) fn within(what: &str, got: f64, expected: f64, tolerance: f64) -> Verdict {
    let off = (got - expected).abs();
    match off <= tolerance {
        true => Ok(()),
        false => Err(format!("{what}: {got:.3} ms, not {expected:.3} ms +/- {tolerance:.3} ms")),
    }
}

/// `got` is at most `most`, in milliseconds.
pub(super) fn at_most(what: &str, got: f64, most: f64) -> Verdict {
    match got <= most {
        true => Ok(()),
        false => Err(format!("{what}: {got:.3} ms, more than {most:.3} ms")),
    }
}
