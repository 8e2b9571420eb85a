//! One broker does more than its part, and is short of time while the others are not.

use super::super::case::{Case, IDLE_MIN, network_idle};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{least, mean, ratio, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, ratio_digits};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::BrokerWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "leader-skew",
        summary: "One broker does more than its part, and is short of time while the others are not.",
        page: include_str!("../../../../../docs/findings/leader-skew.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "bytes and idle times of the brokers are held against each other",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "elect the preferred leaders",
            setting: None,
            observe: "bytes in of the busiest broker over the mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["hot-partition", "few-partitions"],
    rivals: &["network-threads-saturated", "handlers-saturated"],
    advice: &[
        "Elect preferred leaders (kafka-leader-election), then move partitions from the busiest broker.",
        "Producers with the adaptive partitioner (Java 3.3 and later) send less to a slow broker; librdkafka has none.",
    ],
    check,
};

/// Bytes of the busiest broker over the mean from which they are uneven (ours; Cruise Control balances at 1.1).
const SKEW_MIN: f64 = 1.2;
/// Idle time that the other brokers have at least (ours).
const OTHERS_IDLE: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let idle = |broker: &BrokerWindow| least([network_idle(broker), broker.handlers.idle_share].into_iter());
    let work = |broker: &BrokerWindow| sum([broker.bytes_in_per_s, broker.bytes_out_per_s].into_iter());
    let brokers = case.brokers();
    let busiest = brokers
        .iter()
        .filter(|broker| work(broker).is_some())
        .max_by(|a, b| work(a).unwrap_or(0.0).total_cmp(&work(b).unwrap_or(0.0)))?;
    let mean_work = mean(brokers.iter().map(|broker| (work(broker), 1.0)));
    let skew = ratio(work(busiest), mean_work).filter(|skew| brokers.len() > 1 && *skew >= SKEW_MIN)?;
    let short = idle(busiest).filter(|idle| *idle < IDLE_MIN)?;
    let others = least(brokers.iter().filter(|broker| !std::ptr::eq(*broker, busiest)).map(idle))
        .filter(|idle| *idle >= OTHERS_IDLE)?;
    let stages = [Stage::RequestQueue, Stage::ResponseQueue, Stage::Unexplained, Stage::Local, Stage::Send];
    let name = busiest.id.map_or_else(|| busiest.source.clone(), |id| format!("Broker {id}"));
    let share = case.share(&stages);
    Some(
        Claim::new(
            case.any_matters(&stages),
            share,
            format!(
                "{name} carries {} times the mean and has {} idle time, while the others have {} and more",
                ratio_digits(skew),
                percent(short),
                percent(others)
            ),
        )
        .seen("bytes of the busiest broker over the mean", Some(skew), ratio_digits, "below 1.2")
        .seen("partitions that it leads", busiest.leaders, plumb_model::figure::short, "")
        .seen("its idle time", Some(short), percent, "above 30 %")
        .seen("idle time of the others", Some(others), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    set_idle(&mut path.brokers[0], 0.5, 0.06);
    path.brokers[0].leaders = Some(10.0);
    path.brokers[0].bytes_in_per_s = Some(26e6);
    cpu_busy(path, 0.8);
    states(path, ThreadClass::Handler, [0.88, 0.03, 0.0, 0.06]);
    wait(path, |waits| waits.request_queue = 15.0);
}
