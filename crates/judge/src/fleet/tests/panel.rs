//! A surge of one day that hits the groups unlike, as when another network fails over: the second estimate, by single days.

use super::*;

/// A fleet.
#[derive(Clone)]
struct Case {
    /// Sites in each group, each of one group; else every site has servers of both.
    sites: Option<usize>,
    servers: usize,
    /// Share of the servers in the test group, where sites have both.
    test_share: f64,
    ratio: f64,
    /// Drops for a load against its usual: what physics does.
    physics: fn(f64) -> f64,
    /// Logarithm of the surge of the load at the typical site.
    surge_ln: f64,
    /// The spread of the sites' surges, as a standard deviation of logarithms.
    spread: f64,
    /// The factor by which it hits the test group harder.
    harder: f64,
    /// Days with the surge.
    surge: std::ops::Range<usize>,
}

const FAILOVER: fn() -> Case = || Case {
    sites: Some(10),
    servers: 100,
    test_share: 0.5,
    ratio: 0.7,
    physics: |load| load.powf(1.8),
    surge_ln: 1.1,
    spread: 0.15,
    harder: 0.6,
    surge: 16..17,
};

/// Drops beyond what a queue holds: they grow ever faster as the load nears what the server can take.
fn capacity(load: f64) -> f64 {
    load * (0.02 + (6.0 * (load - 1.8)).exp().min(50.0))
}

fn table(case: &Case, seed: u64) -> FleetTable {
    let mut random = Random::new(seed);
    let days: Vec<f64> = (0..DAYS).map(|_| (0.1 * random.normal()).exp()).collect();
    let sites = case.sites.map_or(20, |sites| 2 * sites);
    // The failed-over customer's users are nearer to some sites than to others.
    let surges: Vec<f64> =
        (0..sites).map(|_| (case.surge_ln + case.spread * random.normal()).exp().max(1.0)).collect();
    let servers = (0..case.servers).map(|place| {
        let site = place % sites;
        let test = match case.sites {
            Some(_) => site.is_multiple_of(2),
            None => random.unit() < case.test_share,
        };
        let usual_load = 1e6 * (0.3 * random.normal()).exp();
        let usual_drops = 500.0 * (0.6 * random.normal()).exp();
        let (mut metric, mut load, mut lasting) = (Vec::new(), Vec::new(), 0.0);
        for (day, common) in days.iter().enumerate() {
            let mut factor = common * (0.06 * random.normal()).exp();
            if case.surge.contains(&day) {
                let harder = if test { case.harder } else { 1.0 };
                factor *= surges[site] * harder * (0.1 * random.normal()).exp();
            }
            lasting = 0.5 * lasting + 0.15 * random.normal();
            let change = if test && day >= BEFORE { case.ratio } else { 1.0 };
            metric.push(Some((usual_drops * (case.physics)(factor) * change * f64::exp(lasting)).round()));
            load.push(Some((usual_load * factor).round()));
        }
        FleetServer {
            name: format!("edge-{place:03}"),
            group: Some(if test { FleetGroup::Test } else { FleetGroup::Control }),
            site: format!("site-{site:02}"),
            hardware: String::new(),
            metric,
            load,
            ..FleetServer::default()
        }
    });
    let servers = servers.collect();
    FleetTable {
        intervals_start_s: (0..DAYS as i64).map(|day| FIRST_S + day * DAY_S).collect(),
        servers,
        exclusions: Vec::new(),
    }
}

/// Of so many fleets.
#[derive(Debug, Default)]
struct Seen {
    better: u32,
    worse: u32,
    /// Loads that levels alone would have refused.
    apart: u32,
    /// The second estimate contradicts the first.
    contradicted: u32,
    covered: u32,
}

impl Seen {
    fn different(&self) -> u32 {
        self.better + self.worse
    }
}

fn seen(case: &Case, fleets: u64) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..fleets {
        let result = result(&table(case, seed), &question()).unwrap();
        seen.better += u32::from(result.verdict == Verdict::Better);
        seen.worse += u32::from(result.verdict == Verdict::Worse);
        seen.apart += u32::from(check(&result, "overlap").statement.contains("goes past the data"));
        seen.contradicted += u32::from(result.by_intervals.is_some_and(|second| !second.agrees));
        let (low, high) = (result.interval_low.unwrap(), result.interval_high.unwrap());
        seen.covered += u32::from((low..=high).contains(&case.ratio));
    }
    seen
}

/// Levels alone refuse every one of these.
#[test]
fn a_failover_of_one_day_that_hits_one_group_harder_leaves_the_effect_to_be_found() {
    let found = seen(&FAILOVER(), 8);
    assert_eq!((found.better, found.apart, found.contradicted), (8, 8, 0), "{found:?}");
    let nothing = seen(&Case { ratio: 1.0, ..FAILOVER() }, 8);
    assert!(nothing.different() <= 1 && nothing.apart == 8, "{nothing:?}");
    let result = result(&table(&FAILOVER(), 1), &question()).unwrap();
    let overlap = check(&result, "overlap");
    assert_eq!(overlap.outcome, CheckOutcome::Warning);
    assert!(
        overlap.statement.contains("by single days") && overlap.statement.contains("agrees"),
        "{overlap:?}"
    );
    let second = result.by_intervals.unwrap();
    assert!(
        result.interval_low.unwrap() <= second.interval_low
            && second.interval_high <= result.interval_high.unwrap(),
        "{result:?}"
    );
}

#[test]
fn drops_that_grow_ever_faster_make_the_estimates_contradict_each_other_and_nothing_is_decided() {
    let mixed = Case { sites: None, test_share: 0.2, servers: 200, physics: capacity, ..FAILOVER() };
    for ratio in [0.7, 1.0] {
        let seen = seen(&Case { ratio, ..mixed.clone() }, 4);
        assert_eq!((seen.different(), seen.contradicted), (0, 4), "{seen:?}");
    }
}

#[test]
fn a_surge_that_lasts_leaves_no_day_of_equal_load() {
    let lasting = seen(&Case { surge: 14..21, ..FAILOVER() }, 4);
    assert_eq!((lasting.different(), lasting.apart, lasting.contradicted), (0, 4, 0), "{lasting:?}");
}

#[test]
#[ignore = "a simulation: make simulations"]
fn many_fleets_with_a_surge_of_one_day() {
    const FLEETS: u64 = 200;
    let whole = FAILOVER();
    let mixed = Case { sites: None, test_share: 0.2, servers: 200, ..FAILOVER() };
    let unlike = Case { spread: 0.6, harder: 1.0, ..whole.clone() };
    for (name, case) in
        [("whole sites", whole), ("whole sites, each hit unlike", unlike), ("20 % of the servers", mixed)]
    {
        for (physics, of) in [("power 1.8", case.physics), ("capacity", capacity as fn(f64) -> f64)] {
            for ratio in [0.7, 1.0] {
                let seen = seen(&Case { ratio, physics: of, ..case.clone() }, FLEETS);
                eprintln!("{name}, {physics}, ratio {ratio}: {seen:?}");
                // Standard error 1.5 %: two of them above 5 %.
                assert!(ratio < 1.0 || seen.different() <= 16, "{name}, {physics}: {seen:?}");
                assert!(ratio > 0.7 || physics != "power 1.8" || seen.better >= 170, "{name}: {seen:?}");
            }
        }
    }
}
