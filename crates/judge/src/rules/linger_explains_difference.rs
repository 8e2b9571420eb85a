//! Pairs of steps whose difference is the producer's linger time.

use crate::linger::Linger;
use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use crate::setup::Setup;
use plumb_model::figure::time;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::{list, quoted};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "linger-explains-difference",
        summary: "Two setups differ by what their clients wait for batches to fill.",
        page: include_str!("../../../../docs/findings/linger-explains-difference.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the difference of the means is that of the waits; no other cause is excluded",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "give both setups the same linger",
            setting: Some(SettingRow { path: "producer.linger.ms", value: "0" }),
            observe: "the difference of their means",
            expect: Expect::Gone,
        }),
    },
    about: About::System,
    check: Check::Run(check),
};

/// The difference of means and that of queue waits may disagree by this share of the larger (ours) ...
const SHARE_MAX: f64 = 0.25;

/// ... or by this much, which scheduling alone can make (ours).
const EXTRA_NS: f64 = 200_000.0;

fn check(case: &Case) -> Vec<Finding> {
    let setups: Vec<Setup> = case.setups().collect();
    setups.iter().filter_map(|slow| explanation(slow, &setups)).collect()
}

/// Explains a step that lingers by the explained step of equal load that is most like it.
fn explanation(slow: &Setup, setups: &[Setup]) -> Option<Finding> {
    let lingers = Linger::of(slow)?;
    let explained = setups.iter().filter(|other| other.same_offer(slow));
    let explained = explained.filter_map(|fast| Some((fast, Waits::of(slow, fast, &lingers)?)));
    let (fast, waits) = explained.min_by_key(|(fast, _)| fast.differences(slow).len())?;
    Some(finding(slow, fast, &waits, lingers.setting_ms))
}

/// Two means, and how much longer messages of the slower step waited in the client's queue.
struct Waits {
    slow_mean_ns: f64,
    fast_mean_ns: f64,
    queues_ns: f64,
    fast_ms: f64,
}

impl Waits {
    /// None when the queues do not explain the means.
    fn of(slow: &Setup, fast: &Setup, lingers: &Linger) -> Option<Waits> {
        let fast_ms = fast.linger_ms().filter(|ms| *ms < lingers.setting_ms)?;
        let queues_ns = lingers.queue_mean_ns - fast.result.producer_statistics.queue_mean_ns?;
        let waits =
            Waits { slow_mean_ns: slow.mean_ns()?, fast_mean_ns: fast.mean_ns()?, queues_ns, fast_ms };
        let apart_ns = (waits.means_ns() - queues_ns).abs();
        let agree = apart_ns <= EXTRA_NS || apart_ns <= SHARE_MAX * waits.means_ns().max(queues_ns);
        // A difference as small as the tolerance would "agree" with anything.
        let matter = waits.means_ns().min(queues_ns) > 2.0 * EXTRA_NS;
        (agree && matter).then_some(waits)
    }

    fn means_ns(&self) -> f64 {
        self.slow_mean_ns - self.fast_mean_ns
    }
}

fn finding(slow: &Setup, fast: &Setup, waits: &Waits, slow_ms: f64) -> Finding {
    let Waits { slow_mean_ns, fast_mean_ns, queues_ns, fast_ms } = *waits;
    let means_ns = waits.means_ns();
    let claim = format!(
        "The {} between the means of {} and {} come from linger.ms ({slow_ms} against {fast_ms}): \
         messages waited {} longer in the client's queue",
        time(means_ns),
        quoted(slow.name()),
        quoted(fast.name()),
        time(queues_ns)
    );
    let others: Vec<String> =
        fast.differences(slow).into_iter().filter(|name| !name.contains("linger.ms")).collect();
    let mut finding = about_run(RULE.row.id, Severity::Note, claim)
        .seen(format!("mean of {}", slow.name()), time(slow_mean_ns))
        .seen(format!("mean of {}", fast.name()), time(fast_mean_ns))
        .seen_against("difference of the waits in the client's queue", time(queues_ns), time(means_ns));
    if !others.is_empty() {
        finding = finding.seen("other settings in which they differ", list(&others));
    }
    finding.advise("Set linger.ms alone to the same value in both to confirm it.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};

    #[test]
    fn the_difference_of_the_two_profiles_is_explained_with_figures() {
        let finding = one(&healthy(), RULE.row.id);
        let expected =
            "ms between the means of \"default\" and \"low latency\" come from linger.ms (5 against 0)";
        assert!(finding.claim.contains(expected), "{}", finding.claim);
        assert!(finding.claim.contains("5.00 ms longer"), "{}", finding.claim);
    }

    #[test]
    fn other_settings_that_differ_are_named() {
        let mut document = healthy();
        document.plan.steps[0].consumer.insert("fetch.wait.max.ms".to_owned(), "10".to_owned());
        let finding = one(&document, RULE.row.id);
        assert_eq!(finding.evidence[3].value, "consumer fetch.wait.max.ms: 10 / default");
    }

    #[test]
    fn each_slow_step_is_explained_once_by_the_step_most_like_it() {
        let mut document = crate::healthy::with_identical_step();
        document.plan.steps[0].consumer.insert("fetch.wait.max.ms".to_owned(), "10".to_owned());
        assert!(one(&document, RULE.row.id).claim.contains("\"default\" and \"low latency again\""));
    }

    #[test]
    fn a_difference_that_the_queues_do_not_have_is_not_explained() {
        let mut document = healthy();
        document.steps[1].latency.end_to_end.mean_ns = Some(12e6);
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn steps_of_unequal_load_explain_nothing() {
        let mut document = healthy();
        document.plan.steps[1].load.rate_per_s = Some(300.0);
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
