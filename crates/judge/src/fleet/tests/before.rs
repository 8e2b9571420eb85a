//! Drifts that too few intervals before the change cannot tell from chance.

use super::*;

/// The result of a fleet of which only the last `before` days before the change are known.
fn known_from(before: usize, fleet: &Fleet) -> FleetResult {
    let mut table = fleet.table();
    let out = BEFORE - before;
    table.intervals_start_s.drain(..out);
    for server in &mut table.servers {
        server.metric.drain(..out);
        server.load.drain(..out);
    }
    result(&table, &question()).unwrap()
}

#[test]
fn a_drift_of_three_days_that_would_make_the_effect_takes_the_verdict_though_it_is_no_alarm() {
    let drifting = |test: bool, day: usize| if test { 1.08f64.powi(day as i32) } else { 1.0 };
    let taken = (0..12).filter(|seed| {
        let result = known_from(3, &Fleet { servers: 20, seed: 40 + seed, drops: drifting, ..USUAL });
        assert!(result.interval_low.unwrap() > 1.0, "what is to be taken away: {:?}", result.interval_low);
        let found = check(&result, "pre-trend");
        let said = "going on it would make what is seen after the change: give at least 7 of them.";
        if found.outcome != CheckOutcome::Failed || !found.statement.ends_with(said) {
            return false;
        }
        assert!((0.01..0.2).contains(&found.p.unwrap()), "{found:?}");
        assert_eq!((result.verdict, result.reason.as_ref()), (Verdict::Undecided, Some(&found.statement)));
        true
    });
    assert!(taken.count() > 0);
}

#[test]
fn an_effect_beyond_what_three_days_let_expect_stands_and_two_days_are_told() {
    let fleet = Fleet { servers: 20, drops: fewer, ..USUAL };
    let result = known_from(3, &fleet);
    assert_eq!(check(&result, "pre-trend").outcome, CheckOutcome::Passed, "{:#?}", result.checks);
    assert_eq!(result.verdict, Verdict::Better);
    let said =
        "With 2 intervals before the change nobody can see whether the groups were going apart already.";
    assert!(result.findings.iter().all(|finding| finding.claim != said));
    let few = "With only 3 intervals before the change, groups that were slowly going apart already look like groups that were not";
    assert!(result.findings.iter().any(|finding| finding.claim.starts_with(few)), "{:?}", result.findings);
    let result = known_from(7, &fleet);
    assert!(
        result.findings.iter().all(|finding| !finding.claim.starts_with("With only")),
        "{:?}",
        result.findings
    );
    let result = known_from(2, &fleet);
    assert_eq!(result.verdict, Verdict::Better);
    assert!(result.findings.iter().any(|finding| finding.claim == said), "{:?}", result.findings);
}

#[test]
fn a_drift_that_chance_often_makes_is_a_warning_and_told_with_the_verdict() {
    let less = |test: bool, day: usize| if test && day >= BEFORE { 0.9 } else { 1.0 };
    let warned = (0..40).filter(|seed| {
        let result = known_from(4, &Fleet { seed: 300 + seed, drops: less, ..USUAL });
        let found = check(&result, "pre-trend");
        let warned = found.outcome == CheckOutcome::Warning && found.p.unwrap() >= 0.01;
        let told = result.findings.iter().filter(|finding| finding.id == "few-intervals-before");
        assert_eq!(told.filter(|finding| finding.claim == found.statement).count() == 1, warned, "{found:?}");
        assert!(!warned || found.p.unwrap() >= 0.2, "{found:?}");
        warned
    });
    assert!(warned.count() > 0);
}
