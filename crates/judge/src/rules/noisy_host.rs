//! Processors that were given to other guests, or wanted by more threads than they could serve, while messages were measured.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::BlockResult;
use plumb_model::facts::CpuTime;
use plumb_model::figure::{per_s, percent, percents};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::search::{SearchResult, Try};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "noisy-host",
        summary: "Threads of this host waited for its processors, or other guests were given them.",
        page: include_str!("../../../../docs/findings/noisy-host.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the kernel counts the time that threads wait, and the time that other guests took",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "run on a host without other work and with processors to spare",
            setting: None,
            observe: "time with threads waiting for a processor",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Share of the processors' time that may be stolen (ours: a few percent are usual in clouds).
const STEAL_SHARE_MAX: f64 = 0.10;

/// Share of the time in which some runnable thread of the host had to wait for a processor (pressure stall information,
/// `cpu some`); ours: a path at a modest rate on two quiet processors stays below a tenth.
const PRESSURE_SHARE_MAX: f64 = 0.40;

/// Share of the processors' time that other programs may use while the load itself may fill them (ours: the kernel's
/// own work for the run is among it).
pub(super) const OTHERS_SHARE_MAX: f64 = 0.20;

/// Share of the processors in use below which threads that wait are held back by something else (ours).
const IDLE_BELOW: f64 = 0.60;

const STOP_OTHERS: &str =
    "Stop other work on this host, or move the brokers or the generator to another one, and run again.";

fn check(case: &Case) -> Vec<Finding> {
    let findings = case.setups().flat_map(|setup| {
        // As fast as possible, or to show a queue, generator and brokers make each other wait: that is the load, not noise.
        let loads_the_host = setup.saturates() || setup.shows_queue();
        let work = if loads_the_host { others(&setup) } else { pressure(&setup) };
        [theft(&setup), work]
    });
    let mut findings: Vec<Finding> = findings.flatten().collect();
    let searched = case.document.steps.iter().filter_map(|step| of_search(&step.name, step.search.as_ref()?));
    // Of a search that found a rate, that rate's own blocks may have told it already.
    let searched: Vec<Finding> =
        searched.filter(|new| findings.iter().all(|told| told.step != new.step)).collect();
    findings.extend(searched);
    findings
}

/// The tried rate of a search in which the host was busiest with other work, where that is too much.
fn of_search(step: &str, search: &SearchResult) -> Option<Finding> {
    let worst = |share: fn(&Try) -> Option<f64>, most: f64| {
        let shares = search.tries.iter().enumerate().filter_map(|(at, tried)| Some((at, share(tried)?)));
        shares.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share >= most)
    };
    let of = |at: usize| {
        format!(
            "tried rate {} of {} of the search, at {}",
            at + 1,
            search.tries.len(),
            per_s(search.tries[at].rate_per_s)
        )
    };
    let waits = worst(|tried| tried.processor_wait_share, PRESSURE_SHARE_MAX).map(|(at, share)| {
        let claim = format!(
            "Threads of this host waited for a processor in {} of the time of {}",
            percent(share),
            of(at)
        );
        (claim, "time with threads waiting for a processor", percents(share, PRESSURE_SHARE_MAX))
    });
    let (claim, what, [seen, limit]) = waits.or_else(|| {
        let (at, share) = worst(|tried| tried.steal_share, STEAL_SHARE_MAX)?;
        let claim = format!(
            "The hypervisor took {} of the processors' time from this host in {}",
            percent(share),
            of(at)
        );
        Some((claim, "stolen processor time", percents(share, STEAL_SHARE_MAX)))
    })?;
    Some(
        about_step(RULE.row.id, Severity::Suspect, step, claim)
            .seen_against(what, seen, format!("below {limit}"))
            .advise(STOP_OTHERS),
    )
}

fn others(setup: &Setup) -> Option<Finding> {
    let share = share_of_others(setup).filter(|share| *share >= OTHERS_SHARE_MAX)?;
    let [seen, limit] = percents(share, OTHERS_SHARE_MAX);
    let claim = format!(
        "Other programs than the generator and the brokers used {} of this host's processors",
        percent(share)
    );
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against("processor time of others", seen, format!("below {limit}"))
            .advise(STOP_OTHERS),
    )
}

/// Share of the processors' time that neither the generator nor the brokers used, where all three are known.
fn share_of_others(setup: &Setup) -> Option<f64> {
    let instrument = &setup.result.instrument;
    let ours_s = instrument.cpu_s? + instrument.broker_cpu_s?;
    let hosts = || setup.result.blocks.iter().map(|block| block.host.as_ref());
    let sum = |time: fn(&CpuTime) -> Option<u64>| -> Option<f64> {
        hosts().map(|host| Some(time(&host?.cpu)? as f64 / 1e9)).sum()
    };
    let (busy_s, total_s) = (sum(|cpu| cpu.busy_ns)?, sum(|cpu| cpu.total_ns).filter(|total| *total > 0.0)?);
    Some(((busy_s - ours_s) / total_s).max(0.0))
}

/// The time for which threads waited for a processor in a block, as a share of the block's time.
pub(super) struct Waits {
    pub(super) block: u32,
    pub(super) share: f64,
}

/// The blocks among those asked about in which threads waited too long for a processor, the longest wait last.
pub(super) fn waits(setup: &Setup, asked: impl Fn(&BlockResult) -> bool) -> Vec<Waits> {
    let blocks = setup.result.blocks.iter().filter(|block| asked(block));
    let waits = blocks.filter_map(|block| {
        let host = block.host.as_ref().filter(|host| host.elapsed_ns > 0)?;
        let share = host.pressure.cpu_some_ns? as f64 / host.elapsed_ns as f64;
        Some(Waits { block: block.block, share })
    });
    let mut waits: Vec<Waits> = waits.filter(|waits| waits.share >= PRESSURE_SHARE_MAX).collect();
    waits.sort_by(|a, b| a.share.total_cmp(&b.share));
    waits
}

fn pressure(setup: &Setup) -> Option<Finding> {
    let waits = waits(setup, |_| true);
    let (least, longest) = (waits.first()?, waits.last()?);
    let share = longest.share;
    let [seen, limit] = percents(share, PRESSURE_SHARE_MAX);
    let (low, high) = (percent(least.share), percent(share));
    let claim = match waits.len() {
        1 => format!(
            "Threads of this host waited for a processor in {high} of the time of {}",
            setup.block_words(longest.block)
        ),
        _ if low == high => {
            format!(
                "Threads of this host waited for a processor in {high} of the time of {} blocks",
                waits.len()
            )
        }
        blocks => format!(
            "Threads of this host waited for a processor in {low} to {high} of the time of {blocks} blocks, most in {}",
            setup.block_words(longest.block)
        ),
    };
    let others = share_of_others(setup);
    let busy = setup.result.blocks.iter().find(|block| block.block == longest.block);
    let busy = busy.and_then(|block| block.host.as_ref()?.cpu.busy_share());
    let mut finding = about_step(RULE.row.id, Severity::Suspect, setup.name(), claim).seen_against(
        "time with threads waiting for a processor",
        seen,
        format!("below {limit}"),
    );
    if let Some(busy) = busy {
        finding = finding.seen("processors in use", percent(busy));
    }
    if let Some(others) = others {
        finding =
            finding.seen("of all processors, used by neither the generator nor the brokers", percent(others));
    }
    Some(finding.advise(who_waits(busy, others)))
}

/// The next step where threads waited for a processor, by who used the processors.
fn who_waits(busy: Option<f64>, others: Option<f64>) -> &'static str {
    match (busy, others) {
        (_, Some(others)) if others >= OTHERS_SHARE_MAX => STOP_OTHERS,
        (Some(busy), _) if busy < IDLE_BELOW => {
            "Processors were idle while threads waited: look for a processor quota of a control group (cpu.max, cpu.cfs_quota_us) of the brokers or the generator."
        }
        (Some(_), Some(_)) => {
            "The generator and the brokers themselves fill this host: move one of them to another host, or ask for less."
        }
        _ => STOP_OTHERS,
    }
}

fn theft(setup: &Setup) -> Option<Finding> {
    let blocks = setup.result.blocks.iter();
    let stolen = blocks.filter_map(|block| Some((block.block, block.host.as_ref()?.cpu.steal_share()?)));
    let (block, share) = stolen.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if share < STEAL_SHARE_MAX {
        return None;
    }
    let [seen, limit] = percents(share, STEAL_SHARE_MAX);
    let claim = format!(
        "The hypervisor took {} of the processors' time from this host in {}",
        percent(share),
        setup.block_words(block)
    );
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against("stolen processor time", seen, format!("below {limit}"))
            .advise("Run again at another time, or on a machine whose processors are its own."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::searched::{search, searched, tried};
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::facts::{HostDelta, Pressure};
    use plumb_model::plan::Purpose;
    use plumb_model::search::{SearchBound, TryOutcome};

    #[test]
    fn a_block_in_which_threads_waited_for_a_processor_half_of_the_time_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let pressure = Pressure { cpu_some_ns: Some(5_000), ..Pressure::default() };
            let host = HostDelta { elapsed_ns: 10_000, pressure, ..HostDelta::default() };
            document.steps[0].blocks[1].host = Some(host);
        });
        assert!(finding.claim.contains("50 %") && finding.claim.contains("block 2 of"), "{}", finding.claim);
    }

    #[test]
    fn who_used_the_processors_says_what_to_do_where_threads_waited_for_one() {
        let advice = |busy_ns: u64, brokers_s: f64| {
            let mut document = healthy();
            for block in &mut document.steps[0].blocks {
                let pressure = Pressure { cpu_some_ns: Some(8_000_000_000), ..Pressure::default() };
                let (busy_ns, total_ns) = (Some(busy_ns), Some(20_000_000_000));
                let cpu = CpuTime { busy_ns, total_ns, ..CpuTime::default() };
                block.host =
                    Some(HostDelta { elapsed_ns: 10_000_000_000, pressure, cpu, ..HostDelta::default() });
            }
            let blocks = document.steps[0].blocks.len() as f64;
            let instrument = &mut document.steps[0].instrument;
            (instrument.cpu_s, instrument.broker_cpu_s) = (Some(1.0 * blocks), Some(brokers_s * blocks));
            found(&document, RULE.row.id)[0].advice[0].clone()
        };
        assert!(advice(19_000_000_000, 17.0).contains("themselves fill this host"));
        assert!(advice(19_000_000_000, 10.0).contains("Stop other work"));
        assert!(advice(4_000_000_000, 3.0).contains("quota"));
    }

    #[test]
    fn threads_that_wait_under_a_load_that_is_to_show_a_queue_are_no_noise_and_others_work_is() {
        let mut document = healthy();
        document.plan.steps[0].load.purpose = Purpose::Queue;
        let pressure = Pressure { cpu_some_ns: Some(8_000_000_000), ..Pressure::default() };
        let cpu = CpuTime {
            busy_ns: Some(9_000_000_000),
            total_ns: Some(10_000_000_000),
            steal_ns: Some(0),
            ..CpuTime::default()
        };
        for block in &mut document.steps[0].blocks {
            block.host = Some(HostDelta {
                elapsed_ns: 10_000_000_000,
                pressure: pressure.clone(),
                cpu: cpu.clone(),
                ..HostDelta::default()
            });
        }
        let blocks = document.steps[0].blocks.len() as f64;
        let instrument = &mut document.steps[0].instrument;
        (instrument.cpu_s, instrument.broker_cpu_s) = (Some(2.0 * blocks), Some(6.0 * blocks));
        assert_eq!(found(&document, RULE.row.id), []);
        document.steps[0].instrument.broker_cpu_s = Some(2.0 * blocks);
        let claim = &found(&document, RULE.row.id)[0].claim;
        assert!(claim.starts_with("Other programs") && claim.contains("50 %"), "{claim}");
    }

    #[test]
    fn a_block_in_which_a_fifth_of_the_time_was_stolen_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let cpu = CpuTime { steal_ns: Some(2_000), total_ns: Some(10_000), ..CpuTime::default() };
            document.steps[0].blocks[3].host = Some(HostDelta { cpu, ..HostDelta::default() });
        });
        assert!(finding.claim.contains("20 %") && finding.claim.contains("block 4 of"), "{}", finding.claim);
    }

    #[test]
    fn a_tried_rate_of_a_search_in_which_threads_waited_for_a_processor_is_found_and_a_quiet_one_is_not() {
        let of = |share: f64| {
            let mut tries = vec![tried(220.0, TryOutcome::Fails), tried(231.0, TryOutcome::Fails)];
            tries[1].processor_wait_share = Some(share);
            found(&searched(search(None, SearchBound::NothingHolds, tries)), RULE.row.id)
        };
        let claim = &of(0.97)[0].claim;
        assert!(
            claim.contains("97 %") && claim.contains("tried rate 2 of 2 of the search, at 231/s"),
            "{claim}"
        );
        assert_eq!(of(0.2), []);
    }
}
