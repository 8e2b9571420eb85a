//! Fleets with a known truth, and what is said of them.

mod before;
mod drift;
mod few;
mod gaps;
mod gone;
mod hidden;
mod lost;
mod nothing_changed;
mod one_day;
mod panel;
mod rollout;
mod servers;
mod sites;
mod stamps;
mod surge;
mod totals;
mod traffic;

use super::*;
use assign::BaselineMeans;
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::{FleetGroup, FleetServer, FleetUnit, SampleKind};
use plumb_model::random::Random;
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;

const DAY_S: i64 = 86_400;
/// 2026-01-01T00:00:00Z
const FIRST_S: i64 = 1_767_225_600;
const BEFORE: usize = 14;
const DAYS: usize = 21;

/// A fleet in the making: what happens to a server on a day, beside the usual.
struct Fleet {
    servers: usize,
    seed: u64,
    /// Factor on the load of a server by (is in the test group, day).
    load: fn(bool, usize) -> f64,
    /// Factor on its drops beyond what its load does.
    drops: fn(bool, usize) -> f64,
    /// Drops of a typical server and day.
    level: f64,
}

const USUAL: Fleet = Fleet { servers: 40, seed: 1, load: |_, _| 1.0, drops: |_, _| 1.0, level: 2_000.0 };

fn fewer(test: bool, day: usize) -> f64 {
    if test && day >= BEFORE { 0.05 } else { 1.0 }
}

impl Fleet {
    /// `servers` in each group; drops grow with the 1.5th power of the load.
    fn table(&self) -> FleetTable {
        let mut random = Random::new(self.seed);
        let common: Vec<f64> = (0..DAYS).map(|_| (0.05 * random.normal()).exp()).collect();
        let servers = (0..2 * self.servers).map(|place| {
            let test = place % 2 == 0;
            let usual_load = 1e6 * (0.4 * random.normal()).exp();
            let usual_drops = self.level * (0.5 * random.normal()).exp();
            let (mut metric, mut load) = (Vec::new(), Vec::new());
            for (day, common) in common.iter().enumerate() {
                let factor = common * (self.load)(test, day) * (0.05 * random.normal()).exp();
                let expected = usual_drops * factor.powf(1.5) * (self.drops)(test, day);
                let noisy = expected * (0.15 * random.normal()).exp();
                // Rare events come or do not.
                let whole = noisy.floor() + f64::from(u8::from(random.unit() < noisy.fract()));
                metric.push(Some(whole));
                load.push(Some((usual_load * factor).round()));
            }
            FleetServer {
                name: format!("edge-{place:03}"),
                group: Some(if test { FleetGroup::Test } else { FleetGroup::Control }),
                site: ["fra", "ams"][place / 2 % 2].to_owned(),
                hardware: String::new(),
                metric,
                load,
                ..FleetServer::default()
            }
        });
        FleetTable {
            intervals_start_s: (0..DAYS as i64).map(|day| FIRST_S + day * DAY_S).collect(),
            servers: servers.collect(),
            exclusions: Vec::new(),
        }
    }
}

fn question() -> FleetQuestion {
    FleetQuestion {
        metric: "drops".to_owned(),
        metric_kind: SampleKind::Increments,
        load: Some("packets".to_owned()),
        good: Good::Lower,
        changed_at_s: FIRST_S + BEFORE as i64 * DAY_S,
        interval_s: DAY_S as u64,
        margin: 0.03,
        level: 0.95,
        strata: Vec::new(),
        surge: None,
        fleet_servers: None,
        seed: 7,
        plumb_version: "0.0.0".to_owned(),
    }
}

fn check<'r>(result: &'r FleetResult, id: &str) -> &'r Check {
    result.checks.iter().find(|check| check.id == id).unwrap()
}

fn of(fleet: &Fleet) -> FleetResult {
    result(&fleet.table(), &question()).unwrap()
}

#[test]
fn a_twentieth_of_the_drops_is_found_as_such() {
    let result = of(&Fleet { drops: fewer, ..USUAL });
    assert_eq!(result.verdict, Verdict::Better, "{result:#?}");
    let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
    assert!((low..=high).contains(&0.05) && high / low < 1.3, "{low} {high}");
    assert!(result.p.unwrap() < 0.001);
    assert!(result.checks.iter().all(|check| check.outcome != CheckOutcome::Failed), "{:#?}", result.checks);
    assert!((result.load_elasticity.unwrap() - 1.5).abs() < 0.5);
    assert_eq!((result.intervals_before, result.intervals_after), (14, 7));
    assert!(result.summary[0].starts_with("Better: lower drops with the change, -9"), "{:?}", result.summary);
    // 40 of 80 have it: past 1, 5 and 25 %, there is one stage left.
    assert_eq!(
        result.rollout.iter().map(|stage| (stage.share, stage.servers)).collect::<Vec<_>>(),
        [(1.0, 40)]
    );
    let worse = FleetQuestion { good: Good::Higher, ..question() };
    let worse = super::result(&Fleet { drops: fewer, ..USUAL }.table(), &worse).unwrap();
    assert_eq!((worse.verdict, worse.rollout.len()), (Verdict::Worse, 0));
}

#[test]
fn fleets_without_an_effect_are_hardly_ever_called_different_though_a_surge_comes_with_the_change() {
    let surge = |_: bool, day: usize| if day >= BEFORE { 1.6 } else { 1.0 };
    let wrong = (0..24).filter(|seed| {
        let result = of(&Fleet { load: surge, seed: 100 + seed, servers: 8, ..USUAL });
        let naive = &result.naive[0];
        assert_eq!(naive.name, "test group, after over before");
        assert!(naive.interval_low.unwrap() > 1.0, "what is naive must be seen to be wrong: {naive:?}");
        matches!(result.verdict, Verdict::Better | Verdict::Worse)
    });
    // 1.2 of 24 are expected; 6 or more in 1 of 1,000 (binomial).
    assert!(wrong.count() < 6);
}

#[test]
fn many_alike_servers_show_that_nothing_happened() {
    let result = of(&Fleet { servers: 150, ..USUAL });
    assert_eq!(result.verdict, Verdict::Equivalent, "{:?}", result.summary);
    assert_eq!(result.reason, None);
    let stages: Vec<f64> = result.rollout.iter().map(|stage| stage.share).collect();
    assert_eq!(stages, [1.0]);
}

#[test]
fn three_servers_in_each_group_decide_nothing_and_are_told_how_many_would() {
    let result = of(&Fleet { servers: 3, drops: fewer, ..USUAL });
    assert_eq!(result.verdict, Verdict::Undecided);
    assert!(result.reason.unwrap().ends_with("p = 0.100. It takes 4 in each group."));
    assert_eq!(
        check(&of(&Fleet { servers: 4, drops: fewer, ..USUAL }), "servers").outcome,
        CheckOutcome::Passed
    );
}

#[test]
fn a_small_effect_is_undecided_with_the_number_of_servers_that_would_show_it() {
    let slight = |test: bool, day: usize| if test && day >= BEFORE { 0.96 } else { 1.0 };
    let result = of(&Fleet { servers: 6, drops: slight, seed: 3, ..USUAL });
    assert_eq!(result.verdict, Verdict::Undecided, "{:?}", result.summary);
    let detectable = result.smallest_detectable_ratio.unwrap();
    assert!((1.05..1.4).contains(&detectable), "{detectable}");
    assert!((result.needed[0].ratio - 1.03).abs() < 1e-12);
    let servers: Vec<u64> = result.needed.iter().map(|it| it.servers.unwrap()).collect();
    assert!(servers.is_sorted_by(|a, b| a >= b) && servers[0] > 20, "{servers:?}");
    assert!(result.reason.unwrap().contains("servers in each group"));
}

#[test]
fn traffic_that_moved_from_one_group_to_the_other_is_no_comparison() {
    let moved = |test: bool, day: usize| match (test, day >= BEFORE) {
        (true, true) => 1.3,
        (false, true) => 0.7,
        _ => 1.0,
    };
    let result = of(&Fleet { load: moved, drops: fewer, ..USUAL });
    assert_eq!(result.verdict, Verdict::Undecided);
    assert_eq!(check(&result, "interference").outcome, CheckOutcome::Failed, "{:#?}", result.checks);
}

#[test]
fn a_surge_that_hits_only_one_group_leaves_nothing_to_compare_at_equal_load() {
    let one_sided = |test: bool, day: usize| if test && day >= BEFORE { 3.0 } else { 1.0 };
    let result = of(&Fleet { load: one_sided, ..USUAL });
    assert_eq!(result.verdict, Verdict::Undecided);
    assert_eq!(check(&result, "overlap").outcome, CheckOutcome::Failed, "{:#?}", result.checks);
    assert_eq!(check(&result, "interference").outcome, CheckOutcome::Warning);
}

#[test]
fn groups_that_went_apart_before_the_change_prove_nothing_unless_the_effect_is_larger() {
    let drifting = |test: bool, day: usize| if test { 1.03f64.powi(day as i32) } else { 1.0 };
    let result = of(&Fleet { drops: drifting, ..USUAL });
    assert_eq!(check(&result, "pre-trend").outcome, CheckOutcome::Failed, "{:#?}", result.checks);
    assert_eq!(result.verdict, Verdict::Undecided);
    let and_fewer =
        |test: bool, day: usize| if test { fewer(test, day) * 1.03f64.powi(day as i32) } else { 1.0 };
    let result = of(&Fleet { drops: and_fewer, ..USUAL });
    assert_eq!(check(&result, "pre-trend").outcome, CheckOutcome::Warning, "{:#?}", result.checks);
    assert_eq!(result.verdict, Verdict::Better);
}

#[test]
fn a_percentile_is_compared_by_its_logarithm_and_more_may_be_good() {
    let more = |test: bool, day: usize| if test && day >= BEFORE { 1.25 } else { 1.0 };
    let mut table = Fleet { drops: more, ..USUAL }.table();
    table.servers.iter_mut().for_each(|server| server.metric.iter_mut().flatten().for_each(|it| *it /= 7.3));
    let question = FleetQuestion { metric_kind: SampleKind::Level, good: Good::Higher, ..question() };
    let result = result(&table, &question).unwrap();
    assert_eq!(result.verdict, Verdict::Better);
    assert!((result.effect_ratio.unwrap() - 1.25).abs() < 0.06, "{:?}", result.effect_ratio);
}

#[test]
fn where_most_servers_have_no_drops_the_share_of_days_with_any_is_compared() {
    let half = |test: bool, day: usize| if test && day >= BEFORE { 0.2 } else { 1.0 };
    let table = Fleet { drops: half, level: 0.06, servers: 300, ..USUAL }.table();
    let result = result(&table, &FleetQuestion { fleet_servers: Some(20_000), ..question() }).unwrap();
    assert_eq!(result.verdict, Verdict::Better, "{:?}", result.summary);
    assert!((result.interval_low.unwrap()..result.interval_high.unwrap()).contains(&0.2), "{result:?}");
    assert!(result.findings.iter().any(|finding| finding.claim.contains("share of intervals")));
    assert!(
        result.of_shares
            && result.rollout[0].stop_when[0].starts_with("the share of intervals with any drops, after")
    );
}

#[test]
fn values_beyond_reason_are_told_as_such_and_take_no_server_with_them() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    table.servers[0].metric[3..5].fill(Some(1e308));
    table.servers[2].load[3..5].fill(Some(1e308));
    let result = result(&table, &question()).unwrap();
    let rows: Vec<(&str, u64)> = result.exclusions.iter().map(|it| (it.what.as_str(), it.count)).collect();
    assert_eq!(
        rows,
        [
            ("values of the metric that are no number, negative or beyond 10^30", 2),
            ("values of the load that are no number, negative or beyond 10^30", 2)
        ]
    );
    assert_eq!(result.servers, [(FleetGroup::Control, 40), (FleetGroup::Test, 40)].into());
    assert!(result.days.iter().all(|day| day.metric_mean.is_some_and(|mean| mean < 1e6)));
}

#[test]
fn whatever_cannot_be_used_is_counted() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    table.servers[0].metric[3] = Some(f64::NAN);
    table.servers[0].metric[4] = Some(-1.0);
    table.servers[2].metric[BEFORE..].fill(None);
    table.servers[4].load[..BEFORE].fill(Some(0.0));
    table.servers[6].group = None;
    let result = result(&table, &question()).unwrap();
    let count = |what: &str| result.exclusions.iter().find(|it| it.what.contains(what)).map(|it| it.count);
    assert_eq!(count("no number, negative or beyond"), Some(2));
    assert_eq!(count("less than half of the intervals"), Some(1));
    assert_eq!(count("without any load before"), Some(1));
    assert_eq!(result.servers, [(FleetGroup::Control, 40), (FleetGroup::Test, 37)].into());
    assert_eq!(result.verdict, Verdict::Better);
}

#[test]
fn tables_without_anything_to_compare_say_what_they_lack() {
    let table = USUAL.table();
    let early = FleetQuestion { changed_at_s: FIRST_S, ..question() };
    let error = result(&table, &early).unwrap_err();
    assert!(error.to_string().contains("is before the change at 2026-01-01T00:00:00Z"), "{error}");

    let mut apart = table.clone();
    for server in &mut apart.servers {
        let test = server.group == Some(FleetGroup::Test);
        if test { server.metric[..BEFORE].fill(None) } else { server.metric[BEFORE..].fill(None) }
    }
    let error = result(&apart, &question()).unwrap_err();
    assert!(error.to_string().contains("in 21 of them less than half of a group has values"), "{error}");

    let mut stuck = table.clone();
    let test = |server: &&mut FleetServer| server.group == Some(FleetGroup::Test);
    stuck.servers.iter_mut().filter(test).for_each(|server| server.metric.fill(Some(5.0)));
    let error = result(&stuck, &question()).unwrap_err();
    assert_eq!(
        error,
        FleetError::Constant { quantity: "drops".to_owned(), group: FleetGroup::Test, value: 5.0 }
    );
    assert!(
        error.to_string().contains("drops of the test group is 5 in every interval of every server"),
        "{error}"
    );

    let mut gone = table;
    gone.servers.iter_mut().filter(test).for_each(|server| server.load.fill(None));
    let none_of = |quantity: &str| {
        let (quantity, group) = (quantity.to_owned(), FleetGroup::Test);
        FleetError::NoValues { quantity, group }
    };
    assert_eq!(result(&gone, &question()).unwrap_err(), none_of("packets"));
    gone.servers.iter_mut().filter(test).for_each(|server| server.load.fill(Some(0.0)));
    let error = result(&gone, &question()).unwrap_err();
    assert_eq!(error, FleetError::NoLoad { load: "packets".to_owned(), group: FleetGroup::Test });
    gone.servers.iter_mut().filter(test).for_each(|server| server.metric.fill(None));
    assert_eq!(result(&gone, &question()).unwrap_err(), none_of("drops"));

    let mut unlike = USUAL.table();
    unlike.servers.iter_mut().filter(test).for_each(|server| server.metric[..BEFORE - 4].fill(None));
    unlike.servers.iter_mut().filter(test).for_each(|server| server.load[BEFORE - 4..BEFORE].fill(Some(0.0)));
    let error = result(&unlike, &question()).unwrap_err();
    assert!(matches!(error, FleetError::EmptyGroup { group: FleetGroup::Test, named: 40 }), "{error}");
}

#[test]
fn a_fleet_is_no_smaller_than_what_was_seen_of_it() {
    let of = |servers: u32| {
        result(&USUAL.table(), &FleetQuestion { fleet_servers: Some(servers), ..question() }).err()
    };
    assert_eq!(of(79), Some(FleetError::FleetTooSmall { given: 79, seen: 80 }));
    assert_eq!(of(80), None);
}

#[test]
fn the_interval_of_the_change_is_left_out_and_the_same_seed_gives_the_same_result() {
    let noon = FleetQuestion { changed_at_s: question().changed_at_s + DAY_S / 2, ..question() };
    let table = Fleet { drops: fewer, ..USUAL }.table();
    let at_noon = result(&table, &noon).unwrap();
    assert_eq!((at_noon.intervals_before, at_noon.intervals_after), (14, 6));
    assert!(
        at_noon.exclusions.iter().any(|it| it.what == "intervals in which the change came" && it.count == 1)
    );
    assert_eq!(at_noon, result(&table, &noon).unwrap());
}

#[test]
fn without_load_nothing_is_adjusted_and_it_is_said() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    table.servers.iter_mut().for_each(|server| server.load.clear());
    let question = FleetQuestion { load: None, ..question() };
    let result = result(&table, &question).unwrap();
    assert_eq!((result.verdict, result.load_elasticity), (Verdict::Better, None));
    assert!(result.surge.is_none());
    assert_eq!(check(&result, "overlap").outcome, CheckOutcome::Unknown);
    assert!(result.findings.iter().any(|finding| finding.claim.starts_with("No load was given")));
}

#[test]
fn groups_are_drawn_by_site_and_hardware_and_the_most_is_told() {
    let inventory = USUAL.table().servers;
    let drawn = assign::assign(&inventory, &[], 20, 3).unwrap();
    assert_eq!(drawn.servers.len(), 40);
    let each: Vec<(&str, usize, usize)> =
        drawn.kinds.iter().map(|kind| (kind.site.as_str(), kind.servers, kind.each)).collect();
    assert_eq!(each, [("ams", 40, 10), ("fra", 40, 10)]);
    assert_eq!(drawn, assign::assign(&inventory, &[], 20, 3).unwrap());
    assert_ne!(drawn.servers, assign::assign(&inventory, &[], 20, 4).unwrap().servers);
    let error = assign::assign(&inventory, &[], 41, 3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "41 servers for each group are asked for; 80 servers in 2 kinds of site and hardware make at most 40, as each kind is halved"
    );
}

#[test]
fn few_servers_are_paired_by_their_metric_before() {
    let inventory = USUAL.table().servers;
    let baselines: Vec<Option<f64>> =
        (0..inventory.len()).map(|place| Some((place * 37 % 80) as f64)).collect();
    let drawn = assign::assign(&inventory, &baselines, 5, 3).unwrap();
    assert!(drawn.paired);
    for pair in 1..=5 {
        let of: Vec<&assign::Assigned> = drawn.servers.iter().filter(|it| it.pair == Some(pair)).collect();
        assert_eq!((of.len(), &of[0].site), (2, &of[1].site));
        assert_ne!(of[0].group, of[1].group);
    }
    let BaselineMeans { control, test } = drawn.baseline_means.unwrap();
    assert!((control - test).abs() < 5.0, "{control} {test}");
}

#[test]
fn groups_that_can_never_show_anything_are_refused_and_weak_ones_told() {
    let mut inventory = USUAL.table().servers;
    for few in 0..4 {
        let error = assign::assign(&inventory, &[], few, 3).unwrap_err();
        assert!(matches!(error, assign::AssignError::TooFew { needed: 4, .. }), "{error}");
        assert!(
            few < 3 || error.to_string().contains("with p = 0.100; it takes 4 for each group"),
            "{error}"
        );
    }
    let weakness = |inventory: &[FleetServer], servers: usize| {
        assign::assign(inventory, &[], servers, 3).unwrap().weakness
    };
    let five = weakness(&inventory, 5).unwrap();
    assert!(five.starts_with("Pair by pair 5 for each group can never show a difference"), "{five}");
    assert!(five.contains("p = 0.062; it takes 6. All together"), "{five}");
    assert_eq!(weakness(&inventory, 6), None);
    // A kind for each pair.
    inventory.iter_mut().enumerate().for_each(|(at, server)| server.site = format!("site-{:02}", at / 2));
    assert!(weakness(&inventory, 5).unwrap().starts_with("Within their site and hardware (--strata) 5 for"));
}
