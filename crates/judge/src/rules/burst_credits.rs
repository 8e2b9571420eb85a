//! Hosts and devices that are fast until their credits are used up.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run, about_step};
use crate::setup::Setup;
use crate::steadiness::{Measure, Unsteadiness, unsteadiness};
use plumb_model::document::RunDocument;
use plumb_model::facts::{HostFacts, Layer};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_stats::steady::Shape;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "burst-credits",
        summary: "The host or its device is fast only until its credits are used up.",
        page: include_str!("../../../../docs/findings/burst-credits.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Suspected,
        because: "a level that falls after minutes of load looks like this, and so does a cache that has filled",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "run the same load again after hours of rest",
            setting: None,
            observe: "the rate of the first minutes",
            expect: Expect::Rises,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Instances of Amazon EC2 with no more virtual processors have "up to" a bandwidth, by credits (AWS, "Amazon EC2 instance network
/// bandwidth": 16 vCPUs or fewer).
const NETWORK_CREDITS_CPUS: u32 = 16;
/// Families of Amazon EC2 whose processors run on credits (AWS, "Burstable performance instances": T2, T3, T3a, T4g).
const CPU_CREDITS: [&str; 4] = ["t2", "t3", "t3a", "t4g"];
/// The model name of an EBS volume.
const EBS: &str = "Amazon Elastic Block Store";

fn check(case: &Case) -> Vec<Finding> {
    let credits = credits(case.document);
    if credits.is_empty() {
        return Vec::new();
    }
    let seed = case.document.plan.seed;
    let fell: Vec<Finding> =
        case.setups().filter_map(|setup| used_up(&setup, &unsteadiness(&setup, seed)?, &credits)).collect();
    if !fell.is_empty() {
        return fell;
    }
    // Processors on credits change every figure; bandwidth only what comes near it, so it is no news by itself.
    let mut processors = credits.into_iter().filter(|credit| credit.of == CreditOf::Processors).peekable();
    if processors.peek().is_none() {
        return Vec::new();
    }
    let claim = "The processors of this host run on credits: what a short run shows may not last";
    vec![with(about_run(RULE.row.id, Severity::Note, claim), processors)]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CreditOf {
    Processors,
    Network,
    Volume,
}

/// Something that has credits, and the fact that says so.
#[derive(Debug, Clone)]
struct Credit {
    of: CreditOf,
    fact: String,
}

/// A level that fell within a block, on a host or device with credits.
fn used_up(setup: &Setup, found: &Unsteadiness, credits: &[Credit]) -> Option<Finding> {
    let worse = match found.measure {
        Measure::Rate => found.ratio() < 1.0,
        Measure::Latency => found.ratio() > 1.0,
    };
    let falls = worse && !matches!(found.change.shape, Shape::Swings { .. });
    let claim = "It became slower within the measured part, on a host or device that has credits to burst with: they may have been used up";
    let [before, after] = [found.change.before, found.change.after].map(|level| found.measure.figure(level));
    falls.then(|| {
        let finding = about_step(RULE.row.id, Severity::Suspect, setup.name(), claim).seen_against(
            "level after",
            after,
            format!("{before} before"),
        );
        with(finding, credits.iter().cloned())
    })
}

fn with(mut finding: Finding, credits: impl Iterator<Item = Credit>) -> Finding {
    for Credit { of, fact } in credits {
        let what = match of {
            CreditOf::Processors => "processor credits",
            CreditOf::Network => "network credits",
            CreditOf::Volume => "volume bandwidth by credits",
        };
        finding = finding.seen(what, fact);
    }
    finding
        .advise("Look at the balances (CPUCreditBalance, EBSByteBalance%, EBSIOBalance%, bw_out_allowance_exceeded of ethtool -S).")
        .advise("Use up the credits before the measured part (settle, warm_up), or take an instance and volume without them.")
}

/// The parts with credits of the generating host, and of the storage behind a lab's logs there.
fn credits(document: &RunDocument) -> Vec<Credit> {
    let Some(host) = &document.environment.host else { return Vec::new() };
    let Some(instance) = ec2_instance(host) else { return Vec::new() };
    let family = instance.split('.').next().unwrap_or_default();
    let mut credits = Vec::new();
    if CPU_CREDITS.contains(&family) {
        credits.push(Credit { of: CreditOf::Processors, fact: format!("{instance} of Amazon EC2") });
    }
    let cpus = host.logical_cpus.value().copied().filter(|cpus| *cpus <= NETWORK_CREDITS_CPUS);
    if let Some(cpus) = cpus.filter(|_| !instance.contains("metal")) {
        let fact = format!("{instance} of Amazon EC2, {cpus} processors");
        if document.environment.cluster.on_this_host != Some(true) {
            credits.push(Credit { of: CreditOf::Network, fact: fact.clone() });
        }
        if let Some(device) = ebs_device(document) {
            credits.push(Credit { of: CreditOf::Volume, fact: format!("{device}, an EBS volume at {fact}") });
        }
    }
    credits
}

/// The instance type, where the firmware says that it is one of Amazon EC2.
fn ec2_instance(host: &HostFacts) -> Option<&str> {
    host.machine.value()?.strip_prefix("Amazon EC2 ").filter(|instance| instance.contains('.'))
}

/// A device of an EBS volume behind a log directory of this host.
fn ebs_device(document: &RunDocument) -> Option<&str> {
    let layers = document.environment.log_directories.iter().flat_map(|directory| &directory.storage.layers);
    layers
        .filter_map(|layer| match &layer.layer {
            Layer::Device(device) => Some(device),
            _ => None,
        })
        .find(|device| device.model.as_deref().is_some_and(|model| model.contains(EBS)))
        .map(|device| device.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy, set_levels};
    use plumb_model::facts::Fact;

    fn on(document: &mut RunDocument, machine: &str, cpus: u32) {
        let host = document.environment.host.get_or_insert_default();
        host.machine = Fact::known(machine.to_owned(), "test");
        host.logical_cpus = Fact::known(cpus, "test");
    }

    fn slow_down(document: &mut RunDocument) {
        set_levels(document, |_, second, level| if second >= 12 { level * 2.0 } else { level });
    }

    #[test]
    fn a_step_down_on_an_instance_with_credits_names_them() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            on(document, "Amazon EC2 t3.large", 2);
            slow_down(document);
        });
        assert!(finding.evidence.iter().any(|seen| seen.what == "processor credits"), "{finding:#?}");
    }

    #[test]
    fn an_instance_with_processor_credits_is_noted_though_nothing_fell() {
        assert_found(RULE.row.id, Severity::Note, |document| on(document, "Amazon EC2 t4g.medium", 2));
    }

    #[test]
    fn a_step_down_over_a_network_with_credits_names_the_network_alone() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            on(document, "Amazon EC2 m5.2xlarge", 8);
            document.environment.cluster.on_this_host = Some(false);
            slow_down(document);
        });
        assert_eq!(finding.evidence[1].what, "network credits");
        assert_eq!(finding.evidence.len(), 2);
    }

    #[test]
    fn without_a_fact_that_speaks_of_credits_nothing_is_said() {
        for (machine, cpus) in [("Amazon EC2 m5.24xlarge", 96), ("Dell Inc. PowerEdge R650", 8)] {
            let mut document = healthy();
            on(&mut document, machine, cpus);
            slow_down(&mut document);
            assert_eq!(found(&document, RULE.row.id), [], "{machine}");
        }
        let mut document = healthy();
        slow_down(&mut document);
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
