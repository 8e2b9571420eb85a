//! Figures that the instrument made and not the path: slip, CPU, waiting for a CPU, its own ceiling.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::{GeneratorCeiling, RunDocument};
use plumb_model::figure::{messages_per_s, percent, percents, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::observation::ThreadCpu;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "client-bound",
        summary: "The load generator's own delay or CPU is a large part of what was measured.",
        page: include_str!("../../../../docs/findings/client-bound.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Supported,
        because: "the generator's own lateness and processor time are measured, what the path would do without them is not",
        stage: Some(PathStage::Instrument),
        flip: Some(FlipRow {
            change: "send the same load from more machines, or with the wire driver",
            setting: None,
            observe: "end_to_end.mean",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Share of the mean latency that the schedule's mean slip may be (ours: it is the same in every setup, so it hides
/// differences little and shifts levels by no more than this).
const SLIP_SHARE_MAX: f64 = 0.20;

/// From this share on, the figure is that of the generator (ours).
const SLIP_SHARE_INVALID: f64 = 0.50;

/// A slip p99 beyond this share of the latency's p99 makes most of the tail (ours).
const SLIP_TAIL_SHARE_MAX: f64 = 0.50;

/// A thread that uses this share of a CPU is about to be the limit (from the literature on benchmarks that mislead).
const CPU_SHARE_MAX: f64 = 0.85;

/// Share of the mean latency that a thread may wait for a CPU, per message (ours).
const RUN_DELAY_SHARE_MAX: f64 = 0.25;

/// A program that uses this share of the host's processors, and more than [`BROKERS_CPU_FACTOR`] times what the brokers use for the
/// same messages, is busy with itself (ours: a client that waits for its next message uses a few percent, and writing a message
/// costs a broker at least about as much as sending it costs the client).
const PROGRAM_CPU_SHARE_MAX: f64 = 0.25;

/// See [`PROGRAM_CPU_SHARE_MAX`].
const BROKERS_CPU_FACTOR: f64 = 2.0;

/// Share of the host's processors where nobody knows what the brokers use (ours).
const PROGRAM_CPU_SHARE_ALONE_MAX: f64 = 0.50;

/// A slip larger than this share of the largest latency made it, or most of it (as for the p99).
const SLIP_MAX_SHARE_MAX: f64 = SLIP_TAIL_SHARE_MAX;

/// Slips up to this are what a shared processor does to any program now and then (ours: a few time slices of Linux's scheduler);
/// a larger one is a stall of the program.
const STALL_NS_MIN: u64 = 10_000_000;

/// A ceiling that was measured with values of another size by more than this says nothing (ours).
const SIZE_SHARE: f64 = 0.05;

/// A rate within this share of what the generator does against a sink may be the generator's (ours: the ceiling itself
/// strays by some percent from day to day, and a broker that answers later than a sink costs the client more).
const CEILING_SHARE_MAX: f64 = 0.80;

fn check(case: &Case) -> Vec<Finding> {
    // That few clients are the limit of few clients is what a line over clients shows.
    let setups = case.setups().filter(|setup| !case.is_outrun(setup.name()));
    setups.filter_map(|setup| client_bound(&setup, case.document)).collect()
}

fn client_bound(setup: &Setup, document: &RunDocument) -> Option<Finding> {
    let slip_share = slip_share(setup);
    let severity = if slip_share.is_some_and(|share| share >= SLIP_SHARE_INVALID) {
        Severity::Invalid
    } else {
        Severity::Suspect
    };
    let mut finding = about_step(
        RULE.row.id,
        severity,
        setup.name(),
        "The load generator is a large part of what was measured: the path may be faster than these figures",
    );
    if let Some(share) = slip_share.filter(|share| *share > SLIP_SHARE_MAX) {
        let [seen, limit] = percents(share, SLIP_SHARE_MAX);
        finding = finding.seen_against(
            format!("mean slip, of the mean {} latency", setup.headline_name()),
            seen,
            format!("at most {limit}"),
        );
    }
    if let Some((slip, latency)) = slipping_tail(setup) {
        finding = finding.seen_against(
            "slip p99",
            time(slip),
            format!("at most {} of the latency's p99 of {}", percent(SLIP_TAIL_SHARE_MAX), time(latency)),
        );
    }
    for stall in stalls(setup) {
        finding = finding.seen_against(
            format!("{} of the slip", stall.of),
            time(stall.slip_ns),
            format!(
                "at most {} of the latency's {} of {}",
                percent(SLIP_MAX_SHARE_MAX),
                stall.of,
                time(stall.latency_ns)
            ),
        );
    }
    if let Some(BusyProgram { cpu_s, share, brokers_s }) = busy_program(setup) {
        let brokers = brokers_s.map_or_else(
            || format!("below {}", percent(PROGRAM_CPU_SHARE_ALONE_MAX)),
            |brokers_s| {
                format!(
                    "below {}, or {} as the brokers",
                    percent(PROGRAM_CPU_SHARE_MAX),
                    time(brokers_s * 1e9)
                )
            },
        );
        finding = finding.seen_against(
            "CPU time of the whole generator, of this host's processors",
            format!("{}, {}", time(cpu_s * 1e9), percent(share)),
            brokers,
        );
    }
    for thread in setup.result.instrument.threads.iter().filter(|thread| thread.share >= CPU_SHARE_MAX) {
        let [seen, limit] = percents(thread.share, CPU_SHARE_MAX);
        finding = finding.seen_against(
            format!("CPU of thread {}", thread.thread),
            seen,
            format!("below {limit} of one CPU"),
        );
    }
    if let Some((thread, share)) =
        longest_wait_for_cpu(setup).filter(|(_, share)| *share > RUN_DELAY_SHARE_MAX)
    {
        let [seen, limit] = percents(share, RUN_DELAY_SHARE_MAX);
        finding = finding.seen_against(
            format!("time per message that thread {} waited for a CPU, of the mean latency", thread.thread),
            seen,
            format!("at most {limit}"),
        );
    }
    if let Some((share, ceiling)) =
        ceiling_share(setup, document).filter(|(share, _)| *share > CEILING_SHARE_MAX)
    {
        let [seen, limit] = percents(share, CEILING_SHARE_MAX);
        finding = finding.seen_against(
            format!("rate, of the {} that this generator reached against a sink", messages_per_s(ceiling)),
            seen,
            format!("at most {limit}"),
        );
    }
    let finding = finding
        .advise("Run the generator on a machine or on CPUs of its own, or ask for a lower rate.")
        .advise("If more producers reach a higher rate, the client was the limit.");
    (!finding.evidence.is_empty()).then_some(finding)
}

/// Mean slip over mean latency. A producer that was told to wait slips because of the path: that is another rule's.
fn slip_share(setup: &Setup) -> Option<f64> {
    if waits_by_plan(setup) {
        return None;
    }
    let slip = setup.result.slip.mean_ns?;
    Some(slip / setup.mean_ns()?)
}

fn slipping_tail(setup: &Setup) -> Option<(f64, f64)> {
    let slip = setup.result.slip.p99_ns? as f64;
    let latency = setup.headline().p99_ns? as f64;
    (!waits_by_plan(setup) && slip > SLIP_TAIL_SHARE_MAX * latency).then_some((slip, latency))
}

/// A figure of the tail that is the generator's own delay.
struct Stall {
    /// The figure: `p99.9` or `maximum`.
    of: &'static str,
    slip_ns: f64,
    latency_ns: f64,
}

/// Quantiles beyond p99, and the maximum, of which more than half is the schedule's slip: a program that was stopped for a moment
/// sends late what was due meanwhile.
fn stalls(setup: &Setup) -> Vec<Stall> {
    if waits_by_plan(setup) {
        return Vec::new();
    }
    let (slip, latency) = (&setup.result.slip, setup.headline());
    let tails = [("p99.9", slip.p999_ns, latency.p999_ns), ("maximum", slip.max_ns, latency.max_ns)];
    let own = tails.into_iter().filter_map(|(of, slip, latency)| {
        let (slip, latency) = (slip.filter(|slip| *slip >= STALL_NS_MIN)? as f64, latency? as f64);
        (slip > SLIP_MAX_SHARE_MAX * latency).then_some(Stall { of, slip_ns: slip, latency_ns: latency })
    });
    own.collect()
}

/// A program that a load with a rate keeps busier than sending explains.
struct BusyProgram {
    /// Its CPU time.
    cpu_s: f64,
    /// The share that this is of the host's processors.
    share: f64,
    /// The CPU time of the brokers.
    brokers_s: Option<f64>,
}

fn busy_program(setup: &Setup) -> Option<BusyProgram> {
    // The processors of workers are not this host's: another rule looks at them.
    let has_workers = setup.result.blocks.iter().any(|block| !block.workers.is_empty());
    // What a client of the user's takes is its own.
    if setup.saturates() || has_workers || setup.programs().next().is_some() {
        return None;
    }
    let cpu_s = setup.result.instrument.cpu_s?;
    let blocks = setup.result.blocks.iter();
    let total_ns: u64 = blocks.map(|block| block.host.as_ref()?.cpu.total_ns).sum::<Option<u64>>()?;
    let share = cpu_s * 1e9 / total_ns as f64;
    let brokers_s = setup.result.instrument.broker_cpu_s;
    let busy = match brokers_s {
        Some(brokers_s) => share >= PROGRAM_CPU_SHARE_MAX && cpu_s > BROKERS_CPU_FACTOR * brokers_s,
        None => share >= PROGRAM_CPU_SHARE_ALONE_MAX,
    };
    (busy && share.is_finite()).then_some(BusyProgram { cpu_s, share, brokers_s })
}

/// The rate over what its producers' threads reach against a sink, each on a CPU of its own as far as there are CPUs.
fn ceiling_share(setup: &Setup, document: &RunDocument) -> Option<(f64, f64)> {
    if !setup.saturates() || setup.is_for_receiving() {
        return None;
    }
    let bytes = setup.result.value_bytes_mean;
    let same_size = |ceiling: &&GeneratorCeiling| {
        ceiling.driver == setup.driver() && (ceiling.value_bytes as f64 - bytes).abs() <= SIZE_SHARE * bytes
    };
    let ceiling = document.instrument.ceilings.iter().find(same_size)?;
    let cpus = document.environment.host.as_ref().and_then(|host| host.logical_cpus.value().copied());
    let threads = setup.load()?.producers.min(cpus.unwrap_or(u32::MAX));
    let most = ceiling.messages_per_s_per_core * f64::from(threads);
    (most > 0.0).then(|| Some((setup.rate_per_s()? / most, most)))?
}

/// Sends waited for answers of the path: by a limit of messages in flight, or because the client's queue was full.
fn waits_by_plan(setup: &Setup) -> bool {
    // What a program of its own is late is a result of the client under test.
    setup.has_program("producer")
        || setup.load().is_some_and(|load| load.in_flight.is_some())
        || setup.result.instrument.queue_full_waits > 0
}

/// The thread that waited longest for a CPU, with that time per message over the mean latency.
fn longest_wait_for_cpu<'a>(setup: &Setup<'a>) -> Option<(&'a ThreadCpu, f64)> {
    let latency_ns = setup.mean_ns()?;
    let per_message = |delay_s: f64| delay_s * 1e9 / setup.result.counts.sent.max(1) as f64;
    let waits = setup
        .result
        .instrument
        .threads
        .iter()
        .filter_map(|thread| Some((thread, per_message(thread.run_delay_s?) / latency_ns)));
    waits.max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn a_slip_that_is_a_large_part_of_the_latency_is_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].slip.mean_ns = Some(150_000.0)
        });
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].slip.mean_ns = Some(500_000.0)
        });
    }

    #[test]
    fn a_slip_that_shapes_the_tail_is_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].slip.p99_ns = Some(600_000)
        });
    }

    #[test]
    fn a_stall_of_the_program_that_makes_the_maximum_or_p99_9_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let step = &mut document.steps[0];
            step.slip.max_ns = Some(149_000_000);
            step.latency.end_to_end.max_ns = Some(150_000_000);
        });
        assert_eq!(finding.evidence[0].what, "maximum of the slip");
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let step = &mut document.steps[0];
            step.slip.p999_ns = Some(45_000_000);
            step.latency.end_to_end.p999_ns = Some(46_000_000);
        });
        assert_eq!(finding.evidence[0].what, "p99.9 of the slip");
    }

    #[test]
    fn a_stall_of_the_path_and_a_time_slice_of_the_program_are_not_its_own() {
        let mut document = healthy();
        let step = &mut document.steps[0];
        (step.slip.max_ns, step.latency.end_to_end.max_ns) = (Some(20_000_000), Some(150_000_000));
        assert_eq!(found(&document, RULE.row.id), []);
        let step = &mut document.steps[0];
        (step.slip.max_ns, step.latency.end_to_end.max_ns) = (Some(4_000_000), Some(5_000_000));
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_program_that_is_busy_with_itself_is_found_though_no_thread_is() {
        use plumb_model::facts::{CpuTime, HostDelta};
        let busy = |cpu_s: f64, brokers_s: Option<f64>| {
            move |document: &mut plumb_model::document::RunDocument| {
                let step = &mut document.steps[0];
                step.instrument.cpu_s = Some(cpu_s);
                step.instrument.broker_cpu_s = brokers_s;
                // Two processors for 20 s in each of five blocks.
                for block in &mut step.blocks {
                    let cpu = CpuTime { total_ns: Some(40_000_000_000), ..CpuTime::default() };
                    block.host = Some(HostDelta { elapsed_ns: 20_000_000_000, cpu, ..HostDelta::default() });
                }
            }
        };
        let finding = assert_found(RULE.row.id, Severity::Suspect, busy(90.0, Some(10.0)));
        assert!(finding.evidence[0].value.contains("45 %"), "{finding:#?}");
        assert_found(RULE.row.id, Severity::Suspect, busy(110.0, None));
        for (cpu_s, brokers_s) in [(90.0, Some(60.0)), (30.0, Some(5.0)), (90.0, None)] {
            let mut document = healthy();
            busy(cpu_s, brokers_s)(&mut document);
            assert_eq!(found(&document, RULE.row.id), [], "{cpu_s} {brokers_s:?}");
        }
    }

    #[test]
    fn a_thread_near_one_whole_cpu_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].instrument.threads[0].share = 0.86;
        });
        assert_eq!(finding.evidence[0].what, "CPU of thread producer-0");
    }

    #[test]
    fn a_thread_that_waits_long_for_a_cpu_is_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            // 10,000 messages: 200 us each, of 660 us latency.
            document.steps[0].instrument.threads[0].run_delay_s = Some(2.0);
        });
    }

    #[test]
    fn a_producer_that_was_told_to_wait_slips_because_of_the_path() {
        let mut document = healthy();
        document.steps[0].slip.mean_ns = Some(500_000.0);
        document.plan.steps[0].load.in_flight = Some(1);
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
