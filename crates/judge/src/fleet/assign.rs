//! Groups drawn from an inventory, with their likeness.

use plumb_model::figure::{p_value, probability};
use plumb_model::fleet::{FleetGroup, FleetServer};
use plumb_stats::fleet::assign::{Candidate, draw, most};
use plumb_stats::fleet::permutation::{servers_min, smallest_p};
use std::collections::BTreeMap;
use thiserror::Error;

/// The largest p that shows a difference, at the usual level of a trial.
const ALPHA: f64 = 0.05;

/// Groups that cannot be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum AssignError {
    /// More than there are.
    #[error(
        "{asked} servers for each group are asked for; {servers} servers in {kinds} kinds of site and hardware make at most {most}, as \
         each kind is halved"
    )]
    TooMany {
        /// For each group.
        asked: usize,
        /// In the inventory.
        servers: usize,
        /// Combinations of site and hardware.
        kinds: usize,
        /// The most that the inventory makes.
        most: usize,
    },
    /// Groups that no difference can show in.
    #[error(
        "{asked} for each group can never show a difference: however large it is, chance alone does as much with {}; it \
         takes {needed} for each group",
        plumb_model::figure::p_value(*p)
    )]
    TooFew {
        /// For each group.
        asked: usize,
        /// The smallest p that they can reach.
        p: f64,
        /// The fewest that can show a difference.
        needed: usize,
    },
}

/// Groups with what they are like.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Each server that is in a group, by name; with matched pairs, the number of its pair.
    pub servers: Vec<Assigned>,
    /// Each kind with its servers in the inventory and in each group.
    pub kinds: Vec<Kind>,
    /// Mean of the metric before in control and test, where it is known.
    pub baseline_means: Option<BaselineMeans>,
    /// True if servers were matched.
    pub paired: bool,
    /// A sentence about comparisons that such groups cannot make, where they are few.
    pub weakness: Option<String>,
    /// The seed that makes the same groups of the same inventory again.
    pub seed: u64,
}

/// The mean baseline of each group's servers, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselineMeans {
    /// Of the control group.
    pub control: f64,
    /// Of the test group.
    pub test: f64,
}

/// A server in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: FleetGroup,
    /// Its site.
    pub site: String,
    /// Its hardware.
    pub hardware: String,
    /// Its pair, from 1; none without pairs.
    pub pair: Option<usize>,
}

/// Servers of a site with one hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Site.
    pub site: String,
    /// Hardware.
    pub hardware: String,
    /// In the inventory.
    pub servers: usize,
    /// In the control group, and as many in the test group.
    pub each: usize,
}

/// `servers` for each group, drawn at random within site and hardware.
///
/// # Errors
/// [`AssignError`] where the inventory has not so many.
pub fn assign(
    inventory: &[FleetServer],
    baselines: &[Option<f64>],
    servers: usize,
    seed: u64,
) -> Result<Assignment, AssignError> {
    let candidates: Vec<Candidate> = inventory
        .iter()
        .enumerate()
        .map(|(at, server)| Candidate {
            // A character that no name has keeps `a`,`bc` and `ab`,`c` apart.
            kind: format!("{}\u{1f}{}", server.site, server.hardware),
            baseline: baselines.get(at).copied().flatten(),
        })
        .collect();
    let p = smallest(servers);
    if p > ALPHA {
        return Err(AssignError::TooFew { asked: servers, p, needed: servers_min(ALPHA) });
    }
    let Some(drawn) = draw(&candidates, servers, seed) else {
        return Err(AssignError::TooMany {
            asked: servers,
            servers: inventory.len(),
            kinds: kinds(inventory, &[]).len(),
            most: most(&candidates),
        });
    };
    let of = |places: &[usize], group: FleetGroup| -> Vec<Assigned> {
        let assigned = places.iter().enumerate().map(|(pair, &place)| {
            let server = &inventory[place];
            Assigned {
                name: server.name.clone(),
                group,
                site: server.site.clone(),
                hardware: server.hardware.clone(),
                pair: drawn.paired.then_some(pair + 1),
            }
        });
        assigned.collect()
    };
    let mut assigned = of(&drawn.test, FleetGroup::Test);
    assigned.extend(of(&drawn.control, FleetGroup::Control));
    assigned.sort_by(|a, b| a.name.cmp(&b.name));
    let mean = |places: &[usize]| {
        let known: Vec<f64> = places.iter().filter_map(|&place| candidates[place].baseline).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let kinds = kinds(inventory, &drawn.control);
    Ok(Assignment {
        weakness: weakness(servers, drawn.paired, &kinds),
        kinds,
        servers: assigned,
        baseline_means: mean(&drawn.control)
            .zip(mean(&drawn.test))
            .map(|(control, test)| BaselineMeans { control, test }),
        paired: drawn.paired,
        seed,
    })
}

/// The smallest p of groups of so many, whichever servers go with which.
fn smallest(each: usize) -> f64 {
    smallest_of(&[each])
}

/// The same within kinds, of so many servers for each group of each.
fn smallest_of(each: &[usize]) -> f64 {
    let servers = || each.iter().enumerate().flat_map(|(kind, each)| (0..2 * each).map(move |at| (kind, at)));
    let test: Vec<bool> = servers().map(|(_, at)| at % 2 == 0).collect();
    let stratum: Vec<u32> = servers().map(|(kind, _)| kind as u32).collect();
    smallest_p(&test, &stratum)
}

/// A sentence about groups that can show a difference as a whole, and cannot pair by pair or kind by kind.
fn weakness(servers: usize, paired: bool, kinds: &[Kind]) -> Option<String> {
    let by_pairs = smallest_of(&vec![1; servers]);
    let by_kinds = smallest_of(&kinds.iter().map(|kind| kind.each).collect::<Vec<_>>());
    if by_kinds <= ALPHA && (!paired || by_pairs <= ALPHA) {
        return None;
    }
    let needed = (servers..).find(|&pairs| smallest_of(&vec![1; pairs]) <= ALPHA)?;
    let (how, p) = match by_kinds > ALPHA {
        true => ("Within their site and hardware (--strata)", by_kinds),
        false => ("Pair by pair", by_pairs),
    };
    Some(format!(
        "{how} {servers} for each group can never show a difference: chance alone does as much with {}; it takes {needed}. All \
         together, without regard to that, they can: then the smallest p is {}.",
        p_value(p),
        probability(smallest(servers))
    ))
}

fn kinds(inventory: &[FleetServer], control: &[usize]) -> Vec<Kind> {
    let mut kinds = BTreeMap::<(&str, &str), (usize, usize)>::new();
    for server in inventory {
        kinds.entry((&server.site, &server.hardware)).or_default().0 += 1;
    }
    for &place in control {
        let server = &inventory[place];
        kinds.entry((&server.site, &server.hardware)).or_default().1 += 1;
    }
    let kind = |((site, hardware), (servers, each)): ((&str, &str), (usize, usize))| Kind {
        site: site.to_owned(),
        hardware: hardware.to_owned(),
        servers,
        each,
    };
    kinds.into_iter().map(kind).collect()
}
