//! Values that are missing in one group: where the metric was high on all servers, and where it was on those that lack them.

use super::*;

const BUSY: std::ops::Range<usize> = BEFORE + 1..BEFORE + 4;

/// 20 + 20 servers, drops threefold on three days after the change, of which two in five test servers have no rows.
fn without_busy_days(seed: u64, drops: fn(bool, usize) -> f64) -> FleetTable {
    let mut table = Fleet { servers: 20, seed, drops, ..USUAL }.table();
    for (place, server) in table.servers.iter_mut().enumerate() {
        if place % 2 == 0 && place / 2 % 5 < 2 {
            server.metric[BUSY].fill(None);
            server.load[BUSY].fill(None);
        }
    }
    table
}

fn busy(_: bool, day: usize) -> f64 {
    if BUSY.contains(&day) { 3.0 } else { 1.0 }
}

/// The results of fleets without an effect.
#[derive(Default)]
struct OfFleets {
    /// Intervals without 1 in them.
    apart: usize,
    /// Results with p of 5 % at most.
    rare: usize,
    /// Verdicts of better or worse.
    told: usize,
    /// The mean logarithm of the effect.
    mean: f64,
}

fn of_fleets(
    fleets: std::ops::Range<u64>,
    table: &dyn Fn(u64) -> FleetTable,
    question: &FleetQuestion,
) -> OfFleets {
    let n = (fleets.end - fleets.start) as f64;
    let mut all = OfFleets::default();
    for seed in fleets {
        let result = result(&table(seed), question).unwrap();
        let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
        all.apart += usize::from(low > 1.0 || high < 1.0);
        all.rare += usize::from(result.p.unwrap() <= 0.05);
        all.told += usize::from(matches!(result.verdict, Verdict::Better | Verdict::Worse));
        all.mean += result.effect_ratio.unwrap().ln() / n;
    }
    all
}

fn unloaded() -> FleetQuestion {
    FleetQuestion { load: None, ..question() }
}

#[test]
fn busy_days_that_one_group_lacks_do_not_make_it_better() {
    for (kind, more) in [(SampleKind::Increments, 0.0), (SampleKind::Level, 1.0)] {
        let question = FleetQuestion { metric_kind: kind, ..unloaded() };
        let table = |seed: u64| {
            let mut table = without_busy_days(seed, busy);
            table.servers.iter_mut().for_each(|it| it.metric.iter_mut().flatten().for_each(|v| *v += more));
            table
        };
        let OfFleets { apart, rare, told, mean } = of_fleets(500..516, &table, &question);
        // 0.8 are expected; 4 or more in 1 of 100 (binomial).
        assert!(apart < 4 && rare < 4 && told < 2, "{kind:?}: {apart} {rare} {told}");
        assert!(mean.abs() < 0.02, "{kind:?}: {mean}");
    }
}

#[test]
fn what_the_change_does_is_found_all_the_same_and_so_are_the_means_of_the_groups() {
    let fewer_and_busy = |test: bool, day: usize| busy(test, day) * fewer(test, day);
    let result = result(&without_busy_days(3, fewer_and_busy), &unloaded()).unwrap();
    let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
    assert!(low < 0.05 && 0.05 < high && high / low < 1.3, "{low} to {high}");
    let found = check(&result, "missing");
    assert_eq!(found.outcome, CheckOutcome::Warning, "{found:?}");
    assert!(found.statement.ends_with("and what is said stands even so."), "{found:?}");
    assert_eq!(result.verdict, Verdict::Better);
}

#[test]
fn shares_of_intervals_and_loads_lack_the_busy_days_alike() {
    let rare = |seed: u64| {
        let mut table = without_busy_days(seed, busy);
        let mut random = Random::new(seed);
        for value in table.servers.iter_mut().flat_map(|server| server.metric.iter_mut().flatten()) {
            *value = f64::from(u8::from(random.unit() < *value / 80_000.0));
        }
        table
    };
    let shown = (0..8).filter(|seed| {
        let result = result(&rare(900 + seed), &unloaded()).unwrap();
        assert!(result.of_shares);
        result.p.is_some_and(|p| p <= 0.05)
    });
    // 0.4 are expected; 3 or more in 1 of 170 (binomial).
    assert!(shown.count() < 3);
    let surge = |_: bool, day: usize| if BUSY.contains(&day) { 2.0 } else { 1.0 };
    let loaded = |seed: u64| {
        let mut table = Fleet { servers: 20, seed, load: surge, ..USUAL }.table();
        for (place, server) in table.servers.iter_mut().enumerate() {
            if place % 2 == 0 && place / 2 % 5 < 2 {
                server.metric[BUSY].fill(None);
                server.load[BUSY].fill(None);
            }
        }
        table
    };
    let OfFleets { apart, rare, mean, .. } = of_fleets(700..716, &loaded, &question());
    assert!(apart < 4 && rare < 4 && mean.abs() < 0.02, "{apart} {rare} {mean}");
    let moved = result(&loaded(700), &question()).unwrap();
    assert_eq!(check(&moved, "interference").outcome, CheckOutcome::Passed, "{:#?}", moved.checks);
}

#[test]
fn values_that_are_missing_because_they_were_high_take_the_verdict() {
    // The highest third of each test server's days after the change is not there.
    let mut table = Fleet { servers: 20, ..USUAL }.table();
    for server in table.servers.iter_mut().filter(|server| server.group == Some(FleetGroup::Test)) {
        for _ in 0..2 {
            let most = server.metric[BEFORE..].iter().flatten().copied().fold(0.0, f64::max);
            let at = server.metric.iter().rposition(|value| *value == Some(most)).unwrap();
            server.metric[at] = None;
        }
    }
    let result = result(&table, &unloaded()).unwrap();
    assert!(result.interval_high.unwrap() < 1.0, "what is to be taken away: {:?}", result.interval_high);
    let found = check(&result, "missing");
    assert_eq!(found.outcome, CheckOutcome::Failed, "{found:?}");
    assert_eq!((result.verdict, result.reason.as_ref()), (Verdict::Undecided, Some(&found.statement)));
}

/// Four hundred fleets for the guide's figure: `cargo test --release -p plumb-judge -- --ignored`.
#[test]
#[ignore = "minutes"]
fn many_fleets_that_lack_busy_days() {
    let OfFleets { apart, rare, told, mean } =
        of_fleets(0..400, &|seed| without_busy_days(seed, busy), &unloaded());
    println!("interval {apart}, p {rare}, told {told} of 400; bias {mean:.4}");
    assert!((8..=34).contains(&apart) && (8..=34).contains(&rare) && mean.abs() < 0.01);
}
