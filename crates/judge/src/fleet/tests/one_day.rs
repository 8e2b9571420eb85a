//! An incident of one day in one group, without any change: what is said of it, and what it costs fleets that have none.

use super::*;

/// The twentieth day, five after the change.
const INCIDENT: usize = 19;

fn verdicts(fleets: u64, drops: fn(bool, usize) -> f64) -> Vec<(Verdict, CheckOutcome)> {
    let of = |seed| {
        let result = of(&Fleet { drops, servers: 30, seed: 900 + seed, ..USUAL });
        (result.verdict, check(&result, "one-day").outcome)
    };
    (0..fleets).map(of).collect()
}

#[test]
fn an_incident_of_one_day_in_either_group_makes_no_verdict() {
    let incidents: [fn(bool, usize) -> f64; 4] = [
        |test, day| if !test && day == INCIDENT { 5.0 } else { 1.0 },
        |test, day| if !test && day == INCIDENT { 2.0 } else { 1.0 },
        |test, day| if !test && day == INCIDENT { 50.0 } else { 1.0 },
        |test, day| if test && day == INCIDENT { 5.0 } else { 1.0 },
    ];
    for (at, incident) in incidents.into_iter().enumerate() {
        let verdicts = verdicts(12, incident);
        let wrong = verdicts.iter().filter(|(verdict, _)| *verdict != Verdict::Undecided).count();
        assert!(wrong <= 1, "{at}: {wrong} of 12, {verdicts:?}");
    }
}

#[test]
fn the_day_is_named_with_what_is_left_without_it() {
    let incident = |test: bool, day: usize| if !test && day == INCIDENT { 5.0 } else { 1.0 };
    let result = of(&Fleet { drops: incident, ..USUAL });
    let found = check(&result, "one-day");
    assert_eq!(found.outcome, CheckOutcome::Failed, "{found:?}");
    assert!(
        found.statement.starts_with(
            "One day makes the difference: without that from 2026-01-20T00:00:00Z the ratio is "
        ),
        "{found:?}"
    );
    assert!(
        result.reason.as_ref().is_some_and(|reason| reason.starts_with("One day makes")),
        "{:?}",
        result.summary
    );
}

#[test]
fn a_change_that_lasts_is_no_day_however_small() {
    let by_a_third = |test: bool, day: usize| if test && day >= BEFORE { 0.7 } else { 1.0 };
    let by_little = |test: bool, day: usize| if test && day >= BEFORE { 0.95 } else { 1.0 };
    let failed = |drops| verdicts(24, drops).iter().filter(|it| it.1 == CheckOutcome::Failed).count();
    assert_eq!(failed(by_a_third), 0);
    // Of what is at the edge of being seen at all, a day may well decide.
    assert!(failed(by_little) <= 1 && failed(|_, _| 1.0) <= 1);
}
