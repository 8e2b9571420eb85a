//! Steps that differ only in the number of their clients, as lines: the number from which more clients stop helping, the fall of
//! the rate, the onset of variation, and the ratio of one line to the first.
//!
//! Only steps that go as fast as possible make lines: at a given rate more clients bring no more. Arithmetic is in `stats`; the
//! rules `knee` and `variability-onset` explain a line to a reader.

use crate::comparison::{self, FamilyLevel};
use crate::durability::{self, Unlike};
use crate::setup::Setup;
use plumb_model::document::RunDocument;
use plumb_model::figure::counted;
use plumb_model::plan::{ClusterPlan, Mode, SizePlan, StepPlan, TopicPlan};
use plumb_model::prose::list;
use plumb_model::sweep::{
    LineRatio, NoKnee, SweepOver, SweepPlace, SweepPoint, SweepRate, SweepResult, VariabilityOnset,
};
use plumb_stats::interval::{Spread, mean_interval};
use plumb_stats::knee::{self, ClientCount, Knee, Point};
use plumb_stats::paired::{Pair, paired_ratio};
use plumb_stats::variability;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest numbers of clients that make a line (ours: two are a comparison).
const POINTS_MIN: usize = 3;

/// Share of the best rate that counts as no difference (ours).
pub(crate) const MARGIN: f64 = 0.05;

/// The lines of a run, in the order of its plan.
pub(crate) fn sweeps(document: &RunDocument) -> Vec<SweepResult> {
    let lines = Line::all(document);
    let labels = labels(&lines, &document.plan.cluster);
    let firsts: Vec<Option<usize>> = (0..lines.len())
        .map(|index| lines[..index].iter().position(|first| first.comparable(&lines[index])))
        .collect();
    let level = FamilyLevel::of(document, firsts.iter().flatten().count());
    let results = lines.iter().zip(&labels).zip(firsts).map(|((line, label), first)| {
        let ratio = first.and_then(|first| line.over(&lines[first], &labels[first], level));
        line.result(label, document, ratio)
    });
    results.collect()
}

/// A number of a line's clients: `1 producer`, `8 producers`.
pub(crate) fn clients_of(line: &SweepResult, clients: u32) -> String {
    let noun = match line.over {
        SweepOver::Producers => "producer",
        SweepOver::Consumers => "consumer",
    };
    counted(clients, noun)
}

/// Steps of one line, by number of clients.
struct Line<'a> {
    plan: &'a StepPlan,
    points: BTreeMap<u32, Setup<'a>>,
}

impl<'a> Line<'a> {
    fn all(document: &'a RunDocument) -> Vec<Line<'a>> {
        let mut lines: Vec<Line> = Vec::new();
        let saturating = Setup::all(document).filter(|setup| setup.saturates() && !setup.drains_a_backlog());
        for (setup, plan) in saturating.filter_map(|setup| Some((setup, setup.plan?))) {
            let found = lines.iter_mut().find(|line| alike(line.plan, plan));
            match found {
                // Two steps of one place are a repetition: the first stands for both.
                Some(line) => drop(line.points.entry(clients(plan)).or_insert(setup)),
                None => lines.push(Line { plan, points: BTreeMap::from([(clients(plan), setup)]) }),
            }
        }
        lines.retain(|line| line.points.len() >= POINTS_MIN);
        lines
    }

    fn result(&self, label: &str, document: &RunDocument, against_first: Option<LineRatio>) -> SweepResult {
        let (level, seed) = (comparison::level(document), document.plan.seed);
        let points: Vec<SweepPoint> =
            self.points.iter().filter_map(|(clients, setup)| point(*clients, setup, level)).collect();
        let rates: Vec<Point> = points
            .iter()
            .map(|point| Point { clients: point.clients, rates_per_s: point.blocks_per_s.clone() })
            .collect();
        let shape = knee::shape(&rates, MARGIN, level, seed);
        let place = |found: ClientCount| SweepPlace {
            clients: found.clients,
            clients_low: found.low,
            clients_high: found.high,
            level,
            margin: MARGIN,
        };
        let onset = variability::onset(&rates, level, seed);
        SweepResult {
            line: label.to_owned(),
            over: over(self.plan),
            rate: match over(self.plan) {
                SweepOver::Producers => SweepRate::Produced,
                SweepOver::Consumers => SweepRate::Received,
            },
            knee: shape.and_then(|shape| shape.knee.place()).map(place),
            no_knee: match shape.map(|shape| shape.knee) {
                Some(Knee::At(_)) => None,
                Some(Knee::StillRises) => Some(NoKnee::StillRises),
                Some(Knee::Unclear) => Some(NoKnee::Unclear),
                None => Some(NoKnee::TooFew),
            },
            fall: shape.and_then(|shape| shape.fall).map(place),
            variability: onset.map(|onset| VariabilityOnset {
                clients: onset.place.clients,
                clients_low: onset.place.low,
                clients_high: onset.place.high.unwrap_or(onset.place.clients),
                level,
                variation_before: onset.before,
                variation_after: onset.after,
                p: onset.p,
            }),
            best_per_s: shape.map(|shape| shape.best_per_s),
            last_share: shape.map(|shape| shape.last_share),
            against_first,
            points,
        }
    }

    /// True if two lines moved messages of one size in one way, so that their rates can be compared.
    fn comparable(&self, other: &Line) -> bool {
        let (a, b) = (&self.plan.load, &other.plan.load);
        a.mode == b.mode && a.size == b.size
    }

    /// This line's rates over another's, each round by itself: the mean over the points that both have in that round.
    fn over(&self, first: &Line, label: &str, level: FamilyLevel) -> Option<LineRatio> {
        let common: Vec<(BTreeMap<u32, f64>, BTreeMap<u32, f64>)> = self
            .points
            .iter()
            .filter_map(|(clients, setup)| Some((by_round(first.points.get(clients)?), by_round(setup))))
            .filter(|(a, b)| a.keys().any(|round| b.contains_key(round)))
            .collect();
        let rounds: BTreeSet<u32> = common.iter().flat_map(|(a, _)| a.keys().copied()).collect();
        let whole = rounds
            .into_iter()
            .filter(|round| common.iter().all(|(a, b)| a.contains_key(round) && b.contains_key(round)));
        let mean = |rates: &mut dyn Iterator<Item = f64>| {
            (rates.map(f64::ln).sum::<f64>() / common.len() as f64).exp()
        };
        let pairs: Vec<Pair> = whole
            .map(|round| {
                let a = mean(&mut common.iter().map(|(a, _)| a[&round]));
                let b = mean(&mut common.iter().map(|(_, b)| b[&round]));
                Pair { a, b }
            })
            .collect();
        let ratio = paired_ratio(&pairs, level.each)?;
        let average = |rates: &BTreeMap<u32, f64>| rates.values().sum::<f64>() / rates.len() as f64;
        let ratios = || common.iter().map(|(a, b)| average(b) / average(a));
        let durabilities = self.points.values().next().zip(first.points.values().next());
        let finite = [ratio.ratio, ratio.low, ratio.high].iter().all(|value| value.is_finite());
        let Unlike { known, half_told } = durabilities.map_or_else(Unlike::default, |(own, first)| {
            durability::unlike(&first.result.durability, &own.result.durability)
        });
        finite.then(|| LineRatio {
            first: label.to_owned(),
            ratio: ratio.ratio,
            ratio_low: ratio.low,
            ratio_high: ratio.high,
            level: level.all,
            ratio_least: ratios().fold(f64::INFINITY, f64::min),
            ratio_most: ratios().fold(0.0, f64::max),
            points: u32::try_from(common.len()).unwrap_or(u32::MAX),
            blocks: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
            durability_differences: known,
            durability_not_known: half_told,
        })
    }
}

fn by_round(setup: &Setup) -> BTreeMap<u32, f64> {
    setup.whole_blocks().filter_map(|block| Some((block.block, setup.rate_of(block)?))).collect()
}

fn point(clients: u32, setup: &Setup, level: f64) -> Option<SweepPoint> {
    let blocks_per_s: Vec<f64> = by_round(setup).into_values().collect();
    let count = blocks_per_s.len() as f64;
    let mean = blocks_per_s.iter().sum::<f64>() / count;
    let enough = blocks_per_s.len() >= knee::BLOCKS_MIN;
    let squares = blocks_per_s.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    mean.is_finite().then(|| SweepPoint {
        clients,
        step: setup.name().to_owned(),
        // As every table has it: blocks of a number of messages are not equally long, and their mean is another figure.
        per_s: setup.rate_per_s().unwrap_or(mean),
        interval: mean_interval(&Spread { level, block_means_ns: &blocks_per_s, batches: &[] }),
        value_bytes_mean: setup.result.value_bytes_mean,
        variation: enough.then(|| (squares / (count - 1.0)).sqrt() / mean),
        blocks_per_s,
    })
}

fn over(plan: &StepPlan) -> SweepOver {
    if plan.load.mode == Mode::Consume { SweepOver::Consumers } else { SweepOver::Producers }
}

fn clients(plan: &StepPlan) -> u32 {
    match over(plan) {
        SweepOver::Producers => plan.load.producers,
        SweepOver::Consumers => plan.load.consumers,
    }
}

/// True if two steps differ only in their names and in the clients that become more.
fn alike(a: &StepPlan, b: &StepPlan) -> bool {
    let without = |plan: &StepPlan| {
        let mut plan = plan.clone();
        plan.name.clear();
        match over(&plan) {
            SweepOver::Producers => plan.load.producers = 0,
            SweepOver::Consumers => plan.load.consumers = 0,
        }
        plan
    };
    without(a) == without(b)
}

/// The labels that tell the lines apart; the names of their first steps where no labels do.
fn labels(lines: &[Line], shared: &ClusterPlan) -> Vec<String> {
    let parts: Vec<BTreeMap<(usize, String), String>> =
        lines.iter().map(|line| parts(line.plan, shared)).collect();
    let keys: BTreeSet<&(usize, String)> = parts.iter().flat_map(BTreeMap::keys).collect();
    let differing =
        keys.into_iter().filter(|key| parts.iter().any(|part| part.get(*key) != parts[0].get(*key)));
    let differing: Vec<&(usize, String)> = differing.collect();
    let labels: Vec<String> = parts
        .iter()
        .map(|part| {
            let said: Vec<&str> =
                differing.iter().filter_map(|key| part.get(*key)).map(String::as_str).collect();
            said.join(", ")
        })
        .collect();
    let distinct: BTreeSet<&String> = labels.iter().collect();
    if distinct.len() == lines.len() {
        return labels;
    }
    lines.iter().map(|line| line.plan.name.clone()).collect()
}

/// The parts of a line's label, in the order in which they are told.
fn parts(plan: &StepPlan, shared: &ClusterPlan) -> BTreeMap<(usize, String), String> {
    let mut parts = BTreeMap::new();
    let mut say = |rank: usize, key: &str, text: String| drop(parts.insert((rank, key.to_owned()), text));
    if let TopicPlan::Own { partitions, replication, log_dir, .. } = &plan.topic {
        if let Some(log_dir) = log_dir {
            say(0, "log_dir", log_dir.clone());
        }
        say(6, "partitions", format!("{partitions} partitions"));
        say(7, "replication", format!("replication {replication}"));
    }
    if let ClusterPlan::Lab { log_dirs, .. } = plan.cluster.as_ref().unwrap_or(shared)
        && !log_dirs.is_empty()
    {
        let directories = if log_dirs.len() == 1 { "directory" } else { "directories" };
        say(0, "log_dirs", format!("{} log {directories}", log_dirs.len()));
    }
    say(
        1,
        "size",
        match &plan.load.size {
            SizePlan::Fixed(size) => size.to_string(),
            SizePlan::Mix(mix) => {
                format!("mix of {}", list(&mix.iter().map(|part| part.size.to_string()).collect::<Vec<_>>()))
            }
        },
    );
    say(2, "driver", plan.driver.name().to_owned());
    say(
        3,
        "mode",
        match plan.load.mode {
            Mode::Mixed => "mixed",
            Mode::Produce => "produce",
            Mode::Consume => "consume",
            Mode::Backlog(_) => "backlog",
        }
        .to_owned(),
    );
    match over(plan) {
        SweepOver::Producers => say(4, "consumers", format!("{} consumers", plan.load.consumers)),
        SweepOver::Consumers => say(4, "producers", format!("{} producers", plan.load.producers)),
    }
    for (key, value) in &plan.producer {
        say(8, key, format!("{key}={value}"));
    }
    for (key, value) in &plan.consumer {
        say(9, key, format!("{key}={value}"));
    }
    parts
}
