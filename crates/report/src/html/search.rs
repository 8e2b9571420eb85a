//! A search for the highest rate that holds a goal: every tried rate by its rate and what the goal's quantile was, with the
//! limit and the interval in which the path's own limit lies.

use super::Key;
use super::scale::{LogScale, linear_ticks, percent, time_tick};
use crate::searches;
use plumb_model::document::StepResult;
use plumb_model::figure::{plain, rate, time};
use plumb_model::search::{SearchResult, Try, TryOutcome};

/// The chart of one step's search.
pub(super) struct SearchChart {
    pub(super) key: Key,
    pub(super) heading: String,
    pub(super) outcome: String,
    pub(super) quantile: String,
    pub(super) marks: Vec<Mark>,
    pub(super) limit_y: String,
    /// Place and width of the interval; it goes on to the right end where no rate was seen to fail.
    pub(super) band: Option<(String, String)>,
    pub(super) x_ticks: Vec<(String, String)>,
    pub(super) y_ticks: Vec<(String, String)>,
    /// Every tried rate: order, purpose, asked, reached, quantile, what came of it.
    pub(super) rows: Vec<Vec<String>>,
}

/// One tried rate.
pub(super) struct Mark {
    pub(super) x: String,
    pub(super) y: String,
    /// `holds`, `fails` or `other`.
    pub(super) class: &'static str,
    /// True if it was at full length.
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
    let most = search.tries.iter().map(|tried| tried.rate_per_s).fold(0.0, f64::max) * 1.05;
    let limit = search.goal.limit.0 as f64;
    let seen = search.tries.iter().filter_map(|tried| tried.quantile_ns).map(|ns| ns as f64);
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
    let mark = |tried: &Try| {
        let ns = tried.quantile_ns? as f64;
        Some(Mark {
            x: percent(x(tried.rate_per_s)),
            y: y(ns),
            class: match tried.outcome {
                TryOutcome::Holds => "holds",
                TryOutcome::Fails => "fails",
                TryOutcome::GeneratorBound | TryOutcome::TooFew => "other",
            },
            confirms: tried.purpose == plumb_model::search::TryPurpose::Confirm,
            title: format!(
                "{}/s, {}: {}, {}",
                rate(tried.rate_per_s),
                searches::purpose(tried.purpose),
                time(ns),
                searches::tried(tried)
            ),
        })
    };
    let rows = search.tries.iter().enumerate().map(|(index, tried)| {
        vec![
            format!("{}", index + 1),
            searches::purpose(tried.purpose).to_owned(),
            rate(tried.rate_per_s),
            tried.achieved_per_s.map_or_else(|| plumb_model::figure::ABSENT.to_owned(), rate),
            tried.quantile_ns.map_or_else(|| plumb_model::figure::ABSENT.to_owned(), |ns| time(ns as f64)),
            searches::tried(tried),
        ]
    });
    Some(SearchChart {
        heading: searches::heading(search),
        outcome: searches::outcome(search),
        quantile: searches::quantile(search.goal.quantile),
        limit_y: y(limit),
        band,
        marks: search.tries.iter().filter_map(mark).collect(),
        x_ticks: linear_ticks(most, 6.0).into_iter().map(|tick| (percent(x(tick)), plain(tick))).collect(),
        y_ticks: scale.ticks().into_iter().map(|ns| (y(ns), time_tick(ns))).collect(),
        rows: rows.collect(),
        key,
    })
}
