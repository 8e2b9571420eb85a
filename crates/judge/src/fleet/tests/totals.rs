//! The verdicts that the second opinion takes away, and those that it lets stand.

use super::*;

#[test]
fn totals_agree_where_the_change_does_the_same_to_every_server() {
    for (drops, truth) in [(fewer as fn(bool, usize) -> f64, 0.05f64), (|_, _| 1.0, 1.0)] {
        let result = of(&Fleet { drops, ..USUAL });
        let found = check(&result, "totals");
        assert_eq!(found.outcome, CheckOutcome::Passed, "{truth}: {found:?}");
        assert!(
            found
                .statement
                .starts_with("All drops of a group together, at equal load of each server, have the ratio ")
        );
    }
    let level = FleetQuestion { metric_kind: SampleKind::Level, ..question() };
    let result = result(&USUAL.table(), &level).unwrap();
    assert!(result.checks.iter().all(|check| check.id != "totals"), "a percentile has no total");
}

#[test]
fn fewer_days_with_drops_are_not_better_when_as_many_drops_come_in_them() {
    // A fifth of the days, five times the drops in each.
    let mut table = Fleet { level: 0.3, servers: 300, ..USUAL }.table();
    let mut random = Random::new(5);
    for server in table.servers.iter_mut().filter(|server| server.group == Some(FleetGroup::Test)) {
        for value in server.metric[BEFORE..].iter_mut().flatten() {
            *value *= if random.unit() < 0.2 { 5.0 } else { 0.0 };
        }
    }
    let result = result(&table, &question()).unwrap();
    assert!(
        result.findings.iter().any(|finding| finding.claim.contains("share of intervals")),
        "{:?}",
        result.findings
    );
    assert!(result.interval_high.unwrap() < 0.6, "what is to be taken away: {result:?}");
    let found = check(&result, "totals");
    assert_eq!(found.outcome, CheckOutcome::Failed, "{found:?}");
    assert_eq!((result.verdict, result.reason.as_ref()), (Verdict::Undecided, Some(&found.statement)));
}

#[test]
fn a_fall_that_both_groups_have_is_not_the_changes_where_one_group_hardly_drops_anything() {
    // The test group drops a thousandth of what the control group does, and everything falls to a fifth for both.
    let fell =
        |test: bool, day: usize| (if test { 0.001 } else { 1.0 }) * if day >= BEFORE { 0.2 } else { 1.0 };
    let result = of(&Fleet { drops: fell, level: 200.0, servers: 300, ..USUAL });
    assert!(result.interval_high.unwrap() < 0.6, "what is to be taken away: {result:?}");
    assert_eq!(check(&result, "totals").outcome, CheckOutcome::Failed, "{:#?}", result.checks);
    assert_eq!(result.verdict, Verdict::Undecided);
}

#[test]
fn a_typical_server_that_is_better_does_not_speak_for_a_fleet_whose_drops_are_elsewhere() {
    let mut table = Fleet { servers: 60, ..USUAL }.table();
    for (place, server) in table.servers.iter_mut().enumerate() {
        let test = server.group == Some(FleetGroup::Test);
        // One server in six has nearly all drops, and the change does nothing to it.
        let factor = if place / 2 % 6 == 0 { 100.0 } else { 1.0 };
        let effect = if test && factor == 1.0 { 0.5 } else { 1.0 };
        server.metric.iter_mut().flatten().for_each(|value| *value *= factor);
        server.metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= effect);
    }
    let result = result(&table, &question()).unwrap();
    assert!(result.interval_high.unwrap() < 0.8, "{:?}", result.interval_high);
    assert_eq!(check(&result, "totals").outcome, CheckOutcome::Failed, "{:#?}", result.checks);
    assert_eq!(result.verdict, Verdict::Undecided);
}

#[test]
fn one_server_with_most_of_the_drops_does_not_take_a_verdict_away() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    for value in table.servers[0].metric.iter_mut().flatten() {
        *value *= 5_000.0;
    }
    // It is one that the change did nothing for.
    table.servers[0].metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= 20.0);
    let result = result(&table, &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Better, "{:#?}", result.checks);
}

#[test]
fn totals_that_point_the_other_way_do_not_agree() {
    let fewer = |test: bool, day: usize| if test && day >= BEFORE { 0.6 } else { 1.0 };
    for seed in 0..4 {
        let mut table = Fleet { servers: 60, seed, drops: fewer, ..USUAL }.table();
        // Of five test servers the drops are ninefold.
        for server in table.servers.iter_mut().filter(|it| it.group == Some(FleetGroup::Test)).take(5) {
            server.metric[BEFORE..].iter_mut().flatten().for_each(|drops| *drops *= 9.0 / 0.6);
        }
        let result = result(&table, &question()).unwrap();
        let found = check(&result, "totals");
        assert!(
            result.interval_high.unwrap() < 1.0,
            "of a typical server there are fewer: {:?}",
            result.interval_high
        );
        assert!(found.outcome == CheckOutcome::Warning || found.outcome == CheckOutcome::Failed, "{found:?}");
        assert!(!found.statement.contains("agrees"), "{found:?}");
    }
}
