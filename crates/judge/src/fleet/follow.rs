//! The check for groups that follow the sites, though some site has both.
//!
//! Where no site has both groups, sites are the units (`units.rs`). One server in the other group is enough to end that, and an
//! event at the sites at the time of the change is then as much in the effect as before. So the check measures how far the groups
//! part along the sites (the index of dissimilarity, Duncan and Duncan 1955) and how often servers drawn at random would part as
//! far.

use super::alarm::check;
use super::compared::Compared;
use super::question::{FleetQuestion, Stratum};
use super::rows;
use super::strata::label;
use plumb_model::figure::percent;
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::FleetUnit;
use plumb_model::random::Random;
use std::collections::BTreeMap;

/// Draws of the groups: enough for [`ALARM_P`] to be reached with none beyond the groups as they are.
const DRAWS: u32 = 1_999;
/// Groups that part so far by chance less often than this follow the sites (ours: an alarm takes the verdict, so one fleet in a thousand).
const ALARM_P: f64 = 0.001;
/// Keeps these draws apart from those of the verdict.
const PART: u64 = 0x51_7e5;

/// None where the sites are unknown, are the units, or are compared within.
pub(super) fn follow(compared: &Compared, question: &FleetQuestion) -> Option<Check> {
    if compared.units.kind != FleetUnit::Server || question.strata.contains(&Stratum::Site) {
        return None;
    }
    let sites = sites(compared)?;
    let seen = dissimilarity(&sites, &compared.test);
    let mut random = Random::for_part(question.seed, PART);
    let mut drawn = compared.test.clone();
    let mut as_far = 0;
    for _ in 0..DRAWS {
        shuffle(&mut drawn, &mut random);
        as_far += u32::from(dissimilarity(&sites, &drawn) >= seen - 1e-12);
    }
    let p = f64::from(as_far + 1) / f64::from(DRAWS + 1);
    (p <= ALARM_P).then(|| {
        let statement = format!(
            "The groups follow the sites: {} of the servers of one group would have to change places for each site to have its share of both, and \
             groups drawn at random part as far less than once in a thousand times. What came to whole sites is in the effect. Hold servers \
             against others of their own site (--strata site), or choose groups within each site (--assign).",
            percent(seen)
        );
        check(&rows::SITE, CheckOutcome::Failed, statement, Some(p))
    })
}

/// The number of each server's site. None where a site is not told, or where there are fewer than two or no two servers share one.
fn sites(compared: &Compared) -> Option<Vec<usize>> {
    let mut numbers = BTreeMap::<&str, usize>::new();
    let mut of = Vec::with_capacity(compared.servers.len());
    for server in &compared.servers {
        let site = label(server, Stratum::Site);
        if site.is_empty() {
            return None;
        }
        let next = numbers.len();
        of.push(*numbers.entry(site).or_insert(next));
    }
    (2..compared.servers.len()).contains(&numbers.len()).then_some(of)
}

/// Half of the sum over sites of how far the shares of the groups lie apart, 0..1.
fn dissimilarity(sites: &[usize], test: &[bool]) -> f64 {
    let kinds = sites.iter().max().map_or(0, |most| most + 1);
    let mut counts = vec![[0.0; 2]; kinds];
    let mut whole = [0.0_f64; 2];
    for (site, test) in sites.iter().zip(test) {
        counts[*site][usize::from(*test)] += 1.0;
        whole[usize::from(*test)] += 1.0;
    }
    let apart = |[control, test]: &[f64; 2]| (control / whole[0].max(1.0) - test / whole[1].max(1.0)).abs();
    counts.iter().map(apart).sum::<f64>() / 2.0
}

/// Fisher and Yates.
fn shuffle(groups: &mut [bool], random: &mut Random) {
    for last in (1..groups.len()).rev() {
        groups.swap(last, random.below(last + 1));
    }
}
