//! The hypervisor gives this host's processors to others.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{ratio, share, sum};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "cpu-stolen",
        summary: "The hypervisor gives this host's processors to others.",
        page: include_str!("../../../../../docs/findings/cpu-stolen.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel counts the stolen time itself",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "move the virtual machine to a host with room",
            setting: None,
            observe: "stolen time",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["noisy-neighbour", "cpu-quota", "handlers-saturated"],
    advice: &[
        "Ask for dedicated processors, or move the virtual machine.",
        "On instances with processor credits look at the credits: they are used up.",
    ],
    check,
};

/// Stolen share of the time from which it is worth a look, and from which it is a cause (ours).
const SHARE_SEEN: f64 = 0.02;
const SHARE_MIN: f64 = 0.1;

fn check(case: &Case) -> Option<Claim> {
    let stolen = share(case.host()?.counters.cpu.steal_share()).filter(|stolen| *stolen >= SHARE_SEEN)?;
    // Of the time in which somebody wanted a processor.
    let wanted = sum([case.cpu_busy(), Some(stolen)].into_iter());
    let of_wanted = share(ratio(Some(stolen), wanted));
    let explained = of_wanted.filter(|_| case.stages.sum_ns().is_some());
    let supported = stolen >= SHARE_MIN && case.slow();
    if !supported && !case.slow() && stolen < SHARE_MIN {
        return None;
    }
    Some(
        Claim::new(
            supported,
            explained,
            format!("The hypervisor took {} of this host's processor time", percent(stolen)),
        )
        .seen("stolen time", Some(stolen), percent, "below 2 %")
        .seen("of the time in which a processor was wanted", of_wanted, percent, "")
        .seen("all processors busy", case.cpu_busy(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    host(path).counters.cpu.steal_ns = Some(8 * 60_000_000_000 / 3);
    cpu_busy(path, 0.55);
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.local) = (12.0, 8.0, 6.0));
}
