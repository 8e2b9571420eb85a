//! The rounds as a table: medians, the ratio with its interval and what it decides, processor time, and what the figures of a
//! kind of device can show.

use crate::Device;
use crate::methods::{Pair as MethodPair, Rival};
use crate::run::{Cpu, Run};
use plumb_stats::median::median;
use plumb_stats::paired::{Pair, RankRatio, rank_ratio};

const LEVEL: f64 = 0.95;
/// Within this two rates count as one (the goal of this bench).
const GOAL: f64 = 0.03;

/// All rounds of one pair.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    rounds: Vec<(Run, Run)>,
}

impl Row {
    pub(crate) fn new(pair: &MethodPair) -> Self {
        let rival = match pair.rival {
            Rival::Fio(_) => "fio",
            Rival::PgTestFsync(_) => "pg_test_fsync",
        };
        let place = if pair.overwrite { "overwrite" } else { "append" };
        let what = format!("{:<15} {place:<9} {:>2} KiB  {rival:<13}", pair.method, pair.block_bytes / 1024);
        Row { what, rounds: Vec::new() }
    }

    pub(crate) fn add(&mut self, ours: Run, theirs: Run) {
        self.rounds.push((ours, theirs));
    }

    fn line(&self) -> String {
        let rates: Vec<Pair> = self
            .rounds
            .iter()
            .map(|(ours, theirs)| Pair { a: theirs.rate_per_s, b: ours.rate_per_s })
            .collect();
        let cpus: Vec<(Cpu, Cpu)> =
            self.rounds.iter().filter_map(|(ours, theirs)| ours.cpu.zip(theirs.cpu)).collect();
        let cpu_pairs: Vec<Pair> = cpus
            .iter()
            .map(|(ours, theirs)| Pair { a: theirs.us_per_commit, b: ours.us_per_commit })
            .collect();
        let (rate, cpu) = (rank_ratio(&rates, LEVEL), rank_ratio(&cpu_pairs, LEVEL));
        format!(
            "{}  {:>9}  {:>9}  {}  {:<10}  {:>7}  {:>7}  {:>7}  {}  {}",
            self.what,
            rounded(median(rates.iter().map(|pair| pair.b)), 0),
            rounded(median(rates.iter().map(|pair| pair.a)), 0),
            interval(rate.as_ref()),
            rate.as_ref().map_or("", rate_verdict),
            rounded(median(cpu_pairs.iter().map(|pair| pair.b)), 2),
            rounded(median(cpu_pairs.iter().map(|pair| pair.a)), 2),
            rounded(median(cpus.iter().filter_map(|(_, theirs)| theirs.own_us)), 2),
            interval(cpu.as_ref()),
            cpu.as_ref().map_or("", cpu_verdict),
        )
    }
}

/// The verdict on the distance of the rates: only what the whole interval says is decided.
fn rate_verdict(found: &RankRatio) -> &'static str {
    match found {
        _ if found.low >= 1.0 - GOAL && found.high <= 1.0 + GOAL => "within 3 %",
        _ if found.low > 1.0 => "faster",
        _ if found.high < 1.0 - GOAL => "SLOWER",
        _ if found.low >= 1.0 - GOAL => "not slower",
        _ => "undecided",
    }
}

/// The verdict on the processor time of a commit, which should be no more.
fn cpu_verdict(found: &RankRatio) -> &'static str {
    match found {
        _ if found.high <= 1.0 => "no more",
        _ if found.low > 1.0 => "MORE",
        _ => "undecided",
    }
}

/// The meaning of the rates of such a device.
fn reading(device: Device) -> &'static str {
    match device {
        Device::Disk => {
            "The device sets the rate, and so do its other users: an interval that is wider than the goal shows neither \
             agreement nor difference."
        }
        Device::Memory => {
            "Nothing is waited for here: a commit takes the processor time that it costs in kernel and program, and the ratio of \
             the rates is that of these costs, zram's packing of what each writes among them. fio times and counts each write and each sync by itself; that is in \"its own\". \
             With io_uring it waits twice for a commit, for the write and for the sync, where Plumb's linked pair waits once. \
             \"faster\" says this and nothing of a device."
        }
        Device::SetSpeed => {
            "The device lets a set number of requests through: both have to come to the same rate, and a ratio other than 1 means \
             that one of them counts wrongly or asks for other requests."
        }
    }
}

pub(crate) fn text(rows: &[Row], device: Device) -> String {
    let header = format!(
        "{:<47}  {:>9}  {:>9}  {:<22}  {:<10}  {:>7}  {:>7}  {:>7}  {:<22}",
        "method",
        "plumb /s",
        "other /s",
        "rate ratio, 95 %",
        "",
        "CPU µs",
        "other",
        "its own",
        "CPU ratio, 95 %"
    );
    let notes = [
        String::new(),
        "its own: the part of the other's processor time that it spends outside the kernel.".to_owned(),
        reading(device).to_owned(),
    ];
    let header = std::iter::once(header.trim_end().to_owned());
    header
        .chain(rows.iter().map(|row| row.line().trim_end().to_owned()))
        .chain(notes)
        .collect::<Vec<_>>()
        .join("\n")
}

fn interval(ratio: Option<&RankRatio>) -> String {
    let text = ratio
        .map_or("-".to_owned(), |found| format!("{:.3} ({:.3}..{:.3})", found.ratio, found.low, found.high));
    format!("{text:<22}")
}

fn rounded(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rounds with these ratios, each twice: enough for an interval of ranks.
    fn of(ratios: [f64; 4]) -> RankRatio {
        let pairs: Vec<Pair> =
            ratios.iter().chain(&ratios).map(|ratio| Pair { a: 100.0, b: 100.0 * ratio }).collect();
        rank_ratio(&pairs, LEVEL).unwrap()
    }

    #[test]
    fn only_a_whole_interval_decides() {
        assert_eq!(rate_verdict(&of([1.01, 1.0, 0.995, 1.002])), "within 3 %");
        assert_eq!(rate_verdict(&of([1.5, 0.99, 0.7, 1.0])), "undecided");
        assert_eq!(rate_verdict(&of([0.9, 0.91, 0.905, 0.92])), "SLOWER");
        assert_eq!(rate_verdict(&of([1.1, 1.11, 1.12, 1.1])), "faster");
        assert_eq!(rate_verdict(&of([0.98, 1.05, 1.0, 1.06])), "not slower");
        assert_eq!(cpu_verdict(&of([0.9, 0.91, 0.92, 0.9])), "no more");
        assert_eq!(cpu_verdict(&of([1.1, 1.11, 1.12, 1.1])), "MORE");
    }

    #[test]
    fn too_few_rounds_have_medians_and_no_interval() {
        let pair = crate::methods::pairs()[0];
        let mut row = Row::new(&pair);
        let run = |rate_per_s| Run { rate_per_s, cpu: None };
        row.add(run(100.0), run(200.0));
        let line = row.line();
        assert!(line.contains(" 100  ") && line.contains(" 200  "), "{line}");
        assert!(!line.contains("undecided") && line.contains('-'), "{line}");
    }

    #[test]
    fn a_device_in_memory_says_what_faster_means_there() {
        assert!(text(&[], Device::Memory).contains("nothing of a device"));
        assert!(!text(&[], Device::Disk).contains("nothing of a device"));
    }
}
