//! How far the clock of another host is from this one's: readings exchanged with a listener there, and what they bound.
//!
//! Here the exchanges; `clock_offset/fold.rs` makes the document of them, and the bounds themselves are `plumb_stats::clock_offset`'s.

mod fold;

use super::clock_account::clock_account;
use super::network::first_that_answers;
use super::{Probed, window::Window};
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
use fold::{Told, document};
use plumb_model::fault::{HasFault, UsageError};
use plumb_model::plan::Properties;
use plumb_model::probe::{ClockOffsetPlan, ClockOffsetProbe, ProbeKind};
use plumb_probe::network::{ClockExchanges, NetworkError};
use plumb_stats::clock_offset::{ClockModel, WallExchange};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Exchanges at once at the beginning and at the end: the quickest of so many is near the least that the way takes, as the processors of
/// both sides are awake, and it is the ends that hold a line. Ours.
const EXCHANGES_AT_AN_END: u32 = 50;
/// Where they take long they end after this part of the duration. Ours.
const END_SHARE: u32 = 4;
/// Exchanges a second between them. Ours: they load nothing.
const EXCHANGES_PER_S: u32 = 10;
/// The listener gives up on a peer that it has not heard of for a minute.
const SIGN_EVERY: Duration = Duration::from_secs(15);
/// Between two looks at whether the user wants it to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The settings of the probe.
#[derive(Debug, Clone)]
pub struct ClockOffsetSettings {
    /// Addresses of the listener, of which the first that answers is taken.
    pub peer: Vec<SocketAddr>,
    /// Time over which readings are exchanged.
    pub duration: Duration,
}

/// Probes how far the clocks differ.
///
/// # Errors
/// When nothing was exchanged; the error of a user who stopped it before is a stop.
pub fn probe(
    settings: &ClockOffsetSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Probed<ClockOffsetProbe>> {
    let context = RunContext::new(Properties::new(), stop, watcher);
    let Some((last, before)) = settings.peer.split_last() else {
        return Err(UsageError::new("the peer has no address", "give HOST or HOST:PORT").into());
    };
    let peer = first_that_answers(before, *last, stop)?;
    let mut clock = peer.clock()?;
    let told = Told { here: clock_account(), there: *clock.account() };
    let estimate_s = settings.duration.as_secs_f64();
    context.tell(&Event::ProbeBegins { what: "exchanging clock readings", estimate_s });
    let window = Window::open();
    let mut seen = Vec::new();
    let ended = exchange(&mut clock, settings.duration, stop, &mut seen);
    context.tell(&Event::Ends);
    let error = match ended {
        // There is nothing to show.
        Err(error) if seen.is_empty() => return Err(error.into()),
        // What was measured until then is there.
        Err(error) if error.is_stop() => None,
        ended => ended.err(),
    };
    let ended_by = error.as_ref().map(|error| error as _);
    let conditions = window.close_after(ProbeKind::ClockOffset, !context.is_stopped(), ended_by);
    let document = document(conditions, plan(settings), &peer.address().to_string(), &seen, &told);
    Ok(Probed {
        complete: document.conditions.complete,
        found: document.finds(),
        error: error.map(Into::into),
        document,
    })
}

fn plan(settings: &ClockOffsetSettings) -> ClockOffsetPlan {
    let model = ClockModel::default();
    ClockOffsetPlan {
        duration_ns: settings.duration.as_nanos() as u64,
        exchanges_at_an_end: EXCHANGES_AT_AN_END,
        exchanges_per_s: f64::from(EXCHANGES_PER_S),
        rate_max_ppm: model.rate_max_ppm,
        wander_max_ppm: model.wander_max_ppm,
        window_ns: model.window_ns as u64,
    }
}

/// Exchanges readings until the time is over, a stop, or an error; what was exchanged is in `seen`.
fn exchange(
    clock: &mut ClockExchanges,
    duration: Duration,
    stop: &AtomicBool,
    seen: &mut Vec<WallExchange>,
) -> Result<(), NetworkError> {
    let end = Instant::now() + duration;
    at_once(clock, duration / END_SHARE, seen)?;
    let mut due = Instant::now();
    let mut signed = due;
    while due < end && wait_until(due, stop) {
        seen.push(clock.exchange()?);
        let now = Instant::now();
        if now.duration_since(signed) >= SIGN_EVERY {
            clock.sign()?;
            signed = now;
        }
        // Those that were due while one was held up are left out: they would be as late as it was.
        due = (due + Duration::from_secs(1) / EXCHANGES_PER_S).max(now);
    }
    match stop.load(Relaxed) {
        true => Ok(()),
        false => at_once(clock, duration / END_SHARE, seen),
    }
}

/// One after the other, one at least.
fn at_once(
    clock: &mut ClockExchanges,
    time: Duration,
    seen: &mut Vec<WallExchange>,
) -> Result<(), NetworkError> {
    let end = Instant::now() + time;
    for _ in 0..EXCHANGES_AT_AN_END {
        seen.push(clock.exchange()?);
        if Instant::now() >= end {
            break;
        }
    }
    Ok(())
}

/// Sleeps until then; false at a stop.
fn wait_until(then: Instant, stop: &AtomicBool) -> bool {
    while !stop.load(Relaxed) {
        match then.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return true,
            left => std::thread::sleep(left.min(LOOK_EVERY)),
        }
    }
    false
}
