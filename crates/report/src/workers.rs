//! The workers of a run: what each had to send, what it sent, what that cost it, and how well its clock is known.

use plumb_model::document::{RunDocument, WorkerBlock, WorkerFacts};
use plumb_model::figure::{ABSENT, count, milliseconds, plus_minus, significant};
use plumb_model::observation::Distribution;

/// The heading of the section.
pub(crate) const HEADING: &str = "Workers";
/// Under the heading.
pub(crate) const MEANING: &str = "over all blocks; slip: mean time by which messages were handed to the client later than they were due, of its worst block; clock: the most by which end-to-end latencies that a worker recorded of other workers' messages may be off";

/// Heads of the table's columns after the worker's name.
pub(crate) const COLUMNS: [&str; 6] = ["processors", "due", "sent", "slip, ms", "CPU s", "clock, ms"];

/// One worker.
pub(crate) struct Row {
    pub(crate) name: String,
    /// One cell for each of [`COLUMNS`].
    pub(crate) cells: Vec<String>,
    /// It sent less than what was due.
    pub(crate) behind: bool,
}

/// The workers of a run, in the order in which clients were given to them, and behind them those that had a part before the run went on
/// with others; none where the program itself ran the clients.
pub(crate) fn rows(document: &RunDocument) -> Vec<Row> {
    let parts: Vec<&WorkerBlock> =
        document.steps.iter().flat_map(|step| &step.blocks).flat_map(|block| &block.workers).collect();
    rows_of(&document.environment.workers, &parts)
}

fn rows_of(workers: &[WorkerFacts], parts: &[&WorkerBlock]) -> Vec<Row> {
    let mut rows: Vec<Row> = workers.iter().map(|worker| row(parts, &worker.name, Some(worker))).collect();
    for part in parts {
        if rows.iter().all(|row| row.name != part.name) {
            rows.push(row(parts, &part.name, None));
        }
    }
    rows
}

/// What is known of the worker itself is absent for one that had left before the run's end.
fn row(parts: &[&WorkerBlock], name: &str, worker: Option<&WorkerFacts>) -> Row {
    let own: Vec<&WorkerBlock> = parts.iter().copied().filter(|part| part.name == name).collect();
    let due: u64 = own.iter().map(|part| part.intended).sum();
    let sent: u64 = own.iter().map(|part| part.sent).sum();
    let slip_ns = own.iter().filter_map(|part| part.slip_mean_ns).max_by(f64::total_cmp);
    let cpu_s: Option<f64> = own.iter().map(|part| part.cpu_s).sum();
    let error_ns = own.iter().filter_map(|part| part.clock_error_ns).max();
    let clock = match error_ns {
        Some(error_ns) => plus_minus(error_ns as f64 / 1e6),
        None if worker.is_some_and(|worker| worker.one_clock) => "the run's".to_owned(),
        None => ABSENT.to_owned(),
    };
    let cells = vec![
        worker.map_or_else(|| ABSENT.to_owned(), |worker| worker.cpus.to_string()),
        count(due),
        count(sent),
        slip_ns.map_or_else(|| ABSENT.to_owned(), milliseconds),
        cpu_s.map_or_else(|| ABSENT.to_owned(), |cpu_s| significant(cpu_s, 3)),
        clock,
    ];
    Row { name: name.to_owned(), cells, behind: sent < due }
}

/// How far off the figures of a setup may be by the clocks of its workers, as a sentence.
pub(crate) fn clock_note(setup: usize, latency: &Distribution) -> Option<String> {
    let error_ns = latency.clock_error();
    (error_ns > 0.0).then(|| format!(
        "clocks of the workers of #{setup}: known to {} ms; each of its figures may be off by as much, besides its interval",
        plus_minus(error_ns / 1e6)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, clock_error_ns: Option<u64>) -> WorkerBlock {
        WorkerBlock {
            name: name.to_owned(),
            producers: 1,
            consumers: 1,
            intended: 1_000,
            sent: 990,
            slip_mean_ns: Some(20_000.0),
            cpu_s: Some(0.25),
            clock_error_ns,
            round_trip_ns: 100_000,
        }
    }

    fn facts(name: &str, one_clock: bool) -> WorkerFacts {
        WorkerFacts {
            name: name.to_owned(),
            cpus: 4,
            one_clock,
            same_host_as: None,
            clock_claim: None,
            host: None,
        }
    }

    #[test]
    fn a_worker_has_the_sums_of_its_blocks_and_the_widest_error_of_its_clock() {
        let parts =
            [part("far", Some(30_000)), part("near", None), part("far", Some(50_000)), part("left", None)];
        let rows = rows_of(&[facts("far", false), facts("near", true)], &parts.each_ref());
        assert_eq!(rows[0].cells, ["4", "2,000", "1,980", "0.0200", "0.500", "±0.050"]);
        assert_eq!(rows[1].cells[5], "the run's");
        assert!(rows[0].behind);
        // One that left before the end has its part all the same: the rows add up.
        assert_eq!((rows.len(), &*rows[2].name), (3, "left"));
        assert_eq!(rows[2].cells[..3], [ABSENT, "1,000", "990"]);
    }
}
