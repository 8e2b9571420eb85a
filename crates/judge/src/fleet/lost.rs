//! Servers that had values before the change and have none after it, or no load: the change may have taken them out.
//!
//! They are counted before any server is left out. A server that is left out because of what happened to it after the change
//! takes its outcome with it, and the rest of its group looks the better for it.

use super::alarm::{ALARM_P, check};
use super::difference::group_difference;
use super::error::FleetError;
use super::missing::{HighShift, MissingValues};
use super::question::FleetQuestion;
use super::rows;
use super::strata;
use super::usable::{ENOUGH_SHARE, Usable, believed};
use plumb_model::figure::{p_value, percent};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::{FleetGroup, FleetServer};
use plumb_stats::fleet::lost_servers::{Losses, chance_of_losses};
use plumb_stats::fleet::permutation::smallest_p;
use std::collections::{BTreeMap, BTreeSet};

/// Share of a group's servers that it lost beyond the other group's share, from which it matters whatever chance does (ours).
const LOST_SHARE: f64 = 0.1;

/// A single server dies of itself now and then (ours).
const LOST_LEAST: u64 = 2;

const GROUPS: [FleetGroup; 2] = [FleetGroup::Control, FleetGroup::Test];

/// The servers of one group by their fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    /// With values before the change.
    had: u64,
    /// Of these, without values after it.
    silent: u64,
    /// Of these, with values after it, and without load.
    idle: u64,
    /// Of the silent ones, those that are compared all the same: they have values in the intervals that both groups have.
    compared: u64,
}

impl Tally {
    fn lost(self) -> u64 {
        self.silent + self.idle
    }

    fn share(self) -> f64 {
        self.lost() as f64 / self.had.max(1) as f64
    }

    /// The figures that the lost servers are in, in words.
    fn in_figures(self, group: FleetGroup) -> String {
        let (group, lost) = (group.name(), self.lost());
        let are = |n: u64| if n == 1 { "1 is".to_owned() } else { format!("{n} are") };
        match lost - self.compared {
            out if out == lost => "They are in no figure".to_owned(),
            0 => format!(
                "The {group} servers among them are in the figures, which are of the time when both groups still had values, and of \
                 nothing later"
            ),
            out => format!(
                "Of the {group} servers among them {} in no figure, and {} in those of the time when both groups still had values, and of \
                 nothing later",
                are(out),
                are(self.compared)
            ),
        }
    }

    /// `9 of the 20 test servers (7: without values after; 2: no load after, load before)`.
    fn words(self, group: FleetGroup) -> String {
        let parts = [(self.silent, "without values after"), (self.idle, "no load after, load before")];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n}: {what}")).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) };
        format!("{} of the {} {} servers{parts}", self.lost(), self.had, group.name())
    }
}

/// The fate of a server at the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It had too little before to lose anything.
    Unknown,
    Stayed,
    Silent,
    Idle,
}

/// The servers of both groups, before any is left out.
#[derive(Debug, Default)]
pub(super) struct Lost {
    control: Tally,
    test: Tally,
    /// Chance of as uneven a loss, within strata.
    p: f64,
    missing: MissingValues,
    /// The servers without values after it.
    silent: BTreeSet<String>,
}

impl Lost {
    /// `sides`: the intervals before and after the change in which at least one group is there.
    pub(super) fn of(
        servers: &[&FleetServer],
        usable: Usable,
        sides: &[Vec<usize>; 2],
        question: &FleetQuestion,
    ) -> Self {
        let stratum = strata::numbers(servers, &question.strata);
        let mut losses = BTreeMap::<u32, Losses>::new();
        let mut lost = Lost::default();
        for (server, stratum) in servers.iter().zip(&stratum) {
            let test = server.group == Some(FleetGroup::Test);
            let fate = fate(server, sides, usable);
            let tally = if test { &mut lost.test } else { &mut lost.control };
            tally.had += u64::from(fate != Fate::Unknown);
            tally.silent += u64::from(fate == Fate::Silent);
            lost.silent.extend((fate == Fate::Silent).then(|| server.name.clone()));
            tally.idle += u64::from(fate == Fate::Idle);
            let of_stratum = losses.entry(*stratum).or_default();
            let gone = u64::from(matches!(fate, Fate::Silent | Fate::Idle));
            let (had, of_group) = match test {
                true => (&mut of_stratum.test, &mut of_stratum.test_lost),
                false => (&mut of_stratum.control, &mut of_stratum.control_lost),
            };
            *had += u64::from(fate != Fate::Unknown);
            *of_group += gone;
        }
        lost.p = chance_of_losses(&losses.into_values().collect::<Vec<_>>());
        let intervals = || sides.iter().flatten();
        let lacks = |server: &&FleetServer| {
            let lacking = intervals().filter(|at| !usable.at(server, **at)).count();
            lacking as f64 / intervals().count().max(1) as f64
        };
        let shares: Vec<f64> = servers.iter().map(lacks).collect();
        let test: Vec<bool> = servers.iter().map(|server| server.group == Some(FleetGroup::Test)).collect();
        let p = group_difference(&test, &stratum, &shares, question).map(|found| found.p);
        // Without any spread within the groups nothing can be estimated, and they could not be more unlike.
        let alike_within = |group: bool| {
            let mut of_group =
                shares.iter().zip(&test).filter(|(_, test)| **test == group).map(|(it, _)| *it);
            of_group.next().is_some_and(|first| of_group.all(|share| share == first))
        };
        let p = p.or_else(|| {
            let parted = alike_within(true) && alike_within(false);
            parted.then(|| smallest_p(&test, &stratum))
        });
        lost.missing = MissingValues::of(&shares, &test, p);
        lost
    }

    /// Once it is known who is compared.
    pub(super) fn count_compared(&mut self, servers: &[&FleetServer]) {
        for server in servers.iter().filter(|server| self.silent.contains(&server.name)) {
            let test = server.group == Some(FleetGroup::Test);
            let tally = if test { &mut self.test } else { &mut self.control };
            tally.compared += 1;
        }
    }

    /// The group that lost more of its servers, then the other.
    fn ordered(&self) -> [(FleetGroup, Tally); 2] {
        let both = [(GROUPS[0], self.control), (GROUPS[1], self.test)];
        if self.test.share() >= self.control.share() { [both[1], both[0]] } else { both }
    }

    /// True if the servers that are left of a group no longer stand for it.
    fn decides(&self) -> bool {
        let [(_, more), (_, fewer)] = self.ordered();
        let matters = more.share() - fewer.share() >= LOST_SHARE && more.lost() >= LOST_LEAST;
        fewer.had > 0 && more.lost() > 0 && (self.p < ALARM_P || matters)
    }

    /// The error where too few servers are left of a group for any comparison.
    pub(super) fn error(&self) -> Option<FleetError> {
        let [(group, more), (_, fewer)] = self.ordered();
        let (lost, had, other_lost, other_had) = (more.lost(), more.had, fewer.lost(), fewer.had);
        self.decides().then_some(FleetError::Lost { group, lost, had, other_lost, other_had })
    }

    /// The check of what is missing: servers, else values.
    pub(super) fn check(&self, high_shift: &dyn Fn() -> HighShift) -> Check {
        let row = &rows::MISSING;
        let [(group, more), (other, fewer)] = self.ordered();
        if more.lost() == 0 {
            return self.missing.check(high_shift);
        }
        let said = format!(
            "{} that were there before the change are gone after it, and {}; chance alone takes them so unevenly with {}",
            more.words(group),
            fewer.words(other),
            p_value(self.p)
        );
        if self.decides() {
            let statement = format!(
                "{said}. {}: what is left of the {} group cannot speak for it.",
                more.in_figures(group),
                group.name()
            );
            return check(row, CheckOutcome::Failed, statement, Some(self.p));
        }
        let values = self.missing.check(high_shift);
        let many = more.share() >= LOST_SHARE;
        let outcome = match values.outcome {
            CheckOutcome::Passed if many || more.lost() > fewer.lost() => CheckOutcome::Warning,
            other => other,
        };
        let of_rest = if many {
            format!(" {}: {} of the {} group.", more.in_figures(group), percent(more.share()), group.name())
        } else {
            String::new()
        };
        check(row, outcome, format!("{said}.{of_rest} {}", values.statement), Some(self.p))
    }
}

fn fate(server: &FleetServer, sides: &[Vec<usize>; 2], usable: Usable) -> Fate {
    let enough = |intervals: &[usize], n: usize| {
        !intervals.is_empty() && n as f64 >= ENOUGH_SHARE * intervals.len() as f64
    };
    let whole = |intervals: &[usize]| {
        enough(intervals, intervals.iter().filter(|at| usable.at(server, **at)).count())
    };
    let loads = |intervals: &[usize]| -> Vec<f64> {
        let loads = intervals.iter().filter_map(|at| server.load.get(*at).copied().flatten());
        loads.filter(believed).collect()
    };
    let idle = |intervals: &[usize]| {
        let loads = loads(intervals);
        usable.adjusted && enough(intervals, loads.len()) && loads.iter().sum::<f64>() == 0.0
    };
    let [before, after] = sides;
    match () {
        () if !whole(before) || idle(before) || after.is_empty() => Fate::Unknown,
        () if idle(after) => Fate::Idle,
        () if !whole(after) => Fate::Silent,
        () => Fate::Stayed,
    }
}
