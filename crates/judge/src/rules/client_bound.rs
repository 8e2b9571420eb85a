//! Whether the instrument, not the path, made the figure: slip, CPU, waiting for a CPU, its own ceiling.

use crate::figure::{messages_per_s, percent, time};
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::{GeneratorCeiling, RunDocument};
use plumb_model::finding::{Finding, Severity};
use plumb_model::observation::ThreadCpu;

pub(super) const RULE: Rule = Rule {
    id: "client-bound",
    title: "Client-bound",
    summary: "The load generator's own delay or CPU is a large part of what was measured.",
    page: include_str!("../../../../docs/findings/client-bound.md"),
    severity: Severity::Invalid,
    about: About::Run,
    check,
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
        RULE.id,
        severity,
        setup.name(),
        "The load generator is a large part of what was measured: the path may be faster than these figures",
    );
    if let Some(share) = slip_share.filter(|share| *share > SLIP_SHARE_MAX) {
        finding = finding.seen_against(
            format!("mean slip, of the mean {} latency", setup.headline_name()),
            percent(share),
            format!("at most {}", percent(SLIP_SHARE_MAX)),
        );
    }
    if let Some((slip, latency)) = slipping_tail(setup) {
        finding = finding.seen_against(
            "slip p99",
            time(slip),
            format!("at most {} of the latency's p99 of {}", percent(SLIP_TAIL_SHARE_MAX), time(latency)),
        );
    }
    for thread in setup.result.instrument.threads.iter().filter(|thread| thread.share >= CPU_SHARE_MAX) {
        finding = finding.seen_against(
            format!("CPU of thread {}", thread.thread),
            percent(thread.share),
            format!("below {} of one CPU", percent(CPU_SHARE_MAX)),
        );
    }
    if let Some((thread, share)) =
        longest_wait_for_cpu(setup).filter(|(_, share)| *share > RUN_DELAY_SHARE_MAX)
    {
        finding = finding.seen_against(
            format!("time per message that thread {} waited for a CPU, of the mean latency", thread.thread),
            percent(share),
            format!("at most {}", percent(RUN_DELAY_SHARE_MAX)),
        );
    }
    if let Some((share, ceiling)) =
        ceiling_share(setup, document).filter(|(share, _)| *share > CEILING_SHARE_MAX)
    {
        finding = finding.seen_against(
            format!("rate, of the {} that this generator reached against a sink", messages_per_s(ceiling)),
            percent(share),
            format!("at most {}", percent(CEILING_SHARE_MAX)),
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
    setup.load().is_some_and(|load| load.in_flight.is_some()) || setup.result.instrument.queue_full_waits > 0
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
        assert_found(RULE.id, Severity::Suspect, |document| document.steps[0].slip.mean_ns = Some(150_000.0));
        assert_found(RULE.id, Severity::Invalid, |document| document.steps[0].slip.mean_ns = Some(500_000.0));
    }

    #[test]
    fn a_slip_that_shapes_the_tail_is_found() {
        assert_found(RULE.id, Severity::Suspect, |document| document.steps[0].slip.p99_ns = Some(600_000));
    }

    #[test]
    fn a_thread_near_one_whole_cpu_is_found() {
        let finding = assert_found(RULE.id, Severity::Suspect, |document| {
            document.steps[0].instrument.threads[0].share = 0.86;
        });
        assert_eq!(finding.evidence[0].what, "CPU of thread producer-0");
    }

    #[test]
    fn a_thread_that_waits_long_for_a_cpu_is_found() {
        assert_found(RULE.id, Severity::Suspect, |document| {
            // 10,000 messages: 200 us each, of 660 us latency.
            document.steps[0].instrument.threads[0].run_delay_s = Some(2.0);
        });
    }

    #[test]
    fn a_producer_that_was_told_to_wait_slips_because_of_the_path() {
        let mut document = healthy();
        document.steps[0].slip.mean_ns = Some(500_000.0);
        document.plan.steps[0].load.in_flight = Some(1);
        assert_eq!(found(&document, RULE.id), []);
    }
}
