//! A search for the highest rate that holds a goal: every trial by its rate and what the goal's quantile was, with the
//! limit and the interval in which the path's own limit lies.

use super::Key;
use super::scale::{LogScale, linear_ticks, percent, time_tick};
use crate::number::{plain, rate, time};
use crate::searches;
use plumb_model::document::StepResult;
use plumb_model::search::{SearchResult, SearchTrial, TrialVerdict};

/// The chart of one step's search.
pub(super) struct SearchChart {
    pub(super) key: Key,
    pub(super) heading: String,
    pub(super) outcome: String,
    pub(super) quantile: String,
    pub(super) trials: Vec<Trial>,
    pub(super) limit_y: String,
    /// Place and width of the interval; it goes on to the right end where no rate was seen to fail.
    pub(super) band: Option<(String, String)>,
    pub(super) x_ticks: Vec<(String, String)>,
    pub(super) y_ticks: Vec<(String, String)>,
    /// Every trial: order, purpose, asked, reached, quantile, verdict.
    pub(super) rows: Vec<Vec<String>>,
}

/// One trial.
pub(super) struct Trial {
    pub(super) x: String,
    pub(super) y: String,
    /// `holds`, `fails` or `other`.
    pub(super) class: &'static str,
    /// Whether it was at full length.
    pub(super) confirms: bool,
    pub(super) title: String,
}

/// One chart for each step that searched and tried anything.
pub(super) fn view(steps: &[StepResult]) -> Vec<SearchChart> {
    let searched = steps.iter().enumerate().filter_map(|(index, step)| {
        let search = step.search.as_ref()?;
        chart(Key::new(index, step), search)
    });
    searched.collect()
}

fn chart(key: Key, search: &SearchResult) -> Option<SearchChart> {
    let most = search.trials.iter().map(|trial| trial.rate_per_s).fold(0.0, f64::max) * 1.05;
    let limit = search.goal.limit.0 as f64;
    let seen = search.trials.iter().filter_map(|trial| trial.quantile_ns).map(|ns| ns as f64);
    let scale = LogScale::around(seen.chain([limit]))?;
    if most <= 0.0 {
        return None;
    }
    let x = |rate: f64| (rate / most).clamp(0.0, 1.0);
    let y = |ns: f64| percent(1.0 - scale.share(ns));
    let band = search.rate_low_per_s.map(|low| {
        let high = search.rate_high_per_s.map_or(1.0, x);
        (percent(x(low)), percent((high - x(low)).max(0.004)))
    });
    let trial = |trial: &SearchTrial| {
        let ns = trial.quantile_ns? as f64;
        Some(Trial {
            x: percent(x(trial.rate_per_s)),
            y: y(ns),
            class: match trial.verdict {
                TrialVerdict::Holds => "holds",
                TrialVerdict::Fails => "fails",
                TrialVerdict::GeneratorBound | TrialVerdict::TooFew => "other",
            },
            confirms: trial.purpose == plumb_model::search::TrialPurpose::Confirm,
            title: format!(
                "{}/s, {}: {}, {}",
                rate(trial.rate_per_s),
                searches::purpose(trial.purpose),
                time(ns),
                searches::verdict(trial)
            ),
        })
    };
    let rows = search.trials.iter().enumerate().map(|(index, trial)| {
        vec![
            format!("{}", index + 1),
            searches::purpose(trial.purpose).to_owned(),
            rate(trial.rate_per_s),
            trial.achieved_per_s.map_or_else(|| crate::number::ABSENT.to_owned(), rate),
            trial.quantile_ns.map_or_else(|| crate::number::ABSENT.to_owned(), |ns| time(ns as f64)),
            searches::verdict(trial),
        ]
    });
    Some(SearchChart {
        heading: searches::heading(search),
        outcome: searches::outcome(search),
        quantile: searches::quantile(search.goal.quantile),
        limit_y: y(limit),
        band,
        trials: search.trials.iter().filter_map(trial).collect(),
        x_ticks: linear_ticks(most, 6.0).into_iter().map(|tick| (percent(x(tick)), plain(tick))).collect(),
        y_ticks: scale.ticks().into_iter().map(|ns| (y(ns), time_tick(ns))).collect(),
        rows: rows.collect(),
        key,
    })
}
