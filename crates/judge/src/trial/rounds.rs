//! The rounds that count: those in which every arm has a whole block, less those with a disturbance that is no arm's.
//!
//! The rules are fixed before any result is known, never look at an arm's figures in a block, and leave out whole rounds, never
//! one arm's block: leaving out single blocks would choose the answer. An arm can cause a disturbance all the same, so each round
//! that is left out names the steps in whose blocks it was seen, and `doubts` weighs that. A generator's lateness is compared
//! with one figure for all arms, the reference's usual latency: compared with each block's own, the rule would leave out the
//! faster arms first.

use super::Arm;
use plumb_model::document::BlockResult;
use plumb_model::figure::{percent, time};
use plumb_model::trial::ExcludedPair;
use plumb_stats::median::median;
use std::collections::BTreeMap;

/// Share of the processors' time that the hypervisor may give to other guests: twice what makes a run suspect, as what
/// disturbs neighbouring blocks alike is not in their ratio (ours).
const STEAL_SHARE_MAX: f64 = 0.20;

/// Share of the processors' time that other programs may use, likewise (ours).
const OTHERS_SHARE_MAX: f64 = 0.40;

/// A host that is always busy is the host that the verdict is about: a round is left out only where it was also so many
/// times as busy as the middle one (ours).
const UNUSUAL_TIMES: f64 = 1.5;

/// Mean lateness of the sends, over the reference's usual mean latency, from which on the figure is that of the generator (the
/// share is that of the validity of a run).
const SLIP_SHARE_MAX: f64 = 0.50;

/// The rounds of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rounds {
    /// Rounds in which every arm has a whole block.
    pub(crate) whole: Vec<u32>,
    /// Those that no rule excludes.
    pub(crate) kept: Vec<u32>,
    /// The others, with the reason.
    pub(crate) excluded: Vec<ExcludedPair>,
    /// Noise that was above its rule in most rounds and was therefore left in, as a sentence.
    pub(crate) always: Vec<String>,
}

/// The arms that are measured, with their place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured<'a> {
    /// Arms that belong together, the reference first.
    pub(super) arms: &'a [&'a Arm<'a>],
    /// True if the brokers are on this host; none where it is not known.
    pub(super) local: Option<bool>,
    /// True if the trial looks at its result after every round. Each round is then compared with those up to it alone: one that
    /// was kept stays so, as a bet on a pair that is taken back later was none.
    pub(super) looked_at: bool,
    /// True if a count decides. What makes times longer adds no count, and what is lost by the host's being busy is what is asked for: no
    /// round is left out then.
    pub(super) counts: bool,
}

/// The rounds of a trial so far.
pub(super) fn rounds(measured: Measured) -> Rounds {
    let Measured { arms, local, looked_at, counts } = measured;
    let Some(first) = arms.first() else { return Rounds::default() };
    let in_all = |round: &&u32| arms.iter().all(|arm| arm.blocks.contains_key(*round));
    let whole: Vec<u32> = first.blocks.keys().filter(in_all).copied().collect();
    if counts {
        return Rounds { kept: whole.clone(), whole, ..Rounds::default() };
    }
    let all = Rules::of(arms, &whole, local);
    let mut rounds = Rounds { always: all.always(), ..Rounds::default() };
    for (at, round) in whole.iter().enumerate() {
        let so_far = looked_at.then(|| Rules::of(arms, &whole[..=at], local));
        match so_far.as_ref().unwrap_or(&all).against(arms, *round) {
            Some(excluded) => rounds.excluded.push(excluded),
            None => rounds.kept.push(*round),
        }
    }
    Rounds { whole, ..rounds }
}

/// The usual noise and latency that a round is compared with.
struct Rules {
    noises: Vec<Noise>,
    usual_ns: Option<f64>,
}

impl Rules {
    fn of(arms: &[&Arm], rounds: &[u32], local: Option<bool>) -> Self {
        Rules {
            noises: NOISES.iter().map(|kind| Noise::of(kind, arms, rounds, local)).collect(),
            usual_ns: arms.first().and_then(|reference| usual_latency_ns(reference, rounds)),
        }
    }

    /// The round as one that is left out, where it is.
    fn against(&self, arms: &[&Arm], round: u32) -> Option<ExcludedPair> {
        let noisy = self.noises.iter().find_map(|noise| noise.unusual(round));
        let (reason, seen_in) = noisy.or_else(|| self.late(arms, round))?;
        Some(ExcludedPair { round, reason, seen_in })
    }

    /// The exclusion of a round for its generator's lateness, with the steps that were late.
    fn late(&self, arms: &[&Arm], round: u32) -> Option<(String, Vec<String>)> {
        let late = arms
            .iter()
            .filter_map(|arm| Some((arm.name, sent_late(arm, arm.blocks.get(&round)?, self.usual_ns?)?)));
        let late: Vec<(&str, String)> = late.collect();
        let (name, first) = late.first()?;
        Some((format!("\"{name}\": {first}"), late.iter().map(|(name, _)| (*name).to_owned()).collect()))
    }

    fn always(&self) -> Vec<String> {
        self.noises.iter().filter_map(Noise::always).collect()
    }
}

/// Something else that takes processors' time.
struct NoiseKind {
    /// Before the share, in a sentence.
    words: &'static str,
    share_max: f64,
    share: fn(&BlockResult, Option<bool>) -> Option<f64>,
}

const NOISES: [NoiseKind; 2] = [
    NoiseKind {
        words: "the hypervisor took",
        share_max: STEAL_SHARE_MAX,
        share: |block, _| block.host.as_ref()?.cpu.steal_share(),
    },
    NoiseKind { words: "other programs used", share_max: OTHERS_SHARE_MAX, share: used_by_others },
];

/// One kind of it over the rounds: of each, the share in each of its blocks with the step's name, the noisiest first.
struct Noise {
    kind: &'static NoiseKind,
    shares: BTreeMap<u32, Vec<(f64, String)>>,
    usual: f64,
}

impl Noise {
    fn of(kind: &'static NoiseKind, arms: &[&Arm], rounds: &[u32], local: Option<bool>) -> Noise {
        let of_round = |round: &u32| {
            let share =
                |arm: &&Arm| Some(((kind.share)(arm.blocks.get(round)?, local)?, arm.name.to_owned()));
            let mut shares: Vec<(f64, String)> = arms.iter().filter_map(share).collect();
            shares.sort_by(|a, b| b.0.total_cmp(&a.0));
            (*round, shares)
        };
        let shares: BTreeMap<u32, Vec<(f64, String)>> = rounds.iter().map(of_round).collect();
        let noisiest = shares.values().filter_map(|shares| Some(shares.first()?.0));
        let usual = median(noisiest).unwrap_or(0.0);
        Noise { kind, shares, usual }
    }

    fn limit(&self) -> f64 {
        self.kind.share_max.max(UNUSUAL_TIMES * self.usual)
    }

    /// The exclusion of a round, with the steps in whose blocks the noise was.
    fn unusual(&self, round: u32) -> Option<(String, Vec<String>)> {
        let noisy = self.shares.get(&round)?.iter().filter(|(share, _)| *share > self.limit());
        let noisy: Vec<&(f64, String)> = noisy.collect();
        let (share, name) = noisy.first()?;
        let reason = format!(
            "\"{name}\": {} {} of the processors' time (usual here: {}; rule: at most {})",
            self.kind.words,
            percent(*share),
            percent(self.usual),
            percent(self.limit())
        );
        Some((reason, noisy.iter().map(|(_, name)| name.clone()).collect()))
    }

    /// A sentence about noise that was above its rule in most rounds; none where it was not.
    fn always(&self) -> Option<String> {
        (self.usual > self.kind.share_max).then(|| {
            format!(
                "In the middle round {} {} of the processors' time: no pair is left out for that, as this host was never \
                 quiet, and what is said holds for a host so busy.",
                self.kind.words,
                percent(self.usual)
            )
        })
    }
}

/// Share of the processors' time that neither the generator nor the brokers used, where that can be told.
fn used_by_others(block: &BlockResult, local: Option<bool>) -> Option<f64> {
    let brokers_s = match local {
        Some(false) => 0.0,
        Some(true) | None => block.broker_cpu_s?,
    };
    let cpu = &block.host.as_ref()?.cpu;
    let total_s = cpu.total_ns? as f64 / 1e9;
    let others_s = cpu.busy_ns? as f64 / 1e9 - block.client_cpu_s? - brokers_s;
    (total_s > 0.0).then(|| others_s / total_s)
}

/// Mean latency of the middle block of these rounds.
fn usual_latency_ns(reference: &Arm, rounds: &[u32]) -> Option<f64> {
    let blocks = rounds.iter().filter_map(|round| reference.blocks.get(round));
    let means = blocks.filter_map(|block| reference.setup.headline_of(block).mean_ns);
    median(means).filter(|mean| *mean > 0.0)
}

/// The generator was late by itself. A sender that waits for answers or for room in its queue is late because of the path.
fn sent_late(arm: &Arm, block: &BlockResult, usual_ns: f64) -> Option<String> {
    let waits = arm.setup.load().is_some_and(|load| load.in_flight.is_some())
        || block.queue_full_waits.is_some_and(|waits| waits > 0);
    // That a program sends late is its own result, and in its latencies: to leave it out would be to leave out the slow blocks of a slow client.
    if waits || arm.setup.saturates() || arm.setup.has_program("producer") {
        return None;
    }
    let slip_ns = block.slip_mean_ns?;
    (slip_ns > SLIP_SHARE_MAX * usual_ns).then(|| {
        format!(
            "the generator sent {} late in the mean; the reference's usual mean latency is {} (rule: at most {} of it)",
            time(slip_ns),
            time(usual_ns),
            percent(SLIP_SHARE_MAX)
        )
    })
}
