//! Events that are rare, servers far out, and levels that are often 0.

use super::*;

/// Events that come by themselves, `level` a day, before a change that leaves `left` of them.
pub(super) fn rare(servers: usize, level: f64, left: f64, seed: u64) -> FleetTable {
    let mut table = USUAL.table();
    table.servers = Fleet { servers, seed, ..USUAL }.table().servers;
    let mut random = Random::new(seed + 11_000);
    for server in &mut table.servers {
        let test = server.group == Some(FleetGroup::Test);
        let usual = level * (0.5 * random.normal()).exp();
        for (day, value) in server.metric.iter_mut().enumerate() {
            let expected = usual * if test && day >= BEFORE { left } else { 1.0 };
            let (mut waited, mut events) = (0.0, -1.0);
            while waited < expected {
                waited -= (1.0 - random.unit()).ln();
                events += 1.0;
            }
            *value = Some(f64::max(events, 0.0));
        }
    }
    table
}

/// By logarithms with half an event added such ratios come out too near to 1.
#[test]
fn a_ratio_of_rare_events_is_what_it_is() {
    let (mut sum, mut covered) = (0.0, 0);
    for seed in 0..30 {
        let result = result(&rare(40, 0.7, 0.3, seed), &question()).unwrap();
        assert!(
            !result.of_shares
                && result.findings.iter().any(|it| it.claim.contains("the ratio is that of totals"))
        );
        sum += result.effect_ratio.unwrap().ln() / 30.0;
        covered += u32::from((result.interval_low.unwrap()..=result.interval_high.unwrap()).contains(&0.3));
    }
    assert!((sum.exp() - 0.3).abs() < 0.03, "{}", sum.exp());
    // 28.5 are expected; 25 and fewer in 1 of 60.
    assert!(covered >= 26, "{covered}");
}

#[test]
fn one_server_far_out_is_named_with_what_the_others_show() {
    let less = |test: bool, day: usize| if test && day >= BEFORE { 0.7 } else { 1.0 };
    let mut table = Fleet { servers: 12, drops: less, ..USUAL }.table();
    table.servers[6].metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= 100.0);
    let result = result(&table, &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Undecided);
    let found = check(&result, "leave-one-out");
    assert_eq!(found.outcome, CheckOutcome::Warning);
    assert!(
        found.statement.starts_with("edge-006 (×") && found.statement.contains(" Without it the ratio is 0."),
        "{found:?}"
    );
    assert!(result.reason.unwrap().contains("changed unlike the others of the group"));
}

/// Five control servers with five times their drops from the change on: no change of the others, and once "better".
#[test]
fn a_few_servers_that_make_the_difference_take_the_verdict_and_are_named() {
    let (mut shown, mut wrong) = (0, 0);
    for seed in 0..12 {
        let mut table = Fleet { seed, ..USUAL }.table();
        for place in [1, 15, 31, 47, 63] {
            table.servers[place].metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= 5.0);
        }
        let result = result(&table, &question()).unwrap();
        let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
        shown += u32::from(!(low..=high).contains(&1.0));
        wrong += u32::from(matches!(result.verdict, Verdict::Better | Verdict::Worse));
        let found = check(&result, "leave-one-out");
        for name in ["edge-001", "edge-015", "edge-031", "edge-047", "edge-063"] {
            assert!(found.statement.contains(name), "{found:?}");
        }
        if found.outcome == CheckOutcome::Failed {
            assert!(result.reason.as_ref().unwrap().contains("Without them the ratio is"), "{found:?}");
        }
    }
    // What all show together is mostly a difference; of the others 5 % have one by chance.
    assert!(shown >= 6 && wrong <= 2, "{shown} {wrong}");
}

/// Five test servers that the change did not reach.
#[test]
fn servers_that_stand_out_leave_a_difference_that_the_others_show() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    for place in [0, 14, 30, 46, 62] {
        table.servers[place].metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= 20.0);
    }
    let result = result(&table, &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Better, "{:?}", result.summary);
    let found = check(&result, "leave-one-out");
    assert_eq!(found.outcome, CheckOutcome::Warning);
    assert!(
        found.statement.contains("edge-062") && found.statement.contains(" Without them the ratio is 0.0"),
        "{found:?}"
    );
}

#[test]
fn no_server_is_named_where_none_is_far_out() {
    let named = (0..20).filter(|seed| {
        let result = of(&Fleet { servers: 12, seed: 60 + seed, ..USUAL });
        check(&result, "leave-one-out").statement.contains("changed unlike")
    });
    // 0.2 of 20 are expected.
    assert!(named.count() <= 2);
}

/// A queue that is empty on more days with the change: by its other days alone nothing changed.
#[test]
fn the_zeros_of_a_level_are_values() {
    let mut table = Fleet { servers: 40, ..USUAL }.table();
    for (place, server) in table.servers.iter_mut().enumerate() {
        let test = server.group == Some(FleetGroup::Test);
        for (day, value) in server.metric.iter_mut().enumerate() {
            let empty = (day + place / 2) % 7 < if test && day >= BEFORE { 4 } else { 1 };
            *value = value.map(|value| if empty { 0.0 } else { value / 7.3 });
        }
    }
    let question = FleetQuestion { metric_kind: SampleKind::Level, ..question() };
    let result = result(&table, &question).unwrap();
    assert_eq!(result.verdict, Verdict::Better, "{:#?}", result.checks);
    assert!((result.effect_ratio.unwrap() - 0.5).abs() < 0.08, "{:?}", result.effect_ratio);
    assert!(result.exclusions.iter().all(|it| !it.what.contains("not above 0")), "{:?}", result.exclusions);
}
