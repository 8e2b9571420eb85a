//! Surges that nobody planned: found, told, and told wrongly.

use super::*;

/// Field report: another CDN failed a customer over, and the drops of the group with Early Snoop rose 13.75-fold, to 55,000 a server
/// and day, those of the group with Home Snoop 4.23-fold, to 27,000. A ratio of ratios of 0.308; that one group had fewer
/// drops before (4,000 against 6,400) is in it.
#[test]
fn a_failover_is_a_ratio_of_ratios_with_an_interval_only_where_servers_are_known() {
    let failover = |_: bool, day: usize| if (16..18).contains(&day) { 3.0 } else { 1.0 };
    let drops = |test: bool, day: usize| {
        let (before, during) = if test { (27_000.0 / 4.23, 27_000.0) } else { (55_000.0 / 13.75, 55_000.0) };
        // What the load does to the drops is taken off again: these are what was published.
        if (16..18).contains(&day) { during / 3f64.powf(1.5) } else { before }
    };
    let result = of(&Fleet { load: failover, drops, level: 1.0, ..USUAL });
    let surge = result.surge.unwrap();
    assert_eq!(
        (surge.from.as_str(), surge.until.as_deref()),
        ("2026-01-17T00:00:00Z", Some("2026-01-19T00:00:00Z"))
    );
    assert!((surge.metric_ratio[&FleetGroup::Control] / 13.75 - 1.0).abs() < 0.1, "{surge:?}");
    assert!((surge.metric_ratio[&FleetGroup::Test] / 4.23 - 1.0).abs() < 0.1, "{surge:?}");
    assert!((surge.ratio_of_ratios.unwrap() / (4.23 / 13.75) - 1.0).abs() < 0.1, "{surge:?}");
    let (low, high) = (surge.interval_low.unwrap(), surge.interval_high.unwrap());
    assert!(
        (low..high).contains(&(4.23 / 13.75)) && high / low < 1.4 && surge.p.unwrap() <= 0.001,
        "{surge:?}"
    );

    let published = of(&Fleet { servers: 1, load: failover, drops, level: 1.0, ..USUAL });
    let surge = published.surge.unwrap();
    assert!(surge.ratio_of_ratios.is_some());
    assert_eq!((surge.interval_low, surge.interval_high, surge.p), (None, None, None));
    assert_eq!((published.verdict, published.interval_low), (Verdict::Undecided, None));
}

#[test]
fn a_surge_may_be_told_instead_of_found() {
    let surge = SurgeTime { from_s: FIRST_S + 3 * DAY_S, until_s: Some(FIRST_S + 5 * DAY_S) };
    let told = FleetQuestion { surge: Some(surge), ..question() };
    let result = result(&USUAL.table(), &told).unwrap();
    assert_eq!(result.surge.unwrap().from, "2026-01-04T00:00:00Z");
    assert!(check(&of(&USUAL), "surge").statement.contains("no surge"));
}

#[test]
fn a_surge_that_is_told_and_not_in_the_data_is_an_error_with_the_span_that_there_is() {
    let told = |from_day: i64, until_day: i64| {
        let surge =
            SurgeTime { from_s: FIRST_S + from_day * DAY_S, until_s: Some(FIRST_S + until_day * DAY_S) };
        result(&USUAL.table(), &FleetQuestion { surge: Some(surge), ..question() }).unwrap_err()
    };
    assert_eq!(
        told(59, 60).to_string(),
        "no interval that is compared begins in the surge given, 2026-03-01T00:00:00Z to 2026-03-02T00:00:00Z; they begin from \
         2026-01-01T00:00:00Z to 2026-01-21T00:00:00Z"
    );
    assert!(matches!(told(0, 21), FleetError::SurgeEverywhere { .. }));
}
