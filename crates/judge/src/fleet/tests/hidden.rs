//! Samples that are missing within days, and counters that restart: what they hide is no effect of the change.

use super::*;
use plumb_model::fleet::FleetBasis;

/// 24 samples a day, all there.
fn whole() -> FleetBasis {
    FleetBasis { covered: vec![1.0; DAYS], restarts: vec![0; DAYS], samples: 24.0, peak: Some(2.5) }
}

/// `happens` to a test server's values after the change, and to what they rest on.
fn table(fleet: &Fleet, happens: fn(&mut FleetServer, usize, &mut Random)) -> FleetTable {
    let mut random = Random::new(fleet.seed);
    let mut table = fleet.table();
    for server in &mut table.servers {
        (server.metric_basis, server.load_basis) = (whole(), whole());
        if server.group == Some(FleetGroup::Test) {
            (BEFORE..DAYS).for_each(|day| happens(server, day, &mut random));
        }
    }
    table
}

/// A quarter of the hours ends with a restart, which loses half of what was counted in it on average.
fn restarts(server: &mut FleetServer, day: usize, random: &mut Random) {
    let restarts = (0..24).filter(|_| random.unit() < 0.25).count();
    let lost = (0..restarts).map(|_| random.unit() / 24.0).sum::<f64>();
    server.metric[day] = server.metric[day].map(|drops| (drops * (1.0 - lost)).round());
    server.metric_basis.restarts[day] = restarts as u32;
}

/// An eighth of the samples is missing, those of busy hours, which have twice the usual rate: the rest is scaled up.
fn gaps(server: &mut FleetServer, day: usize, _: &mut Random) {
    server.metric[day] = server.metric[day].map(|drops| (drops * 0.75 / 0.875).round());
    server.metric_basis.covered[day] = 0.875;
}

fn nothing(_: &mut FleetServer, _: usize, _: &mut Random) {}

#[test]
fn what_is_hidden_in_one_group_is_not_taken_for_the_effect() {
    for (name, happens, said) in [
        (
            "restarts",
            restarts as fn(&mut FleetServer, usize, &mut Random),
            " in the test group after the change (0 before), 0 in",
        ),
        (
            "coverage",
            gaps,
            "samples cover 87.5 % in the test group after the change (100 % before), 100 % in",
        ),
    ] {
        for seed in 0..8 {
            let result = result(&table(&Fleet { seed, ..USUAL }, happens), &question()).unwrap();
            assert_eq!(result.verdict, Verdict::Undecided, "{name} {seed}");
            let found = check(&result, name);
            assert_eq!(found.outcome, CheckOutcome::Failed, "{found:?}");
            assert!(found.statement.contains(said), "{found:?}");
            assert!(
                result.interval_high.unwrap() < 1.0,
                "what is hidden has to look like an effect: {result:?}"
            );
        }
        let result = result(&table(&Fleet { drops: fewer, ..USUAL }, happens), &question()).unwrap();
        assert_eq!(result.verdict, Verdict::Better, "{name}: {:?}", result.reason);
        assert_eq!(check(&result, name).outcome, CheckOutcome::Warning);
    }
}

#[test]
fn restarts_and_gaps_that_both_groups_have_take_no_verdict_away() {
    let fewer = |test: bool, day: usize| if test && day >= BEFORE { 0.9 } else { 1.0 };
    for seed in 0..8 {
        let mut table = table(&Fleet { seed, drops: fewer, ..USUAL }, nothing);
        let clean = result(&table, &question()).unwrap();
        assert_eq!(check(&clean, "restarts").statement, "No counter restarted.");
        let mut random = Random::new(seed);
        for server in &mut table.servers {
            for day in 0..DAYS {
                server.metric_basis.restarts[day] = u32::from(random.unit() < 0.3);
                server.metric_basis.covered[day] = 1.0 - (random.unit() * 2.0).floor() as f32 / 24.0;
            }
        }
        let after = result(&table, &question()).unwrap();
        assert_eq!((after.verdict, clean.verdict), (Verdict::Better, Verdict::Better), "{:?}", after.reason);
    }
}

#[test]
fn of_values_whose_samples_nobody_counted_coverage_is_unknown() {
    let result = result(&USUAL.table(), &question()).unwrap();
    assert_eq!(check(&result, "coverage").outcome, CheckOutcome::Unknown);
    assert!(result.checks.iter().all(|check| check.id != "restarts"));
}
