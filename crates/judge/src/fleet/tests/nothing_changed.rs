//! Fleets that the change did nothing to and something else befell: how often they are called better or worse.

use super::drift::lasting;
use super::few::rare;
use super::stamps::{hourly, nine_hours_late};
use super::*;

/// A disturbance of a fleet, with the question.
struct Fault {
    name: &'static str,
    table: fn(u64) -> FleetTable,
    question: fn() -> FleetQuestion,
}

/// The twentieth day, five after the change.
const SURGE: usize = 19;

fn usual(seed: u64) -> FleetTable {
    Fleet { servers: 20, seed, ..USUAL }.table()
}

fn unloaded() -> FleetQuestion {
    FleetQuestion { load: None, ..question() }
}

fn surge_of_all(seed: u64) -> FleetTable {
    let load = |_: bool, day: usize| if day == SURGE { 3.0 } else { 1.0 };
    Fleet { servers: 20, seed, load, ..USUAL }.table()
}

fn surge_of_one_group(seed: u64) -> FleetTable {
    let load = |test: bool, day: usize| if !test && day == SURGE { 3.0 } else { 1.0 };
    Fleet { servers: 20, seed, load, ..USUAL }.table()
}

fn incident_of_one_group(seed: u64) -> FleetTable {
    let drops = |test: bool, day: usize| if !test && day == SURGE { 5.0 } else { 1.0 };
    Fleet { servers: 20, seed, drops, ..USUAL }.table()
}

/// One server has a hundred times its drops from the change on.
fn one_far_out(seed: u64, place: usize) -> FleetTable {
    let mut table = usual(seed);
    table.servers[place].metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= 100.0);
    table
}

/// A gauge that is 0 on three days in ten, of either group.
fn gauge_with_zeros(seed: u64) -> FleetTable {
    let mut table = usual(seed);
    let mut random = Random::new(seed + 5_000);
    for value in table.servers.iter_mut().flat_map(|server| server.metric.iter_mut().flatten()) {
        *value = if random.unit() < 0.3 { 0.0 } else { *value / 7.3 };
    }
    table
}

/// The two highest days after the change are not there, of each test server.
fn worst_days_missing(seed: u64) -> FleetTable {
    let mut table = usual(seed);
    for server in table.servers.iter_mut().filter(|server| server.group == Some(FleetGroup::Test)) {
        for _ in 0..2 {
            let most = server.metric[BEFORE..].iter().flatten().copied().fold(0.0, f64::max);
            let at = server.metric.iter().rposition(|value| *value == Some(most)).unwrap();
            server.metric[at] = None;
        }
    }
    table
}

const DAILY: [Fault; 11] = [
    Fault { name: "nothing", table: usual, question },
    Fault { name: "one group grows by 1 % a day", table: |seed| lasting(20, 1.01, 1.0, seed), question },
    Fault { name: "one group falls by 1 % a day", table: |seed| lasting(20, 0.99, 1.0, seed), question },
    Fault { name: "a surge of one day", table: surge_of_all, question },
    Fault { name: "a surge of one day in one group", table: surge_of_one_group, question },
    Fault { name: "five times the drops on one day in one group", table: incident_of_one_group, question },
    Fault { name: "one test server at 100 times", table: |seed| one_far_out(seed, 6), question },
    Fault { name: "one control server at 100 times", table: |seed| one_far_out(seed, 7), question },
    Fault { name: "half an event a day", table: |seed| rare(20, 0.5, 1.0, seed), question },
    Fault {
        name: "a gauge with zeros",
        table: gauge_with_zeros,
        question: || FleetQuestion { metric_kind: SampleKind::Level, ..question() },
    },
    Fault { name: "the worst days of one group are missing", table: worst_days_missing, question: unloaded },
];

const LATE: Fault = Fault { name: "stamps nine hours late", table: nine_hours_late, question: hourly };

/// The number of fleets that are called better or worse.
fn called_different(fault: &Fault, fleets: u64) -> u64 {
    let question = (fault.question)();
    let different = |seed: &u64| {
        let result = result(&(fault.table)(20_000 + seed), &question).unwrap();
        matches!(result.verdict, Verdict::Better | Verdict::Worse)
    };
    (0..fleets).filter(different).count() as u64
}

#[test]
fn what_else_befalls_a_fleet_is_hardly_ever_taken_for_the_change() {
    for fault in &DAILY {
        let different = called_different(fault, 20);
        // At 5 %, five or more of 20 come in 1 of 390 (binomial).
        assert!(different <= 4, "{}: {different} of 20", fault.name);
    }
}

#[test]
#[ignore = "a simulation: make simulations"]
fn many_fleets_that_the_change_did_nothing_to() {
    let each = DAILY.iter().map(|fault| (fault, 400)).chain([(&LATE, 60)]);
    let shares: Vec<(&str, f64)> = each
        .map(|(fault, fleets)| {
            let share = called_different(fault, fleets) as f64 / fleets as f64;
            eprintln!("{}: {:.1} % of {fleets}", fault.name, 100.0 * share);
            (fault.name, share)
        })
        .collect();
    // Two standard errors of 400 above 5 %. A group that drifts by 1 % a day passes for the change in 9 to 12 %: the guide says so.
    let most = |name: &str| if name.ends_with("1 % a day") { 0.15 } else { 0.072 };
    let wrong: Vec<_> = shares.iter().filter(|(name, share)| *share > most(name)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
