//! A change that takes a metric away altogether, or brings one that was not there.

use super::*;

#[test]
fn a_change_that_leaves_nothing_of_a_hundred_a_day_is_better_and_one_that_brings_them_is_worse() {
    let gone = |test: bool, day: usize| if test && day >= BEFORE { 0.0 } else { 1.0 };
    let new = |test: bool, day: usize| if test && day < BEFORE { 0.0 } else { 1.0 };
    for servers in [6, 30] {
        for load in [Some("packets".to_owned()), None] {
            let question = FleetQuestion { load, ..question() };
            let fleet = Fleet { servers, level: 112.0, drops: gone, ..USUAL };
            let result = super::result(&fleet.table(), &question).unwrap();
            assert_eq!(result.verdict, Verdict::Better, "{:#?}", result.summary);
            assert!(result.p.unwrap() < 0.003);
            assert_eq!((result.effect_ratio, result.interval_low), (None, Some(0.0)));
            assert!((1e-5..0.2).contains(&result.interval_high.unwrap()), "{:?}", result.interval_high);
            assert!(
                result.summary[0].starts_with("Better: lower drops with the change, a ratio below 0.0"),
                "{:?}",
                result.summary
            );
            let result = super::result(&Fleet { drops: new, ..fleet }.table(), &question).unwrap();
            assert_eq!(result.verdict, Verdict::Worse, "{:#?}", result.summary);
            assert!(result.interval_low.unwrap() > 5.0 && result.interval_high.is_none());
            assert!(
                result
                    .findings
                    .iter()
                    .any(|it| it.claim.contains("so there is no ratio: p is of the share of intervals"))
            );
            assert!(!result.summary.iter().any(|said| said.contains("seldom")));
        }
    }
}

#[test]
fn errors_that_nobody_had_before_are_worse_on_the_test_servers_alone() {
    let only_there = |test: bool, day: usize| if test && day >= BEFORE { 1.0 } else { 0.0 };
    let mut table = Fleet { servers: 10, level: 112.0, drops: only_there, ..USUAL }.table();
    // A group of which every value is 0 is no measurement.
    table.servers[1].metric[0] = Some(1.0);
    let result = result(&table, &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Worse, "{:#?}", result.summary);
    assert_eq!((result.interval_low, result.interval_high), (None, None));
    assert!(
        result.summary[0]
            .starts_with("Worse: higher drops with the change, by how much has no ratio (p < 0.001)"),
        "{:?}",
        result.summary
    );
}

#[test]
fn three_servers_without_any_event_left_prove_nothing() {
    let gone = |test: bool, day: usize| if test && day >= BEFORE { 0.0 } else { 1.0 };
    let result = of(&Fleet { servers: 3, level: 112.0, drops: gone, ..USUAL });
    assert_eq!(result.verdict, Verdict::Undecided);
    assert_eq!(check(&result, "servers").outcome, CheckOutcome::Failed);
}

/// Three events a week in 20 servers: that none is seen in the test group after the change is chance.
#[test]
fn nothing_left_of_next_to_nothing_is_undecided() {
    let gone = |test: bool, day: usize| if test && day >= BEFORE { 0.0 } else { 1.0 };
    let mut decided = 0;
    for seed in 40..60 {
        let result = of(&Fleet { servers: 20, level: 0.02, drops: gone, seed, ..USUAL });
        decided += u32::from(result.verdict != Verdict::Undecided);
        assert!(result.interval_high.is_none_or(|high| high > 0.1), "{:?}", result.summary);
    }
    assert!(decided <= 2, "{decided}");
}
