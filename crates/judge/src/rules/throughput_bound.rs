//! The resource at its limit while messages went as fast as possible.

use super::noisy_host::OTHERS_SHARE_MAX;
use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::RunDocument;
use plumb_model::facts::{DiskDelta, HostDelta};
use plumb_model::figure::{bytes_per_s, percent, significant};
use plumb_model::finding::{Confidence, Expect, Finding, Severity};
use plumb_model::plan::ClusterPlan;
use plumb_model::prose::list;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "throughput-bound",
        summary: "A resource was at its limit while messages went as fast as possible.",
        page: include_str!("../../../../docs/findings/throughput-bound.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "a resource was measured at its limit; that more of it raises the rate is not tried",
        stage: None,
        flip: Some(FlipRow {
            change: "give more of the resource that the finding names",
            setting: None,
            observe: "throughput.produced_per_s",
            expect: Expect::Rises,
        }),
    },
    about: About::System,
    check: Check::Run(check),
};

/// From this share on a processor, a thread or a disk counts as at its limit (ours; customary are 80 to 90 %).
const SHARE_MIN: f64 = 0.85;

fn check(case: &Case) -> Vec<Finding> {
    let setups = case.setups().filter(|setup| setup.saturates() && !case.is_outrun(setup.name()));
    setups.filter_map(|setup| finding(&setup, case.document)).collect()
}

/// A resource of which the run knows how full it was.
struct Limit {
    /// At the end of "bounded by ...".
    name: String,
    share: f64,
    evidence: (String, String),
}

fn finding(setup: &Setup, document: &RunDocument) -> Option<Finding> {
    let known = [generator(setup), processors(setup, document), disk(setup)];
    let limits: Vec<Limit> = known.into_iter().flatten().collect();
    let full: Vec<&Limit> = limits.iter().filter(|limit| limit.share >= SHARE_MIN).collect();
    if full.is_empty() {
        return None;
    }
    let names: Vec<String> = full.iter().map(|limit| limit.name.clone()).collect();
    let claim = format!("The rate is bounded by {}", list(&names));
    let mut finding = about_step(RULE.row.id, Severity::Note, setup.name(), claim);
    for Limit { evidence: (what, value), .. } in &limits {
        finding =
            finding.seen_against(what.as_str(), value.as_str(), format!("below {}", percent(SHARE_MIN)));
    }
    Some(finding.advise("Give more of it, or use less of it for each message, and run again: if the rate rises, it was the bound."))
}

/// The generator's busiest thread.
fn generator(setup: &Setup) -> Option<Limit> {
    let threads = setup.result.instrument.threads.iter();
    let busiest = threads.max_by(|a, b| a.share.total_cmp(&b.share))?;
    Some(Limit {
        name: format!(
            "the load generator (thread {} used {} of a CPU)",
            busiest.thread,
            percent(busiest.share)
        ),
        share: busiest.share,
        evidence: (format!("CPU of the generator's thread {}", busiest.thread), percent(busiest.share)),
    })
}

/// All processors of the generating host, with who used them where that is known.
fn processors(setup: &Setup, document: &RunDocument) -> Option<Limit> {
    let share = mean(setup, |host| Some(host.cpu.busy_share()? + host.cpu.steal_share().unwrap_or(0.0)))?;
    let lab = matches!(document.plan.cluster, ClusterPlan::Lab { .. });
    let shared = document.environment.cluster.on_this_host.unwrap_or(lab);
    let instrument = &setup.result.instrument;
    // Of the measured part, as many CPUs as each kept busy on average.
    let busy = mean(setup, |host| Some(host.cpu.busy_ns? as f64 / host.elapsed_ns as f64));
    let users = match (instrument.broker_cpu_s, instrument.cpu_s, setup.measured_s(), busy) {
        (Some(brokers), Some(generator), Some(time), Some(busy)) => {
            let (brokers, generator) = (brokers / time, generator / time);
            format!(
                "; on average the brokers used {} CPUs, the generator {}, other programs and the kernel {}",
                significant(brokers, 3),
                significant(generator, 3),
                significant((busy - brokers - generator).max(0.0), 3)
            )
        }
        _ => String::new(),
    };
    let whose = if shared { "brokers and generator share" } else { "the generator has to itself" };
    Some(Limit {
        name: format!("the processors of this host, which {whose} ({} busy{users})", percent(share)),
        share,
        evidence: ("processors of this host, busy".to_owned(), percent(share)),
    })
    .map(|limit| without_others(limit, setup))
}

/// Processors that are full because other programs use them are at their limit, and are not the path's: what is left counts.
fn without_others(limit: Limit, setup: &Setup) -> Limit {
    let instrument = &setup.result.instrument;
    let others = (|| {
        let ours = (instrument.cpu_s? + instrument.broker_cpu_s?) / setup.measured_s()?;
        let cpus = mean(setup, |host| Some(host.cpu.total_ns? as f64 / host.elapsed_ns as f64))?;
        let busy = mean(setup, |host| Some(host.cpu.busy_ns? as f64 / host.elapsed_ns as f64))?;
        Some((busy - ours) / cpus).filter(|share| share.is_finite())
    })();
    match others {
        // Processors of which other programs used so much are not what bounds the path.
        Some(others) if others >= OTHERS_SHARE_MAX => Limit {
            share: limit.share - others,
            evidence: (
                limit.evidence.0,
                format!("{}, {} by other programs", limit.evidence.1, percent(others)),
            ),
            ..limit
        },
        _ => limit,
    }
}

/// The disk that wrote or read most, where it was under way.
fn disk(setup: &Setup) -> Option<Limit> {
    let moved =
        |disk: &DiskDelta| disk.written_bytes.unwrap_or(0).saturating_add(disk.read_bytes.unwrap_or(0));
    let hosts = || setup.result.blocks.iter().filter_map(|block| block.host.as_ref());
    let name = hosts().flat_map(|host| &host.disks).max_by_key(|disk| moved(disk))?.name.clone();
    let of = |host: &HostDelta| host.disks.iter().find(|disk| disk.name == name).cloned();
    let busy = mean(setup, |host| Some(of(host)?.busy_ns? as f64 / host.elapsed_ns as f64))?;
    let rate = mean(setup, |host| Some(moved(&of(host)?) as f64 * 1e9 / host.elapsed_ns as f64))?;
    Some(Limit {
        name: format!(
            "the disk {name} (under way {} of the time, {})",
            percent(busy.min(1.0)),
            bytes_per_s(rate)
        ),
        share: busy,
        evidence: (format!("time in which disk {name} had requests under way"), percent(busy.min(1.0))),
    })
}

/// Mean over the blocks that tell it.
fn mean(setup: &Setup, of: impl Fn(&HostDelta) -> Option<f64>) -> Option<f64> {
    let hosts = setup.result.blocks.iter().filter_map(|block| block.host.as_ref());
    let known: Vec<f64> =
        hosts.filter(|host| host.elapsed_ns > 0).filter_map(of).filter(|value| value.is_finite()).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
