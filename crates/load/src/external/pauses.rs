//! The pauses of a program: gaps of its beats, and the safepoints that a JVM logs, by which a gap gets its name.

use plumb_model::observation::{ProgramPause, ProgramPauses};

/// The interval at which a program is asked to beat.
const BEAT_NS: u64 = 10_000_000;
/// The shortest pause: several beats that did not come (ours).
const PAUSE_NS: u64 = 50_000_000;
/// Pauses that are listed, the longest.
const LISTED: usize = 20;
/// The shortest safepoint that is kept: one that could give a pause its name.
const SAFEPOINT_NS: u64 = (PAUSE_NS - BEAT_NS) / 2;
/// Safepoints that are kept.
const SAFEPOINTS_KEPT: usize = 4_096;

/// A stop of a JVM's threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Safepoint {
    /// The time of its end.
    end_ns: u64,
    length_ns: u64,
    cause: String,
}

/// The safepoints of one program.
#[derive(Debug, Default)]
pub(super) struct Safepoints {
    number: u64,
    total_ns: u64,
    kept: Vec<Safepoint>,
}

impl Safepoints {
    /// All count; those that could explain a pause are kept.
    pub(super) fn note(&mut self, safepoint: Safepoint) {
        self.number += 1;
        self.total_ns += safepoint.length_ns;
        if safepoint.length_ns >= SAFEPOINT_NS && self.kept.len() < SAFEPOINTS_KEPT {
            self.kept.push(safepoint);
        }
    }
}

/// The beats of one program.
#[derive(Debug, Default)]
pub(super) struct Beats {
    last_ns: Option<u64>,
    count: u64,
    longest_ns: u64,
    pauses: Vec<ProgramPause>,
    number: u64,
    total_ns: u64,
}

impl Beats {
    /// It beat at this time.
    pub(super) fn note(&mut self, at_ns: u64) {
        self.count += 1;
        let Some(last_ns) = self.last_ns.replace(at_ns) else { return };
        let gap_ns = at_ns.saturating_sub(last_ns);
        self.longest_ns = self.longest_ns.max(gap_ns);
        let length_ns = gap_ns.saturating_sub(BEAT_NS);
        if length_ns >= PAUSE_NS {
            self.number += 1;
            self.total_ns += length_ns;
            self.list(ProgramPause { begin_ns: last_ns + BEAT_NS, length_ns, cause: None });
        }
    }

    /// The longest stay in the list, by the order of time.
    fn list(&mut self, pause: ProgramPause) {
        self.pauses.push(pause);
        if self.pauses.len() > LISTED {
            let shortest = (0..self.pauses.len()).min_by_key(|at| self.pauses[*at].length_ns);
            shortest.map(|at| self.pauses.remove(at));
        }
    }

    /// Nothing is asked of it from this time on: beats that did not come until then are a pause too.
    pub(super) fn end(&mut self, at_ns: u64) {
        if self.last_ns.is_some_and(|last_ns| at_ns >= last_ns + BEAT_NS + PAUSE_NS) {
            self.note(at_ns);
            // The end is no beat.
            self.count -= 1;
        }
        self.last_ns = self.last_ns.map(|_| u64::MAX);
    }

    /// The pauses, each named by the safepoint that covers most of it. None where it never beat.
    pub(super) fn account(&self, safepoints: &Safepoints) -> Option<ProgramPauses> {
        (self.count > 0).then(|| ProgramPauses {
            beats: self.count,
            longest_gap_ns: self.longest_ns,
            pauses: self.number,
            paused_ns: self.total_ns,
            listed: self.pauses.iter().map(|pause| named(pause, &safepoints.kept)).collect(),
            safepoints: safepoints.number,
            safepoints_ns: safepoints.total_ns,
        })
    }
}

fn named(pause: &ProgramPause, safepoints: &[Safepoint]) -> ProgramPause {
    let end_ns = pause.begin_ns + pause.length_ns;
    let overlap = |safepoint: &Safepoint| {
        let begin =
            safepoint.end_ns.saturating_sub(safepoint.length_ns).max(pause.begin_ns.saturating_sub(BEAT_NS));
        safepoint.end_ns.min(end_ns + BEAT_NS).saturating_sub(begin)
    };
    let longest = safepoints.iter().max_by_key(|safepoint| overlap(safepoint));
    let cause = longest.filter(|safepoint| overlap(safepoint) * 2 >= pause.length_ns);
    ProgramPause { cause: cause.map(|safepoint| safepoint.cause.clone()), ..pause.clone() }
}

/// Reads a line of a JVM's log of collections and safepoints with its time (`-Xlog:gc,safepoint:stdout:tn`): none if it is not one, a
/// safepoint if it tells of one. The time is CLOCK_MONOTONIC.
pub(super) fn safepoint(line: &str) -> Option<Option<Safepoint>> {
    let (time, rest) = line.strip_prefix('[')?.split_once("ns]")?;
    let end_ns = time.trim().parse().ok()?;
    Some(rest.trim_start().strip_prefix("Safepoint \"").and_then(|rest| {
        let (cause, rest) = rest.split_once('"')?;
        let total = rest.split("Total:").nth(1)?.trim_start();
        let length_ns = total.split(' ').next()?.parse().ok()?;
        Some(Safepoint { end_ns, length_ns, cause: cause.to_owned() })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[1000300000000ns] Safepoint \"G1CollectForAllocation\", Time since last: 62 ns, Reaching safepoint: 100 ns, \
                        Cleanup: 4 ns, At safepoint: 290000000 ns, Total: 290000104 ns";

    #[test]
    fn a_safepoint_of_a_jvm_is_read_with_its_time_and_cause() {
        let read = safepoint(LINE).unwrap().unwrap();
        assert_eq!((read.end_ns, read.length_ns), (1_000_300_000_000, 290_000_104));
        assert_eq!(read.cause, "G1CollectForAllocation");
        assert_eq!(safepoint("[12ns] GC(0) Pause Young 3M->1M(24M) 1.0ms"), Some(None));
        assert_eq!(safepoint("[main] INFO a line of a logger"), None);
        assert_eq!(safepoint("ready"), None);
    }

    #[test]
    fn a_gap_of_beats_is_a_pause_that_the_safepoint_in_it_names() {
        let mut beats = Beats::default();
        let second = 1_000_000_000_000;
        for at_ns in [0, 10, 310, 320, 420].map(|ms| second + ms * 1_000_000) {
            beats.note(at_ns);
        }
        let mut safepoints = Safepoints::default();
        safepoints.note(safepoint(LINE).unwrap().unwrap());
        let account = beats.account(&safepoints).unwrap();
        assert_eq!((account.pauses, account.longest_gap_ns), (2, 300_000_000));
        let causes: Vec<Option<&str>> = account.listed.iter().map(|pause| pause.cause.as_deref()).collect();
        assert_eq!(causes, [Some("G1CollectForAllocation"), None]);
        assert_eq!(account.paused_ns, 290_000_000 + 90_000_000);
    }

    #[test]
    fn beats_that_stop_for_good_are_a_pause_until_nothing_more_is_asked() {
        let mut beats = Beats::default();
        [0, 10, 20].iter().for_each(|ms| beats.note(1_000_000_000 + ms * 1_000_000));
        beats.end(1_000_000_000 + 530_000_000);
        // What comes after its end is nobody's matter.
        beats.note(1_000_000_000 + 900_000_000);
        let account = beats.account(&Safepoints::default()).unwrap();
        assert_eq!(
            (account.pauses, account.paused_ns, account.longest_gap_ns),
            (1, 500_000_000, 510_000_000)
        );
        let mut whole = Beats::default();
        [0, 10, 20].iter().for_each(|ms| whole.note(ms * 1_000_000));
        whole.end(79_000_000);
        assert_eq!(whole.account(&Safepoints::default()).unwrap().pauses, 0);
    }

    #[test]
    fn a_program_that_never_beats_has_no_account_of_pauses() {
        assert!(Beats::default().account(&Safepoints::default()).is_none());
    }

    #[test]
    fn the_longest_of_many_pauses_is_listed_and_every_safepoint_counts() {
        let (mut beats, mut safepoints) = (Beats::default(), Safepoints::default());
        let mut at_ns = 1_000_000_000;
        beats.note(at_ns);
        for number in 1..=60_u64 {
            at_ns += (59 + number) * 1_000_000;
            beats.note(at_ns);
            safepoints.note(Safepoint {
                end_ns: at_ns,
                length_ns: number * 1_000_000,
                cause: "any".to_owned(),
            });
        }
        let account = beats.account(&safepoints).unwrap();
        let lengths: Vec<u64> = account.listed.iter().map(|pause| pause.length_ns / 1_000_000).collect();
        assert_eq!(lengths, (90..=109).collect::<Vec<_>>());
        assert_eq!((account.pauses, account.safepoints, account.safepoints_ns), (60, 60, 1_830_000_000));
    }
}
