//! Clocks and timers of this host: their error and resolution, and the consequences for latencies.

use super::clock_account::claim;
use super::{LEVEL, Probed, distribution, window::Window};
use crate::context::RunContext;
use crate::watcher::{Event, Watcher};
use plumb_load::calibrate;
use plumb_model::plan::Properties;
use plumb_model::probe::{AcrossCpus, ClockProbe, ClockRead, PacingRow, ProbeKind, Smallest, TimerRow};
use plumb_observe::{HostRoot, clock_sources};
use plumb_probe::clock::{ClockCost, TimerCase, TimerTimes, across_cpus, kernel_sync, read_costs, wake_ups};
use plumb_stats::distribution::figures;
use plumb_stats::figure::figure;
use plumb_stats::interval::Spread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Periods of the timers: 10,000, 1,000 and 100 wake-ups a second, each with the kernel's slack and without.
const PERIODS_NS: [u64; 3] = [100_000, 1_000_000, 10_000_000];
/// Schedules on which Plumb's pacing is tried.
const RATES_PER_S: [f64; 3] = [100.0, 1_000.0, 10_000.0];
/// Costs of readings, hand-overs, calibration.
const AROUND_S: f64 = 1.0;
/// The clock that Plumb's latencies are read from.
const MONOTONIC: &str = "CLOCK_MONOTONIC";

/// Probes the clocks of this host, with each timer and each schedule watched for so long.
pub fn probe(each: Duration, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Probed<ClockProbe> {
    let parts = 2 * PERIODS_NS.len() + RATES_PER_S.len();
    let estimate_s = AROUND_S + parts as f64 * each.as_secs_f64();
    let context = RunContext::new(Properties::new(), stop, watcher);
    context.tell(&Event::ProbeBegins { what: "probing clocks and timers", estimate_s });
    let window = Window::open();
    let costs = read_costs(stop);
    let across = across_cpus(stop);
    context.phase("timer wake-ups");
    let cases: Vec<TimerCase> = PERIODS_NS
        .iter()
        .flat_map(|period_ns| [false, true].map(|sharp| TimerCase { period_ns: *period_ns, sharp }))
        .collect();
    let timers: Vec<TimerRow> = wake_ups(&cases, each, stop).into_iter().map(timer_row).collect();
    context.phase("pacing");
    let pacing = pacing(each.as_secs_f64(), stop);
    context.tell(&Event::Ends);
    let conditions = window.close(ProbeKind::Clock, !context.is_stopped());
    let clocks: Vec<ClockRead> = costs.iter().map(clock_read).collect();
    let kernel_sync = kernel_sync();
    let document = ClockProbe {
        smallest: smallest(
            &clocks,
            &pacing,
            claim(&conditions.host.clock_sync, &kernel_sync).map(|claim| claim.error_ns),
        ),
        available_sources: clock_sources(&HostRoot::default()),
        kernel_sync,
        clocks,
        across_cpus: across.map(|across| AcrossCpus {
            clock: MONOTONIC.to_owned(),
            pairs: across.pairs,
            handed_over: across.handed_over,
            backward: across.backward,
            backward_most_ns: across.backward_most_ns,
            agree_within_ns: across.agree_within_ns,
        }),
        timers,
        pacing,
        conditions,
    };
    // A clock that goes back is a finding, however short it was watched.
    Probed { complete: document.conditions.complete, found: document.went_back(), error: None, document }
}

fn clock_read(cost: &ClockCost) -> ClockRead {
    let read_ns = figure(&cost.read_ns, LEVEL);
    let system_call_ns = figure(&cost.system_call_ns, LEVEL);
    let vdso = read_ns.zip(system_call_ns).map(|(read, call)| read.median < call.median / 2.0);
    ClockRead {
        clock: cost.clock.name.to_owned(),
        read_ns,
        system_call_ns,
        vdso,
        stated_step_ns: cost.stated_step_ns,
        step_ns: cost.step_ns,
        backward: cost.backward,
    }
}

fn timer_row(times: TimerTimes) -> TimerRow {
    TimerRow {
        period_ns: times.case.period_ns,
        slack_ns: times.slack_ns,
        late: distribution(&[times.late_ns]),
        missed: times.missed,
    }
}

/// Plumb's own pacing, calibrated as before a run, on each schedule for so long.
fn pacing(each_s: f64, stop: &AtomicBool) -> Vec<PacingRow> {
    if stop.load(Relaxed) {
        return Vec::new();
    }
    let spin_ns = calibrate::calibrate().spin_ns;
    let spread = Spread { level: LEVEL, block_means_ns: &[], batches: &[] };
    let row = |rate_per_s: f64| {
        let sends = (rate_per_s * each_s).ceil() as u64;
        let paced = calibrate::pacing(rate_per_s, spin_ns, sends, || stop.load(Relaxed));
        PacingRow { rate_per_s, spin_ns: paced.spin_ns, late: figures(&paced.late, &spread) }
    };
    RATES_PER_S.map(row).into()
}

fn smallest(clocks: &[ClockRead], pacing: &[PacingRow], wall_clock_error_ns: Option<u64>) -> Smallest {
    let monotonic = clocks.iter().find(|clock| clock.clock == MONOTONIC);
    // The worst of the schedules: which of them a latency is going to be measured on is not known here.
    let worst = |quantile: fn(&PacingRow) -> Option<u64>| pacing.iter().filter_map(quantile).max();
    Smallest {
        resolution_ns: monotonic.and_then(|clock| Some(clock.read_ns?.median.max(clock.step_ns? as f64))),
        schedule_p50_ns: worst(|row| row.late.p50_ns),
        schedule_p99_ns: worst(|row| row.late.p99_ns),
        wall_clock_error_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::observation::Distribution;

    #[test]
    fn the_worst_of_the_schedules_speaks_for_the_instrument() {
        let row = |rate_per_s, p50_ns, p99_ns| PacingRow {
            rate_per_s,
            spin_ns: 0,
            late: Distribution { p50_ns: Some(p50_ns), p99_ns, ..Distribution::default() },
        };
        let rows = [row(100.0, 900, None), row(1_000.0, 100, Some(5_000)), row(10_000.0, 200, Some(7_000))];
        let smallest = smallest(&[], &rows, None);
        assert_eq!((smallest.schedule_p50_ns, smallest.schedule_p99_ns), (Some(900), Some(7_000)));
    }

    #[test]
    fn a_reading_dearer_than_the_clocks_step_is_the_resolution_and_the_other_way_round() {
        let clock = |cost_ns: f64, step_ns: u64| ClockRead {
            clock: MONOTONIC.to_owned(),
            read_ns: figure(&[cost_ns], LEVEL),
            system_call_ns: None,
            vdso: None,
            stated_step_ns: Some(1),
            step_ns: Some(step_ns),
            backward: 0,
        };
        let resolution = |clock| smallest(&[clock], &[], None).resolution_ns;
        assert_eq!(resolution(clock(25.0, 10)), Some(25.0));
        assert_eq!(resolution(clock(25.0, 1_000)), Some(1_000.0));
        assert_eq!(smallest(&[], &[], None), Smallest::default());
    }
}
