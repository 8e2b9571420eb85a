//! The effect: test over control, after over before, at equal load.

use super::compared::Compared;
use super::gaps::Of;
use super::question::FleetQuestion;
use plumb_stats::fleet::change::Scale;
use plumb_stats::fleet::design::{Design, Effect, Groups};
use plumb_stats::fleet::permutation::{DRAWN, chance};
use plumb_stats::fleet::zero_heavy::{Shares, ZERO_SHARE_MAX, share_effect};
use plumb_stats::law::student_quantile;
use plumb_stats::power::detectable_ratio_two_groups;

/// Chance of seeing the smallest detectable ratio.
pub(super) const POWER: f64 = 0.8;

/// The effect with what it rests on.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// Its logarithm with the standard error.
    pub(super) log_ratio: Option<(f64, f64)>,
    /// Degrees of freedom of t.
    freedom: f64,
    /// By how much the metric grows with the load, with the standard error.
    pub(super) elasticity: Option<(f64, f64)>,
    pub(super) p: Option<f64>,
    /// The fit behind it; none where shares are compared.
    pub(super) effect: Option<Effect>,
    /// Change of each server's load, as a logarithm; empty without load.
    pub(super) load_change: Vec<f64>,
    /// Whether shares of intervals with any event are compared, as most servers have none.
    pub(super) zero_heavy: bool,
}

impl Estimate {
    pub(super) fn ratio(&self) -> Option<f64> {
        self.log_ratio.map(|(log_ratio, _)| log_ratio.exp())
    }

    /// Its interval as ratios.
    pub(super) fn interval(&self, level: f64) -> Option<(f64, f64)> {
        let (low, high) = self.log_interval(level)?;
        Some((low.exp(), high.exp()))
    }

    pub(super) fn log_interval(&self, level: f64) -> Option<(f64, f64)> {
        let (log_ratio, error) = self.log_ratio?;
        let reach = student_quantile(0.5 + level / 2.0, self.freedom)? * error;
        Some((log_ratio - reach, log_ratio + reach))
    }

    /// The interval of the elasticity.
    pub(super) fn elasticity_interval(&self, level: f64) -> Option<(f64, f64)> {
        let (elasticity, error) = self.elasticity?;
        let reach = student_quantile(0.5 + level / 2.0, self.freedom)? * error;
        Some((elasticity - reach, elasticity + reach))
    }

    /// Standard deviation of what one server does beyond its load and its group.
    pub(super) fn spread(&self, compared: &Compared) -> Option<f64> {
        let (_, error) = self.log_ratio?;
        let test = compared.test.iter().filter(|test| **test).count() as f64;
        let control = compared.test.len() as f64 - test;
        Some(error / (1.0 / test + 1.0 / control).sqrt())
    }

    pub(super) fn smallest_detectable_ratio(&self, compared: &Compared, level: f64) -> Option<f64> {
        let test = compared.test.iter().filter(|test| **test).count();
        detectable_ratio_two_groups(self.spread(compared)?, compared.test.len() - test, test, level, POWER)
    }
}

pub(super) fn estimate(compared: &Compared, question: &FleetQuestion) -> Estimate {
    let change = |of: &dyn Fn(&plumb_model::fleet::FleetServer, &[usize]) -> Option<f64>| {
        // Servers without levels were left out.
        let servers = compared.servers.iter();
        let change = servers.map(|server| Some(of(server, &compared.after)? - of(server, &compared.before)?));
        change.map(|change| change.unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    };
    let metric_change = change(&|server, intervals| compared.metric_level(server, intervals));
    let load_change = match compared.adjusted {
        true => change(&|server, intervals| compared.load_level(server, intervals)),
        false => Vec::new(),
    };
    let load = compared.adjusted.then_some(load_change.as_slice());
    let groups = Groups { test: &compared.test, stratum: &compared.stratum, load };
    if zero_heavy(compared) {
        let found = share_effect(&groups, &shares(compared), question.seed);
        let (log_ratio, p) = found.as_ref().map_or((None, None), |it| (it.log_ratio, Some(it.chance.p)));
        let freedom = found.map_or(0.0, |it| it.freedom);
        return Estimate { log_ratio, freedom, p, load_change, zero_heavy: true, ..Estimate::default() };
    }
    let effect = Design::new(&groups).and_then(|design| design.effect(&metric_change));
    Estimate {
        log_ratio: effect.as_ref().map(|effect| (effect.log_ratio, effect.error)),
        freedom: effect.as_ref().map_or(0.0, |effect| effect.freedom),
        elasticity: effect.as_ref().and_then(|effect| effect.elasticity),
        p: chance(&groups, &metric_change, DRAWN, question.seed).map(|chance| chance.p),
        effect,
        load_change,
        zero_heavy: false,
    }
}

/// Whether more than half of a group's servers have no event at all, before or after the change.
fn zero_heavy(compared: &Compared) -> bool {
    if compared.scale == Scale::Level {
        return false;
    }
    let mut sides = [&compared.before, &compared.after].into_iter();
    sides.any(|intervals| {
        [true, false].into_iter().any(|group| {
            let of_group = compared.servers.iter().zip(&compared.test).filter(|(_, test)| **test == group);
            let (zero, all) = of_group.fold((0.0, 0.0), |(zero, all), (server, _)| {
                let none = compared.metric(server, intervals).iter().all(|value| *value == 0.0);
                (zero + f64::from(u8::from(none)), all + 1.0)
            });
            zero > ZERO_SHARE_MAX * all
        })
    })
}

fn shares(compared: &Compared) -> Vec<Shares> {
    let of = |server: &&plumb_model::fleet::FleetServer| Shares {
        before: compared.mean(server, &compared.before, Of::Any),
        after: compared.mean(server, &compared.after, Of::Any),
    };
    compared.servers.iter().map(of).collect()
}
