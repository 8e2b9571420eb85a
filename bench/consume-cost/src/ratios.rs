//! The comparisons. There is a goal for the librdkafka driver alone; what the wire driver does more than its peers, which
//! check no record and mostly no batch, has no price that could be said beforehand.

use plumb_bench_peers::report::{CLIENT_CPU, CellReport, CellRuns, MOVING_CPU, RATE};
use plumb_bench_peers::tool::librdkafka::Variant;
use plumb_bench_peers::tool::plumb::Driver;
use plumb_bench_peers::verdict::Goal;

/// Of Plumb's librdkafka driver, against `rdkafka_performance`: client CPU for a message.
const LIBRDKAFKA_CPU: f64 = 1.3;

/// A cell's report, with what is compared in it.
pub(crate) fn judge(runs: &CellRuns<'_>, tools: &[&'static str]) -> CellReport {
    let (wire, ours) = (Driver::Wire.name(), Driver::Librdkafka.name());
    let peers: Vec<&'static str> =
        tools.iter().copied().filter(|tool| *tool != wire && *tool != ours).collect();
    let has = |tool: &str| runs.median(tool, CLIENT_CPU).is_some();
    let mut ratios = Vec::new();
    if has(wire) {
        if let Some(best) = runs.best(&peers, CLIENT_CPU, true) {
            ratios.push(runs.ratio("client CPU", (wire, best), CLIENT_CPU, None));
            ratios.push(runs.ratio("  less start-up", (wire, best), MOVING_CPU, None));
        }
        if let Some(best) = runs.best(&peers, RATE, false) {
            ratios.push(runs.ratio("throughput", (wire, best), RATE, None));
        }
    }
    for theirs in [Variant::AsIs.name(), Variant::CheckedBatches.name()] {
        if has(ours) && has(theirs) {
            let goal = (theirs == Variant::AsIs.name()).then_some(Goal::AtMost(LIBRDKAFKA_CPU));
            ratios.push(runs.ratio("client CPU", (ours, theirs), CLIENT_CPU, goal));
            ratios.push(runs.ratio("  less start-up", (ours, theirs), MOVING_CPU, None));
        }
    }
    runs.report(tools, ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_bench_peers::contest::Cell;
    use plumb_bench_peers::job::Work;
    use plumb_bench_peers::run::Run;
    use plumb_bench_peers::tool::Claim;
    use plumb_bench_peers::verdict::Verdict;

    #[test]
    fn the_librdkafka_driver_is_held_against_the_unchecked_and_the_checked_tool_but_has_one_goal() {
        let run = |tool, round: usize, cpu_s: f64| Run {
            tool,
            round,
            size_bytes: 100,
            acks: None,
            asked: 1_000_000,
            messages: 1_000_000,
            messages_per_s: Some(1e6),
            claim: Claim::default(),
            wall_s: 1.0,
            client_cpu_s: cpu_s + round as f64 / 1e3,
            start_up_cpu_s: None,
            broker_cpu_s: 0.1,
            foreign_share: 0.0,
        };
        let tools = [Driver::Librdkafka.name(), Variant::AsIs.name(), Variant::CheckedBatches.name()];
        let costs = [1.0, 0.5, 0.9];
        let of_round = |round| tools.iter().zip(costs).map(move |(tool, cost)| run(tool, round, cost));
        let runs: Vec<Run> = (1..=4).flat_map(of_round).collect();
        let cell = Cell { size_bytes: 100, work: Work::Consume };
        let report = judge(&CellRuns::of(cell, &runs), &tools);
        let verdicts: Vec<_> = report.ratios.iter().filter_map(|ratio| ratio.verdict).collect();
        assert_eq!(verdicts, [Verdict::NotMet]);
        assert!((report.ratios[2].ratio.unwrap() - 1.11).abs() < 0.01, "{:?}", report.ratios[2]);
    }
}
