//! Groups drawn from an inventory, and how alike they are.

use plumb_model::fleet::{FleetGroup, FleetServer};
use plumb_stats::fleet::assign::{Candidate, draw, most};
use std::collections::BTreeMap;
use thiserror::Error;

/// Groups that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
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
        /// What is possible.
        most: usize,
    },
    /// A group of none.
    #[error("expected at least 1 server for each group, got 0")]
    None,
}

/// Groups with what they are like.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Each server that is in a group, by name; with matched pairs, the number of its pair.
    pub servers: Vec<Assigned>,
    /// Each kind with its servers in the inventory and in each group.
    pub kinds: Vec<Kind>,
    /// Mean of the metric before in control and test, where it is known.
    pub baseline_means: Option<(f64, f64)>,
    /// Whether servers were matched.
    pub paired: bool,
    /// The seed that makes the same groups of the same inventory again.
    pub seed: u64,
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
    if servers == 0 {
        return Err(AssignError::None);
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
    Ok(Assignment {
        kinds: kinds(inventory, &drawn.control),
        servers: assigned,
        baseline_means: mean(&drawn.control).zip(mean(&drawn.test)),
        paired: drawn.paired,
        seed,
    })
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
