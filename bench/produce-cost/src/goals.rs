//! The goals: the wire driver beside the best of the others, and Plumb's librdkafka driver beside librdkafka's tool.

use plumb_bench_peers::report::{CLIENT_CPU, CellReport, CellRuns, MOVING_CPU, RATE};
use plumb_bench_peers::tool::librdkafka;
use plumb_bench_peers::tool::plumb::Driver;
use plumb_bench_peers::verdict::Goal;

/// Of the wire driver with every record stamped, against the best peer: value bytes, client CPU for a message at most so
/// many times the peer's, throughput at least so many times.
const WIRE: &[(usize, f64, f64)] =
    &[(100, 1.0 / 10.0, 1.8), (1_000, 1.0 / 3.0, 1.25), (10_000, 1.0 / 1.5, 1.1), (240_000, 1.0, 1.2)];

/// Of Plumb's librdkafka driver, against `rdkafka_performance`: client CPU for a message.
const LIBRDKAFKA_CPU: f64 = 1.3;

/// A cell's report, with what is compared in it.
pub(crate) fn judge(runs: &CellRuns<'_>, tools: &[&'static str]) -> CellReport {
    let (wire, ours) = (Driver::Wire.name(), Driver::Librdkafka.name());
    let theirs = librdkafka::Variant::AsIs.name();
    let peers: Vec<&'static str> =
        tools.iter().copied().filter(|tool| *tool != wire && *tool != ours).collect();
    let goals = WIRE.iter().find(|(size, ..)| *size == runs.cell().size_bytes);
    let has = |tool: &str| runs.median(tool, CLIENT_CPU).is_some();
    let mut ratios = Vec::new();
    if has(wire) {
        if let Some(best) = runs.best(&peers, CLIENT_CPU, true) {
            let goal = goals.map(|(_, cpu, _)| Goal::AtMost(*cpu));
            ratios.push(runs.ratio("client CPU", (wire, best), CLIENT_CPU, goal));
            ratios.push(runs.ratio("  less start-up", (wire, best), MOVING_CPU, None));
        }
        if let Some(best) = runs.best(&peers, RATE, false) {
            let goal = goals.map(|(.., rate)| Goal::AtLeast(*rate));
            ratios.push(runs.ratio("throughput", (wire, best), RATE, goal));
        }
    }
    if has(ours) && has(theirs) {
        let goal = Some(Goal::AtMost(LIBRDKAFKA_CPU));
        ratios.push(runs.ratio("client CPU", (ours, theirs), CLIENT_CPU, goal));
        ratios.push(runs.ratio("  less start-up", (ours, theirs), MOVING_CPU, None));
        ratios.push(runs.ratio("throughput", (ours, theirs), RATE, None));
    }
    runs.report(tools, ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_bench_peers::contest::Cell;
    use plumb_bench_peers::job::{Acks, Work};
    use plumb_bench_peers::run::Run;
    use plumb_bench_peers::tool::Claim;
    use plumb_bench_peers::verdict::Verdict;

    struct Cost {
        tool: &'static str,
        cpu_s: f64,
        per_s: f64,
    }

    fn cost(tool: &'static str, cpu_s: f64, per_s: f64) -> Cost {
        Cost { tool, cpu_s, per_s }
    }

    fn runs(costs: &[Cost]) -> Vec<Run> {
        let run = |cost: &Cost, round: usize| Run {
            tool: cost.tool,
            round,
            size_bytes: 100,
            acks: Some(Acks::One),
            asked: 1_000_000,
            messages: 1_000_000,
            messages_per_s: Some(cost.per_s * (1.0 + round as f64 / 100.0)),
            claim: Claim::default(),
            wall_s: 4.0,
            client_cpu_s: cost.cpu_s * (1.0 + round as f64 / 100.0),
            start_up_cpu_s: Some(0.01),
            broker_cpu_s: 1.0,
            foreign_share: 0.0,
        };
        (1..=4).flat_map(|round| costs.iter().map(move |cost| run(cost, round))).collect()
    }

    #[test]
    fn the_wire_driver_is_held_against_the_best_peer_of_each_figure() {
        let tools = ["plumb wire", "slow", "cheap", "fast"];
        let runs = runs(&[
            cost("plumb wire", 0.04, 6e6),
            cost("slow", 5.0, 1e6),
            cost("cheap", 0.5, 2e6),
            cost("fast", 0.6, 3e6),
        ]);
        let cell = Cell { size_bytes: 100, work: Work::Produce(Acks::One) };
        let report = judge(&CellRuns::of(cell, &runs), &tools);
        let verdicts: Vec<_> = report.ratios.iter().map(|r| (r.what.as_str(), r.verdict)).collect();
        let expected = [
            ("client CPU, plumb wire : cheap", Some(Verdict::Met)),
            ("  less start-up, plumb wire : cheap", None),
            ("throughput, plumb wire : fast", Some(Verdict::Met)),
        ];
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn the_librdkafka_driver_is_held_against_librdkafkas_own_tool() {
        let runs = runs(&[cost("plumb librdkafka", 0.7, 2e6), cost("rdkafka_performance", 0.5, 2e6)]);
        let cell = Cell { size_bytes: 100, work: Work::Produce(Acks::One) };
        let report = judge(&CellRuns::of(cell, &runs), &["plumb librdkafka", "rdkafka_performance"]);
        assert_eq!(report.ratios[0].what, "client CPU, plumb librdkafka : rdkafka_performance");
        assert_eq!(report.ratios[0].verdict, Some(Verdict::NotMet));
    }
}
