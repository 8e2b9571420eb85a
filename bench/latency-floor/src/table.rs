//! The table: a row for each round, then what the rounds say together.

use crate::arguments::{Load, VALUE_BYTES};
use crate::bench::{Contestant, Round};
use crate::figures::{Figures, Run};
use plumb_stats::median::median;
use plumb_stats::paired::{Pair, paired_ratio};
use std::fmt::Write as _;

/// The p50 of the service time may be so many times that of the bare loop.
const GOAL: f64 = 1.05;

const LEVEL: f64 = 0.95;

/// Above the rows. `foreign` is the share of the machine that others used during plumb's and the bare loop's run.
pub(crate) const HEADER: &str = "
               service time, us                              plumb / bare          foreign load  EndToEndLatency
round  order   plumb p50     p99    mean   bare p50     p99    mean      p50     p99     plumb  bare  mean us  percentiles, ms";

/// A round's line.
pub(crate) fn row(number: usize, round: &Round) -> String {
    let order: String = round.order.iter().map(|contestant| letter(*contestant)).collect();
    let (plumb, bare) = (round.plumb.service, round.bare.service);
    let figures = |f: Figures| format!("{:9.0} {:7.0} {:7.0}", f.p50_us, f.p99_us, f.mean_us);
    let java = round.java.as_ref();
    let java = java.map_or_else(String::new, |java| format!("{:7.0}  {}", java.mean_us, java.percentiles));
    format!(
        "{number:5}  {order:5} {}  {}  {:7.3} {:7.3}     {:4.0}%  {:3.0}%  {java}",
        figures(plumb),
        figures(bare),
        plumb.p50_us / bare.p50_us,
        plumb.p99_us / bare.p99_us,
        round.plumb.foreign_share * 100.0,
        round.bare.foreign_share * 100.0,
    )
}

fn letter(contestant: Contestant) -> char {
    match contestant {
        Contestant::Plumb => 'p',
        Contestant::Bare => 'b',
        Contestant::Java => 'j',
    }
}

/// The text on all rounds.
pub(crate) fn summary(rounds: &[Round], load: &Load) -> String {
    let mut text = format!(
        "\nmedians of {} rounds of {} messages of {VALUE_BYTES} B at {}/s\n\n\
         {:24} {:>9} {:>9} {:>7}   plumb / bare, 95 % interval, smallest effect that would have shown\n",
        rounds.len(),
        load.count,
        load.rate_per_s,
        "",
        "plumb",
        "bare",
        ""
    );
    let us = "us";
    line(&mut text, rounds, "service p50", us, |run| run.service.p50_us);
    line(&mut text, rounds, "service p99", us, |run| run.service.p99_us);
    line(&mut text, rounds, "service mean", us, |run| run.service.mean_us);
    line(&mut text, rounds, "response p50", us, |run| run.response.p50_us);
    line(&mut text, rounds, "response p99", us, |run| run.response.p99_us);
    line(&mut text, rounds, "response mean", us, |run| run.response.mean_us);
    line(&mut text, rounds, "CPU, measured part", "us/msg", |run| run.measured_cpu_us);
    line(&mut text, rounds, "CPU, whole process", "s", |run| run.whole_cpu_s);
    let means: Vec<f64> = rounds.iter().filter_map(|round| Some(round.java.as_ref()?.mean_us)).collect();
    if let Some(mean) = median(means) {
        let _ = writeln!(
            text,
            "\nEndToEndLatency: mean {:.0} us. It waits for each message before it sends the next, counts its cold first one, and\n\
             prints whole milliseconds; only its mean is a figure, and not of the same load.",
            mean
        );
    }
    let _ = write!(text, "\n{}", goal(rounds));
    text
}

fn line(text: &mut String, rounds: &[Round], name: &str, unit: &str, figure: impl Fn(&Run) -> f64) {
    let of = |pick: fn(&Round) -> &Run| rounds.iter().map(|round| figure(pick(round))).collect::<Vec<f64>>();
    let (plumb, bare) = (of(|round| &round.plumb), of(|round| &round.bare));
    let pairs: Vec<Pair> = bare.iter().zip(&plumb).map(|(a, b)| Pair { a: *a, b: *b }).collect();
    let ratio = match paired_ratio(&pairs, LEVEL) {
        Some(r) => format!("{:.3}  {:.3}-{:.3}  {:.3}", r.ratio, r.low, r.high, r.smallest_detectable_ratio),
        None => "too few rounds".to_owned(),
    };
    let digits = if unit == "s" { 2 } else { 0 };
    let _ = writeln!(
        text,
        "{name:24} {:9.digits$} {:9.digits$} {unit:7}   {ratio}",
        median(plumb).unwrap_or(f64::NAN),
        median(bare).unwrap_or(f64::NAN)
    );
}

fn goal(rounds: &[Round]) -> String {
    let p50s = |round: &Round| Pair { a: round.bare.service.p50_us, b: round.plumb.service.p50_us };
    let pairs: Vec<Pair> = rounds.iter().map(p50s).collect();
    let goal = format!("goal: plumb's p50 of the service time at most {GOAL} times that of the bare loop: ");
    let Some(ratio) = paired_ratio(&pairs, LEVEL) else { return goal + "too few rounds to say" };
    let verdict = match (ratio.ratio <= GOAL, ratio.high <= GOAL, ratio.low <= GOAL) {
        (true, true, _) => "met",
        (true, false, _) => "met, but the interval reaches beyond it: more rounds would tell",
        (false, _, true) => "not met, but the interval reaches below it: more rounds would tell",
        (false, _, false) => "not met",
    };
    goal + verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds whose ratios of the p50 are these.
    fn rounds(ratios: &[f64]) -> Vec<Round> {
        let run = |p50_us| {
            let figures = Figures { p50_us, p99_us: 900.0, mean_us: 300.0 };
            let (measured_cpu_us, whole_cpu_s, foreign_share) = (80.0, 0.5, 0.0);
            Run { service: figures, response: figures, measured_cpu_us, whole_cpu_s, foreign_share }
        };
        let round = |ratio: &f64| Round {
            order: vec![Contestant::Bare, Contestant::Plumb],
            plumb: run(200.0 * ratio),
            bare: run(200.0),
            java: None,
        };
        ratios.iter().map(round).collect()
    }

    #[test]
    fn the_goal_is_met_when_the_whole_interval_is_below_it() {
        assert!(goal(&rounds(&[1.01, 1.02, 1.03, 1.02])).ends_with(": met"));
        assert!(goal(&rounds(&[0.8, 1.2, 0.9, 1.1])).contains("met, but the interval reaches beyond"));
        assert!(goal(&rounds(&[1.0, 1.3, 0.9, 1.4])).contains("not met, but the interval reaches below"));
        assert!(goal(&rounds(&[1.11, 1.12, 1.13, 1.12])).ends_with(": not met"));
        assert!(goal(&rounds(&[1.0, 1.0])).ends_with("too few rounds to say"));
    }
}
