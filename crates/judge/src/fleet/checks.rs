//! The checks for faults that would make the comparison wrong. Those of traffic are in `traffic.rs`, the time before in
//! `pre_trend.rs`.

use super::alarm::{ALARM_P, SUSPECT_P, by_chance, check};
use super::compared::Compared;
use super::difference::{GroupDifference, group_difference};
use super::estimate::Estimate;
use super::follow::follow;
use super::hidden::{coverage, restarts};
use super::high_shift::high_shift;
use super::leave_out::leave_one_out;
use super::one_day::one_day;
use super::pre_trend::{self, INTERVALS_ENOUGH, TimeBefore};
use super::question::FleetQuestion;
use super::rows;
use super::servers::servers;
use super::stamps::stamps;
use super::strata::{self, LeftOut};
use super::surge::FoundSurge;
use super::totals::totals;
use super::traffic::{interference, overlap};
use super::units::Units;
use crate::row::Row;
use plumb_model::figure::{change, counted, percent};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::{FleetUnit, SampleKind};
use plumb_stats::ends::Ends;

/// Every check, in the order in which they are read.
pub(super) fn checks(
    compared: &Compared,
    estimate: &Estimate,
    surge: Option<&FoundSurge>,
    question: &FleetQuestion,
) -> Vec<Check> {
    let mut checks = Vec::new();
    if !question.strata.is_empty() {
        checks.push(mixed(compared, question));
    }
    checks.extend(parted(compared));
    checks.extend(follow(compared, question));
    checks.extend([
        servers(compared, estimate, question),
        balance(compared, question),
        exposure(compared, question),
    ]);
    checks.extend(stamps(compared, question));
    checks.extend([
        missing(compared, estimate, question),
        coverage(compared, estimate, question),
        one_day(compared, estimate, question),
        before(&rows::PRE_TREND, pre_trend::trend(compared, question), estimate, question),
        before(&rows::PLACEBO, pre_trend::placebo(compared, question), estimate, question),
        drift(compared, estimate, question),
        overlap(compared, estimate, question),
        interference(compared, estimate, question),
        leave_one_out(compared, estimate, question),
    ]);
    checks.extend(restarts(compared, estimate, question));
    // A level has no total.
    if question.metric_kind != SampleKind::Level {
        checks.push(totals(compared, estimate, question));
    }
    checks.push(surged(surge));
    checks
}

/// The check for whole sites, or kinds of hardware, in one group or the other.
fn parted(compared: &Compared) -> Option<Check> {
    let units = &compared.units;
    let row = match units.kind {
        FleetUnit::Server => return None,
        FleetUnit::Site => &rows::SITE,
        FleetUnit::Hardware => &rows::HARDWARE,
    };
    let [control, test] = units.counts();
    let statement = format!(
        "No {} has both groups, and whatever else comes to one comes to all of its servers: so {} are held against each other, {test} test \
         against {control} control, and not their servers. Groups with servers of each {} would show far more.",
        units.word(),
        units.words(),
        units.word()
    );
    Some(check(row, CheckOutcome::Warning, statement, None))
}

/// The check for a stratum that has both groups.
fn mixed(compared: &Compared, question: &FleetQuestion) -> Check {
    let kind = strata::words(&question.strata);
    if compared.mixed {
        let statement = format!(
            "Servers are compared within {} of {kind}.",
            match compared.strata {
                1 => "1 stratum".to_owned(),
                n => format!("{n} strata"),
            }
        );
        return check(&rows::STRATA, CheckOutcome::Passed, statement, None);
    }
    let statement = format!("No {kind} has both groups: the change cannot be told from the {kind}.");
    check(&rows::STRATA, CheckOutcome::Failed, statement, None)
}

/// A test of one level of each server between the groups, in their strata.
fn alike(compared: &Compared, levels: &[Option<f64>], question: &FleetQuestion) -> Option<GroupDifference> {
    let units = &compared.units;
    let levels = units.mean_of_known(levels);
    let known: Vec<usize> = (0..levels.len()).filter(|&at| levels[at].is_some()).collect();
    let test: Vec<bool> = known.iter().map(|&at| units.test[at]).collect();
    let stratum: Vec<u32> = known.iter().map(|&at| units.stratum[at]).collect();
    let values: Vec<f64> = known.iter().filter_map(|&at| levels[at]).collect();
    group_difference(&test, &stratum, &values, question)
}

/// The metric before the change.
fn balance(compared: &Compared, question: &FleetQuestion) -> Check {
    let level = |server: &&plumb_model::fleet::FleetServer| compared.metric_level(server, &compared.before);
    let levels: Vec<Option<f64>> = compared.servers.iter().map(level).collect();
    let what = format!("{} before the change", question.metric);
    let mut found = level_check(&rows::BALANCE, &what, alike(compared, &levels, question), &compared.units);
    let LeftOut { control, test } = compared.left_out;
    if control + test > 0 {
        let all = control + test + compared.servers.len() as u64;
        found.statement.push_str(&format!(
            " {} of {all} servers ({}: {test} test, {control} control) are of a {} that has one group only, and are left out: what is \
             said is of the others.",
            control + test,
            percent((control + test) as f64 / all as f64),
            strata::words(&question.strata)
        ));
        found.outcome = CheckOutcome::Warning;
    }
    found
}

/// The load before the change: whether each group bears what its servers should.
fn exposure(compared: &Compared, question: &FleetQuestion) -> Check {
    let Some(load) = &question.load else {
        let statement = "No load was given: whether the groups bear alike is not known.".to_owned();
        return check(&rows::EXPOSURE, CheckOutcome::Unknown, statement, None);
    };
    let level = |server: &&plumb_model::fleet::FleetServer| compared.load_level(server, &compared.before);
    let levels: Vec<Option<f64>> = compared.servers.iter().map(level).collect();
    level_check(
        &rows::EXPOSURE,
        &format!("{load} before the change"),
        alike(compared, &levels, question),
        &compared.units,
    )
}

fn level_check(row: &Row, what: &str, found: Option<GroupDifference>, units: &Units) -> Check {
    let Some(GroupDifference { log_ratio, p }) = found else {
        return check(row, CheckOutcome::Unknown, format!("{what} could not be compared."), None);
    };
    let (word, words) = (units.word(), units.words());
    let apart = change(log_ratio.exp());
    let said = format!(
        "{what}: the test group's is {apart} against the control group's, typical {word} by typical {word}"
    );
    if p >= ALARM_P {
        return check(row, CheckOutcome::Passed, format!("{said}; {}.", by_chance(p)), Some(p));
    }
    let statement = format!(
        "{said}. Chance hardly ever makes groups so unlike, so they were not drawn at random. Changes are compared, not levels, but \
         unlike {words} may also change unlike."
    );
    check(row, CheckOutcome::Warning, statement, Some(p))
}

/// The check for servers that went with the change, and for values that one group lacks more than the other.
fn missing(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    compared.lost.check(&|| high_shift(compared, estimate, question))
}

/// The time before the change. What is seen there fails the comparison when the effect does not bear being shifted by as much.
fn before(row: &Row, found: Option<TimeBefore>, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let Some(found) = found else {
        let statement = "The time before the change has too few intervals to look for it.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    };
    if found.p >= ALARM_P {
        let said = format!("{}; {}.", found.what.trim_end_matches('.'), by_chance(found.p));
        if !found.drift.is_some_and(|drift| explains(drift, estimate, question)) {
            return check(row, CheckOutcome::Passed, said, Some(found.p));
        }
        let outcome = if found.p < SUSPECT_P { CheckOutcome::Failed } else { CheckOutcome::Warning };
        let statement = format!(
            "{said} So few intervals before the change cannot tell a drift from chance, and going on it would make what is seen after \
             the change: give at least {INTERVALS_ENOUGH} of them."
        );
        return check(row, outcome, statement, Some(found.p));
    }
    let bears = estimate
        .log_interval(question.level)
        .is_some_and(|ends| ends.low - found.shift > 0.0 || ends.high + found.shift < 0.0);
    if bears {
        let statement = format!(
            "{} That is more than chance, but the effect stands even when shifted by as much.",
            found.what
        );
        return check(row, CheckOutcome::Warning, statement, Some(found.p));
    }
    if found.shift <= (1.0 + question.margin).ln() {
        let statement = format!("{} That is more than chance, but within the margin.", found.what);
        return check(row, CheckOutcome::Warning, statement, Some(found.p));
    }
    let statement =
        format!("{} That is more than chance: the groups went apart without the change.", found.what);
    check(row, CheckOutcome::Failed, statement, Some(found.p))
}

/// The check for groups that may have drifted apart all along, which no few days before the change can rule out.
fn drift(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::DRIFT;
    let Some(found) = pre_trend::course(compared) else {
        let statement =
            "With one interval before the change a drift and a change are the same thing.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    };
    let leaves = format!(
        "a change at that time leaves {} of how the groups' difference varied over all intervals, a steady drift from the first one on {}",
        percent(found.step_leaves),
        percent(found.drift_leaves)
    );
    let shown = estimate.log_interval(question.level).is_some_and(|ends| ends.excludes(0.0));
    let same = estimate.log_ratio.is_none_or(|log_ratio| log_ratio.value * found.drift > 0.0);
    if !(shown && same && found.drift_explains()) {
        let statement = format!("Of two explanations, {leaves}.");
        return check(row, CheckOutcome::Passed, statement, None);
    }
    let statement = format!(
        "Groups that drifted apart all along explain the figures as well as the change does: {leaves}. More intervals before the change, or \
         groups drawn at random, would decide it."
    );
    check(row, CheckOutcome::Failed, statement, None)
}

/// True if a drift that goes on is enough for the difference after the change.
fn explains(drift: f64, estimate: &Estimate, question: &FleetQuestion) -> bool {
    estimate.log_interval(question.level).is_some_and(|Ends { low, high }| {
        (low > 0.0 && low - drift <= 0.0) || (high < 0.0 && high - drift >= 0.0)
    })
}

fn surged(surge: Option<&FoundSurge>) -> Check {
    let Some(found) = surge else {
        let statement =
            "The load of both groups together has no surge, or too few intervals to see one.".to_owned();
        return check(&rows::SURGE, CheckOutcome::Passed, statement, None);
    };
    let surge = &found.surge;
    let until = surge.until.as_ref().map_or_else(|| "the end".to_owned(), Clone::clone);
    let statement = format!(
        "From {} until {until} the load was {} ({}){}.",
        surge.from,
        change(found.rise.exp()),
        counted(found.intervals as u64, "interval"),
        if found.given { ", as given" } else { "" }
    );
    check(&rows::SURGE, CheckOutcome::Warning, statement, found.p)
}
