//! The control group's quota stops the broker's threads.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, least, most, ratio, share};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "cpu-quota",
        summary: "The control group's quota stops the broker's threads.",
        page: include_str!("../../../../../docs/findings/cpu-quota.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel counts the periods in which the quota was used up",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "lift the quota (cpu.max; limits.cpu in Kubernetes)",
            setting: None,
            observe: "periods with the quota used up",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["cpu-stolen", "noisy-neighbour", "handlers-saturated"],
    advice: &[
        "Raise or remove the quota, and keep the request: a request shares processors, a limit stops threads.",
        "A quota below the number of threads that run at once stops all of them in the middle of a period of 100 ms.",
    ],
    check,
};

/// Share of periods in which the quota was used up from which it is worth a look, and from which it is a cause (ours).
const SHARE_SEEN: f64 = 0.05;
const SHARE_MIN: f64 = 0.25;

fn check(case: &Case) -> Option<Claim> {
    let groups = || case.path.processes.iter().filter_map(|process| process.cgroup.as_ref());
    let periods =
        share(most(groups().map(|group| ratio(count(group.throttled_periods), count(group.periods)))))
            .filter(|share| *share >= SHARE_SEEN)?;
    let stages = [
        Stage::RequestQueue,
        Stage::ResponseQueue,
        Stage::Unexplained,
        Stage::Local,
        Stage::Remote,
        Stage::ClientSend,
    ];
    let waits = case.any_matters(&stages);
    if !waits && !case.slow() {
        return None;
    }
    Some(
        Claim::new(periods >= SHARE_MIN && waits, case.share(&stages), format!("The control group used up its processor quota in {} of the periods, and its threads were stopped", percent(periods)))
            .seen("periods with the quota used up", Some(periods), percent, "0 %")
            .seen("processors that the quota gives", least(groups().map(|group| group.quota_cpus)), short, "none")
            .seen("time held back, all processors together", most(groups().map(|group| count(group.throttled_ns))), time, "0")
            .seen("all processors of the host busy", case.cpu_busy(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    process(path).cgroup = Some(plumb_model::observed::CgroupWindow {
        quota_cpus: Some(1.0),
        periods: Some(600),
        throttled_periods: Some(480),
        throttled_ns: Some(90_000_000_000),
        ..Default::default()
    });
    idle(path, 0.4, 0.15);
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.remote) = (20.0, 25.0, 12.0));
}
