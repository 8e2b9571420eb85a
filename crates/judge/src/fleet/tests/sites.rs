//! Groups that are whole sites, which go their own ways.

use super::*;
use std::collections::BTreeMap;

/// `each` servers at each of so many sites of a group; the change multiplies the test group's drops, and what else came to a site is 20 %.
fn of_sites(sites: usize, each: usize, change: f64, seed: u64) -> FleetTable {
    shocked((sites, each), change, 0.2, seed)
}

/// The standard deviation of what came to the sites with the change, each by itself, is `shock`.
fn shocked((sites, each): (usize, usize), change: f64, shock: f64, seed: u64) -> FleetTable {
    let mut table = Fleet { servers: sites * each, seed, ..USUAL }.table();
    let mut random = Random::new(seed + 7_000);
    let shocks: Vec<f64> = (0..2 * sites).map(|_| (shock * random.normal()).exp()).collect();
    for (place, server) in table.servers.iter_mut().enumerate() {
        let test = place % 2 == 0;
        let site = place / 2 / each * 2 + usize::from(test);
        let factor = shocks[site] * if test { change } else { 1.0 };
        server.site = format!("site-{site:02}");
        server.metric[BEFORE..].iter_mut().flatten().for_each(|value| *value *= factor);
    }
    table
}

fn different(result: &FleetResult) -> bool {
    matches!(result.verdict, Verdict::Better | Verdict::Worse)
}

/// By server 35 % of such fleets are called different; 4 and more of 20 at 5 % are 1.6 in 100.
#[test]
fn what_came_to_whole_sites_is_not_taken_for_the_change() {
    let wrong = (0..20).filter(|seed| {
        let result = result(&of_sites(6, 5, 1.0, *seed), &question()).unwrap();
        assert_eq!(result.unit, FleetUnit::Site);
        let found = check(&result, "site");
        assert!(
            found.statement.contains("so sites are held against each other, 6 test against 6 control"),
            "{found:?}"
        );
        different(&result)
    });
    let wrong = wrong.count();
    assert!(wrong < 4, "{wrong}");
}

#[test]
fn an_effect_beyond_what_sites_do_by_themselves_is_found_and_has_no_stages_by_server() {
    let result = result(&of_sites(6, 5, 0.2, 3), &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Better, "{:#?}", result.checks);
    assert!((result.interval_low.unwrap()..result.interval_high.unwrap()).contains(&0.2), "{result:?}");
    assert_eq!(result.servers[&FleetGroup::Test], 30);
    assert!(result.rollout.is_empty());
    assert!(
        result.findings.iter().any(|finding| finding.claim.starts_with("There are no stages of a roll-out"))
    );
}

#[test]
fn what_is_said_of_sites_speaks_of_sites_and_says_first_why_they_are_few() {
    let result = result(&shocked((4, 5), 1.0, 0.5, 1), &question()).unwrap();
    assert_eq!((result.verdict, result.unit), (Verdict::Undecided, FleetUnit::Site));
    assert_eq!(result.units, BTreeMap::from([(FleetGroup::Control, 4), (FleetGroup::Test, 4)]));
    let reason = result.reason.as_deref().unwrap();
    let why = "No site has both groups, so 4 test sites are held against 4 control sites, and not their 40 servers against each other. \
               Neither a difference nor its absence is shown: ";
    assert!(reason.starts_with(why), "{reason}");
    let needed = result.needed[0].servers.unwrap();
    assert!(
        needed > 999 && reason.contains(&format!("it would take {},", needed / 1_000)),
        "{needed}: {reason}"
    );
    for name in ["balance", "exposure", "overlap", "leave-one-out"] {
        let said = &check(&result, name).statement;
        assert!(said.contains("site") && !said.contains("server"), "{said}");
    }
    let (low, high) = (result.load_elasticity_low.unwrap(), result.load_elasticity_high.unwrap());
    assert!(low < 0.5 && high > 2.5 && result.load_elasticity.is_none(), "{low} to {high}");
}

#[test]
fn two_sites_against_two_prove_nothing_and_are_told_how_many_would() {
    let result = result(&of_sites(2, 20, 0.1, 3), &question()).unwrap();
    assert_eq!(result.verdict, Verdict::Undecided);
    assert_eq!(
        result.reason.as_deref(),
        Some(
            "So few sites cannot show any difference: however large it is, chance alone does as much with p = 0.333. It takes 4 sites in \
             each group."
        )
    );
    assert_eq!(result.smallest_detectable_ratio, None);
}

/// A label that is wrong, or one server that changed places, is enough for one site to have both groups.
#[test]
fn one_server_in_the_other_groups_site_does_not_make_servers_of_sites_comparable() {
    let mut wrong = 0;
    for seed in 0..20 {
        let mut table = of_sites(4, 5, 1.0, seed);
        table.servers[0].site = table.servers[1].site.clone();
        let result = result(&table, &question()).unwrap();
        assert_eq!(result.unit, FleetUnit::Server);
        let found = check(&result, "site");
        assert_eq!(found.outcome, CheckOutcome::Failed);
        assert!(
            found.statement.contains("The groups follow the sites")
                && found.statement.contains("--strata site")
        );
        wrong += u32::from(different(&result));
    }
    assert_eq!(wrong, 0);
}

#[test]
fn groups_that_were_drawn_among_the_servers_do_not_follow_the_sites() {
    let alarms = (0..40).filter(|seed| {
        let mut table = Fleet { seed: *seed, ..USUAL }.table();
        let mut random = Random::new(seed + 4_000);
        for server in &mut table.servers {
            server.site = format!("site-{}", random.below(4));
        }
        let result = result(&table, &question()).unwrap();
        result.checks.iter().any(|check| check.id == "site")
    });
    assert_eq!(alarms.count(), 0);
}

/// A site with servers of both groups tells what came to it from the change.
#[test]
fn sites_with_servers_of_both_groups_leave_the_server_the_unit() {
    let result = of(&USUAL);
    assert_eq!(result.unit, FleetUnit::Server);
    let mut unknown = of_sites(6, 5, 1.0, 1);
    unknown.servers[3].site.clear();
    assert_eq!(super::result(&unknown, &question()).unwrap().unit, FleetUnit::Server);
}

/// Sites of different hardware: strata that a site is in more than one of are no strata of sites.
#[test]
fn strata_across_sites_do_not_make_their_servers_the_unit() {
    let mut table = of_sites(5, 4, 1.0, 2);
    for (place, server) in table.servers.iter_mut().enumerate() {
        server.hardware = format!("gen{}", place / 2 % 2);
    }
    let question = FleetQuestion { strata: vec![crate::fleet::Stratum::Hardware], ..question() };
    let result = result(&table, &question).unwrap();
    assert_eq!((result.unit, result.strata), (FleetUnit::Site, 2));
    assert!(result.interval_low.is_some());
}

#[test]
#[ignore = "a simulation: make simulations"]
fn many_fleets_whose_groups_are_whole_sites() {
    const FLEETS: u64 = 400;
    for shock in [0.0, 0.1, 0.2] {
        for sites in [4, 6, 10] {
            let (mut by_server, mut by_site, mut covered, mut found) = (0, 0, 0, 0);
            for seed in 0..FLEETS {
                let mut table = shocked((sites, 5), 1.0, shock, seed);
                let result = result(&table, &question()).unwrap();
                by_site += u32::from(different(&result));
                covered +=
                    u32::from((result.interval_low.unwrap()..=result.interval_high.unwrap()).contains(&1.0));
                let half = super::super::result(&shocked((sites, 5), 0.5, shock, seed), &question()).unwrap();
                found += u32::from(half.verdict == Verdict::Better);
                table.servers.iter_mut().for_each(|server| server.site.clear());
                by_server += u32::from(different(&super::super::result(&table, &question()).unwrap()));
            }
            let share = |n: u32| f64::from(n) / FLEETS as f64;
            eprintln!(
                "shock {shock}, {sites} sites: false by server {:.3}, by site {:.3}, covered {:.3}, half the drops found {:.3}",
                share(by_server),
                share(by_site),
                share(covered),
                share(found)
            );
            // Standard error 1.1 %: three of them.
            assert!(share(by_site) <= 0.083 && share(covered) >= 0.917);
        }
    }
}
