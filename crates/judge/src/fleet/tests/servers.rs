//! Groups of unlike size, pairs, and what so few servers are said to show.

use super::*;
use crate::fleet::Stratum;

/// A table of which only so many servers of each group are left.
fn unlike(fleet: &Fleet, control: usize, test: usize) -> FleetTable {
    let mut table = fleet.table();
    let mut left = [control, test];
    table.servers.retain(|server| {
        let left = &mut left[usize::from(server.group == Some(FleetGroup::Test))];
        *left = left.wrapping_sub(1);
        *left < usize::MAX / 2
    });
    table
}

#[test]
fn one_test_server_tells_nothing_of_its_own_spread() {
    for seed in 0..6 {
        let fleet = Fleet {
            servers: 100,
            seed,
            drops: |test, day| if test && day >= BEFORE { 1.1 } else { 1.0 },
            ..USUAL
        };
        let table = unlike(&fleet, 100, 1);
        for load in [Some("packets".to_owned()), None] {
            let result = result(&table, &FleetQuestion { load, margin: 0.05, ..question() }).unwrap();
            assert_eq!(result.verdict, Verdict::Undecided, "{:?}", result.summary);
            assert_eq!((result.interval_low, result.interval_high), (None, None));
            assert_eq!(result.smallest_detectable_ratio, None);
            let found = check(&result, "servers");
            assert_eq!(found.outcome, CheckOutcome::Failed);
            assert!(
                found.statement.starts_with(
                    "One server in the test group: nothing tells its own spread from the effect. It takes 3 there at the least, and "
                ),
                "{found:?}"
            );
            assert_eq!(check(&result, "leave-one-out").outcome, CheckOutcome::Warning);
            // By the spread of the others: once 4, which would have shown nothing.
            let servers = result.needed[0].servers.unwrap();
            assert!((10..200).contains(&servers), "{servers}");
        }
    }
}

/// The truth is a ratio of as much as the margin: "equivalent" is to be said of at most 5 % of such fleets, and was of up to 32 %.
#[test]
fn few_test_servers_are_hardly_ever_called_equivalent_when_they_are_not() {
    let at_margin = |test: bool, day: usize| if test && day >= BEFORE { 1.06 } else { 1.0 };
    let (mut equivalent, mut covered) = (0, 0);
    for seed in 0..60 {
        let fleet = Fleet { servers: 50, seed: 500 + seed, drops: at_margin, ..USUAL };
        let question = FleetQuestion { margin: 0.06, ..question() };
        let result = result(&unlike(&fleet, 50, 2), &question).unwrap();
        equivalent += u32::from(result.verdict == Verdict::Equivalent);
        let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
        covered += u32::from((low..=high).contains(&1.06));
        assert_eq!(check(&result, "servers").outcome, CheckOutcome::Warning);
    }
    // 3 of 60 are promised at the most; 9 or more in 1 of 300 (binomial). 57 of 60 are to hold the truth.
    assert!(equivalent < 9 && covered >= 54, "{equivalent} {covered}");
}

#[test]
fn five_pairs_are_told_that_six_would_do_or_that_they_need_not_be_pairs() {
    let mut table = Fleet { servers: 5, drops: fewer, ..USUAL }.table();
    for (place, server) in table.servers.iter_mut().enumerate() {
        server.site = format!("site-{}", place / 2);
    }
    let paired = FleetQuestion { strata: vec![Stratum::Site], ..question() };
    let found = result(&table, &paired).unwrap();
    assert_eq!(found.verdict, Verdict::Undecided);
    assert_eq!(
        check(&found, "servers").statement,
        "So few servers cannot show any difference: however large it is, chance alone does as much with p = 0.062. It takes 6 such \
         pairs at 95 %, or a comparison that leaves the site out (--strata), whose smallest p is 0.008."
    );
    assert_eq!(result(&table, &question()).unwrap().verdict, Verdict::Better);
    let mut table = Fleet { servers: 6, drops: fewer, ..USUAL }.table();
    for (place, server) in table.servers.iter_mut().enumerate() {
        server.site = format!("site-{}", place / 2);
    }
    assert_eq!(result(&table, &paired).unwrap().verdict, Verdict::Better);
}
