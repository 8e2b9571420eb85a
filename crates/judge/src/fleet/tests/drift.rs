//! Groups that go apart all along, slowly enough for the time before the change not to show it.

use super::*;

/// A fleet whose servers' noise lasts (a first-order autoregression of 0.5, 30 %), of which the test group changes by `daily` a day all
/// along and by `change` with the change.
pub(super) fn lasting(servers: usize, daily: f64, change: f64, seed: u64) -> FleetTable {
    let mut table = Fleet { servers, seed, level: 300.0, ..USUAL }.table();
    let mut random = Random::new(seed + 9_000);
    for server in &mut table.servers {
        let test = server.group == Some(FleetGroup::Test);
        let mut noise = 0.3 * random.normal();
        for (day, value) in server.metric.iter_mut().enumerate() {
            let factor = match test {
                true => daily.powi(day as i32) * if day >= BEFORE { change } else { 1.0 },
                false => 1.0,
            };
            *value = value.map(|value| (value * factor * noise.exp()).round());
            noise = 0.5 * noise + 0.3 * 0.75f64.sqrt() * random.normal();
        }
    }
    table
}

/// The numbers of fleets in which a difference is shown, and in which it were without the check of drift.
fn called_different(fleets: u64, servers: usize, daily: f64, change: f64) -> (u64, u64) {
    let (mut now, mut otherwise) = (0, 0);
    for seed in 0..fleets {
        let result = result(&lasting(servers, daily, change, seed), &question()).unwrap();
        let different = matches!(result.verdict, Verdict::Better | Verdict::Worse);
        let drift = check(&result, "drift");
        assert!(!different || drift.outcome != CheckOutcome::Failed, "{drift:?}");
        let only = result.reason.as_ref() == Some(&drift.statement) && drift.outcome == CheckOutcome::Failed;
        now += u64::from(different);
        otherwise += u64::from(different || only);
    }
    (now, otherwise)
}

#[test]
fn a_slow_drift_that_the_time_before_hides_is_hardly_ever_taken_for_the_change() {
    let (now, otherwise) = called_different(40, 10, 1.02, 1.0);
    assert!(otherwise >= 10, "what is to be taken away: {otherwise}");
    assert!(2 * now <= otherwise, "{now} of {otherwise}");
}

#[test]
fn a_step_that_is_well_seen_stands() {
    let (now, _) = called_different(12, 20, 1.0, 0.5);
    assert!(now >= 11, "{now}");
}

#[test]
fn a_drift_that_explains_it_is_the_reason_and_what_would_decide_is_told() {
    let drifting = |seed| result(&lasting(20, 1.02, 1.0, seed), &question()).unwrap();
    let found = (0..20).map(drifting).find_map(|result| {
        let drift = check(&result, "drift").clone();
        (result.reason.as_ref() == Some(&drift.statement)).then_some((result.verdict, drift))
    });
    let (verdict, drift) = found.unwrap();
    assert_eq!((verdict, drift.outcome), (Verdict::Undecided, CheckOutcome::Failed));
    assert!(drift.statement.starts_with("Groups that drifted apart all along explain the figures as well"));
    assert!(drift.statement.ends_with("or groups drawn at random, would decide it."));
}

#[test]
#[ignore = "a simulation: make simulations"]
fn many_fleets_of_which_one_group_drifts() {
    const FLEETS: u64 = 300;
    for (daily, change) in
        [(1.0, 1.0), (1.01, 1.0), (1.02, 1.0), (1.03, 1.0), (1.0, 0.82), (1.0, 0.75), (1.0, 0.65)]
    {
        let (now, otherwise) = called_different(FLEETS, 20, daily, change);
        let share = |n: u64| n as f64 / FLEETS as f64;
        eprintln!(
            "{daily} a day, change {change}: {:.3}, without the check {:.3}",
            share(now),
            share(otherwise)
        );
        assert!(change != 1.0 || share(now) <= 0.3, "{now}");
    }
}
