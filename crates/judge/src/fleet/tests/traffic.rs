//! The words on the groups' loads.

use super::*;

#[test]
fn loads_that_are_surely_but_hardly_apart_are_not_called_chance() {
    let slightly = |test: bool, day: usize| if test && day >= BEFORE { 1.03 } else { 1.0 };
    let result = of(&Fleet { load: slightly, ..USUAL });
    let found = check(&result, "interference");
    assert!(found.p.unwrap() < 0.01, "{found:?}");
    assert_eq!(found.outcome, CheckOutcome::Passed);
    assert!(
        found.statement.contains(": more apart than chance makes it (p = 0.001), but only by "),
        "{found:?}"
    );
    assert!(found.statement.ends_with(", below the 5 % from which it matters."), "{found:?}");
    let alike = of(&USUAL);
    assert!(check(&alike, "interference").statement.contains("; chance alone makes as much in "));
}

#[test]
fn a_load_that_is_the_metric_itself_shows_nothing_whatever_the_change_did() {
    for (level, factor, drops) in [
        (2_000.0, 1.0, (|test, day| if test && day >= BEFORE { 0.9 } else { 1.0 }) as fn(bool, usize) -> f64),
        (20.0, 1.0, fewer),
        (2_000.0, 1_460.0, |_, _| 1.0),
    ] {
        let mut table = Fleet { servers: 12, level, drops, ..USUAL }.table();
        for server in &mut table.servers {
            server.load = server.metric.iter().map(|value| value.map(|value| value * factor)).collect();
        }
        let result = result(&table, &question()).unwrap();
        assert_eq!(result.verdict, Verdict::Undecided, "{:?}", result.summary);
        assert!(result.rollout.is_empty());
        let found = check(&result, "overlap");
        assert_eq!(found.outcome, CheckOutcome::Failed);
        assert!(found.statement.starts_with("The load leaves nothing of the metric: "), "{found:?}");
    }
    // A rate that the load drives, with noise of a percent, is another matter.
    let mut random = Random::new(1);
    let mut table = USUAL.table();
    for server in &mut table.servers {
        let load = server.load.clone();
        server.metric = load
            .iter()
            .map(|load| load.map(|load| (0.01 * load * (1.0 + 0.05 * random.normal())).round()))
            .collect();
    }
    let result = result(&table, &question()).unwrap();
    assert_eq!(check(&result, "overlap").outcome, CheckOutcome::Passed);
    assert_eq!(result.verdict, Verdict::Equivalent, "{:?}", result.summary);
}

/// Few drops, so that shares of days are compared, which know nothing of the load; and a surge that hits the test group harder.
#[test]
fn a_surge_that_hits_one_group_harder_is_not_taken_for_the_change_where_shares_are_compared() {
    let surge = |test: bool, day: usize| match (test, day >= BEFORE) {
        (true, true) => 2.7,
        (false, true) => 1.6,
        _ => 1.0,
    };
    let mut told = 0;
    for seed in 0..12 {
        let result = of(&Fleet { servers: 100, level: 0.03, load: surge, seed, ..USUAL });
        assert!(result.of_shares);
        assert_eq!(result.verdict, Verdict::Undecided, "{:?}", result.summary);
        let found = check(&result, "interference");
        told += u32::from(found.outcome == CheckOutcome::Failed);
        assert!(!found.statement.contains("What is said is at equal load"), "{found:?}");
    }
    assert_eq!(told, 12);
    let fewer = |test: bool, day: usize| if test && day >= BEFORE { 0.1 } else { 1.0 };
    // What stands against as much load as there was more is said.
    let against = |test: bool, day: usize| match (test, day >= BEFORE) {
        (true, true) => 1.24,
        (false, true) => 1.2,
        _ => 1.0,
    };
    let result = of(&Fleet { servers: 300, level: 0.06, load: against, drops: fewer, ..USUAL });
    assert_eq!(result.verdict, Verdict::Better, "{:#?}", result.checks);
}
