//! A trial on the page: verdicts, every comparison of the metric that decides with its pairs, and for the first arms a
//! chart of the pairs: both values of each round joined by a line, and under them their ratio.

use super::grid::Grid;
use super::scale::{LogScale, percent, time_tick};
use crate::findings;
use crate::trials::{self, RatioAxis};
use plumb_model::document::RunDocument;
use plumb_model::figure::{ABSENT, counted, p_value, percent as share, ratio};
use plumb_model::trial::{ArmVerdict, MetricResult, MetricRole, TrialResult};
use plumb_model::verdict::Verdict;

/// Arms with charts of their own; more are in the table.
const CHARTS_MOST: usize = 6;
/// Least distance of two ticks, as a share of the strip.
const TICK_GAP: f64 = 0.2;
/// Least distance of two ticks of a chart's ratio axis.
const TICK_GAP_CHART: f64 = 0.22;

/// Width of a character of a label in 12 px, the widest digit of common fonts, rounded up.
const LABEL_CHARACTER_PX: usize = 7;
/// Between labels and plot, and at the page's edge.
const LABEL_GAP_PX: usize = 12;

/// The section.
pub(super) struct TrialView {
    pub(super) extent: String,
    pub(super) unequal: Vec<String>,
    pub(super) verdicts: Vec<VerdictView>,
    pub(super) arms: Grid,
    /// The metric that decides.
    pub(super) deciding: String,
    pub(super) level: String,
    pub(super) rows: Vec<Row>,
    pub(super) ticks: Vec<(String, String)>,
    pub(super) one: String,
    /// The band in which differences count as none: its start and its width.
    pub(super) margin: (String, String),
    /// The band in which equal arms may lie by chance.
    pub(super) floor: Option<(String, String)>,
    pub(super) charts: Vec<PairChart>,
    pub(super) others: Grid,
    pub(super) noise: String,
    pub(super) excluded: Vec<String>,
    pub(super) findings: Vec<String>,
    pub(super) method: &'static str,
    /// What the p of the metric that decides allows for.
    pub(super) allowance: Option<&'static str>,
}

/// The verdict on an arm.
pub(super) struct VerdictView {
    pub(super) word: &'static str,
    /// `valid`, `suspect` or `invalid`: the colours of good, open and bad.
    pub(super) class: &'static str,
    pub(super) arms: String,
    pub(super) figures: String,
    /// Its basis, and the smallest difference that it could have shown.
    pub(super) basis: Option<String>,
    pub(super) reasons: Vec<String>,
}

/// One comparison of the metric that decides.
pub(super) struct Row {
    pub(super) names: String,
    /// The reference against itself.
    pub(super) is_floor: bool,
    pub(super) values: String,
    pub(super) dots: Vec<String>,
    /// Places of estimate and interval.
    pub(super) mark: Option<(String, String, String)>,
    pub(super) ratio: String,
    pub(super) interval: String,
    pub(super) p: String,
    /// The smallest ratio that so many show.
    pub(super) shows_from: String,
    pub(super) verdict: &'static str,
    pub(super) differs: bool,
}

/// The pairs of one arm.
pub(super) struct PairChart {
    pub(super) id: usize,
    pub(super) names: String,
    pub(super) arm: String,
    pub(super) against: String,
    pub(super) description: String,
    pub(super) pairs: Vec<Pair>,
    pub(super) value_ticks: Vec<(String, String)>,
    /// Room at the left, as the longest label of an axis needs.
    pub(super) left_px: usize,
    pub(super) ratio_ticks: Vec<(String, String)>,
    pub(super) one: String,
    pub(super) margin: (String, String),
    pub(super) floor: Option<(String, String)>,
    pub(super) interval: Option<(String, String)>,
    pub(super) estimate: Option<String>,
    pub(super) first: String,
    pub(super) last: String,
}

/// One pair: places, and what it is for those who point at it.
pub(super) struct Pair {
    pub(super) x: String,
    pub(super) against_y: String,
    pub(super) arm_y: String,
    pub(super) ratio_y: String,
    pub(super) title: String,
}

/// None where the run is no trial.
pub(super) fn view(document: &RunDocument) -> Option<TrialView> {
    let (trial, plan) = (document.trial.as_ref()?, document.plan.trial.as_ref()?);
    let primaries: Vec<&MetricResult> = trials::primaries(trial).collect();
    let first = primaries.first()?;
    let shown: Vec<&MetricResult> = primaries.iter().copied().chain(trial.noise_floor.first()).collect();
    let most = 1.0 + plan.margin;
    let axis = trials::axis(&shown, &[most, 1.0 / most]);
    let across = |low: f64, high: f64| {
        let (left, right) = (axis.share(low), axis.share(high));
        (percent(left), percent(right - left))
    };
    let bands = Bands { margin: most, floor: trial.noise_floor_ratio };
    Some(TrialView {
        extent: format!(
            "{} of {}, seed {}",
            trial.pairs,
            counted(trial.pairs_planned as usize, "planned pair"),
            trial.seed
        ),
        unequal: trial.unequal_guarantees.clone(),
        verdicts: trial.verdicts.iter().map(|verdict| verdict_view(trial, verdict)).collect(),
        arms: arms(trial),
        deciding: trials::metric(&first.name),
        level: share(first.level),
        rows: shown
            .iter()
            .enumerate()
            .map(|(index, metric)| row(metric, axis, index >= primaries.len()))
            .collect(),
        ticks: axis
            .ticks(TICK_GAP)
            .into_iter()
            .map(|tick| (percent(axis.share(tick)), trials::tick(tick)))
            .collect(),
        one: percent(0.5),
        margin: across(1.0 / most, most),
        floor: bands.floor.map(|floor| across(1.0 / floor, floor)),
        charts: shown
            .iter()
            .enumerate()
            .filter(|(index, _)| *index < CHARTS_MOST || *index >= primaries.len())
            .filter_map(|(index, metric)| chart(index + 1, metric, bands))
            .collect(),
        others: others(trial),
        noise: trials::floor(trial),
        excluded: trial
            .excluded
            .iter()
            .map(|pair| format!("Pair {} is left out: {}", pair.round + 1, pair.reason))
            .collect(),
        findings: trial.findings.iter().map(findings::short).collect(),
        method: trials::method(first.method),
        allowance: trials::deciding_p(trial),
    })
}

fn verdict_view(trial: &TrialResult, verdict: &ArmVerdict) -> VerdictView {
    let figures = trials::primary_of(trial, &verdict.arm, &verdict.against).map(|metric| {
        let ratio = trials::estimate(metric).map(|estimate| format!(", {estimate}"));
        format!("{} {}{}", trials::metric(&metric.name), trials::values(metric), ratio.unwrap_or_default())
    });
    let reasons = match verdict.vetoes.is_empty() {
        true => verdict.reason.iter().cloned().collect(),
        false => verdict.vetoes.iter().map(|veto| format!("Veto: {veto}")).collect(),
    };
    VerdictView {
        word: verdict.verdict.word(),
        class: match verdict.verdict {
            Verdict::Better | Verdict::Equivalent => "valid",
            Verdict::Undecided => "suspect",
            Verdict::Worse => "invalid",
        },
        arms: format!("{} / {}", verdict.arm, verdict.against),
        figures: figures.unwrap_or_default(),
        basis: trials::basis(trial, verdict),
        reasons,
    }
}

fn arms(trial: &TrialResult) -> Grid {
    let list = |differences: &std::collections::BTreeMap<String, String>| {
        let listed: Vec<String> =
            differences.iter().map(|(path, value)| format!("{path}: {value}")).collect();
        if listed.is_empty() { ABSENT.to_owned() } else { listed.join(", ") }
    };
    Grid {
        caption: "Arms".to_owned(),
        heads: ["arm", "blocks", "asked for", "read back, where it differs from the reference"]
            .map(str::to_owned)
            .to_vec(),
        rows: trial
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| {
                let name = if index == 0 { format!("{} (reference)", arm.name) } else { arm.name.clone() };
                vec![name, arm.blocks.to_string(), list(&arm.differences), list(&arm.effective_differences)]
            })
            .collect(),
        ..Grid::default()
    }
}

fn row(metric: &MetricResult, axis: RatioAxis, is_floor: bool) -> Row {
    let place = |ratio: f64| percent(axis.share(ratio));
    let mark = match (metric.estimate_ratio, metric.interval_low, metric.interval_high) {
        (Some(at), Some(low), Some(high)) => Some((place(at), place(low), place(high))),
        _ => None,
    };
    Row {
        names: format!("{} / {}", metric.arm, metric.against),
        is_floor,
        values: trials::values(metric),
        dots: trials::ratios(metric).map(place).collect(),
        mark,
        ratio: metric.estimate_ratio.map_or_else(|| ABSENT.to_owned(), ratio),
        interval: trials::interval(metric),
        p: trials::p(metric),
        shows_from: trials::shows_from(metric),
        verdict: metric.verdict.word(),
        differs: matches!(metric.verdict, Verdict::Better | Verdict::Worse),
    }
}

/// Ratios within which a difference counts as none, and as noise.
#[derive(Clone, Copy)]
struct Bands {
    margin: f64,
    floor: Option<f64>,
}

fn chart(id: usize, metric: &MetricResult, bands: Bands) -> Option<PairChart> {
    if trials::is_count(metric) {
        return None;
    }
    let values = metric.values.iter().flat_map(|pair| [pair.against, pair.arm]);
    let scale = LogScale::around(values)?;
    let axis = trials::axis(&[metric], &[bands.margin, 1.0 / bands.margin]);
    let count = metric.values.len();
    let x = |index: usize| percent((index as f64 + 0.5) / count as f64);
    let value_y = |value: f64| percent(1.0 - scale.share(value));
    let ratio_y = |ratio: f64| percent(1.0 - axis.share(ratio));
    let band = |ratio: f64| (ratio_y(ratio), percent(axis.share(ratio) - axis.share(1.0 / ratio)));
    let pairs = metric.values.iter().enumerate().map(|(index, pair)| Pair {
        x: x(index),
        against_y: value_y(pair.against),
        arm_y: value_y(pair.arm),
        ratio_y: ratio_y(pair.ratio()),
        title: format!(
            "pair {}: {} → {}, {}",
            pair.round + 1,
            trials::value(&metric.unit, pair.against),
            trials::value(&metric.unit, pair.arm),
            ratio(pair.ratio())
        ),
    });
    let tick = |value: f64| match metric.unit.as_str() {
        "ns" => time_tick(value),
        unit => trials::value(unit, value),
    };
    let interval = metric
        .interval_low
        .zip(metric.interval_high)
        .map(|(low, high)| (ratio_y(high), percent(axis.share(high) - axis.share(low))));
    let value_ticks: Vec<(String, String)> =
        scale.ticks().into_iter().map(|value| (value_y(value), tick(value))).collect();
    let ratio_ticks: Vec<(String, String)> =
        axis.ticks(TICK_GAP_CHART).into_iter().map(|ratio| (ratio_y(ratio), trials::tick(ratio))).collect();
    let labels = value_ticks.iter().chain(&ratio_ticks).map(|(_, label)| label.chars().count());
    Some(PairChart {
        id,
        left_px: labels.max().unwrap_or(0) * LABEL_CHARACTER_PX + LABEL_GAP_PX,
        names: format!("{} / {}", metric.arm, metric.against),
        arm: metric.arm.clone(),
        against: metric.against.clone(),
        description: format!(
            "{} of {} over {}: {}",
            trials::metric(&metric.name),
            metric.arm,
            metric.against,
            trials::estimate(metric).unwrap_or_else(|| "no estimate".to_owned())
        ),
        pairs: pairs.collect(),
        value_ticks,
        ratio_ticks,
        one: percent(0.5),
        margin: band(bands.margin),
        floor: bands.floor.map(band),
        interval,
        estimate: metric.estimate_ratio.map(ratio_y),
        first: metric.values.first().map(|pair| (pair.round + 1).to_string()).unwrap_or_default(),
        last: metric.values.last().map(|pair| (pair.round + 1).to_string()).unwrap_or_default(),
    })
}

fn others(trial: &TrialResult) -> Grid {
    let (metrics, hidden) = trials::others(trial);
    let allowance = (!metrics.is_empty()).then(|| trials::OTHERS_P.to_owned());
    let mut notes: Vec<String> = allowance.into_iter().chain(trials::absences(&metrics)).collect();
    notes.extend(trials::counts(trial));
    if hidden > 0 {
        notes.push(format!(
            "{} more tell no difference; they are in run.json.",
            counted(hidden, "comparison")
        ));
    }
    Grid {
        caption: "Other metrics".to_owned(),
        heads: ["metric", "against", "arm", "ratio", "interval", "p", "shows from", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: metrics
            .iter()
            .map(|metric| {
                let veto = if metric.role == MetricRole::Guardrail { " (may veto)" } else { "" };
                let place = match trials::single(trial) {
                    true => String::new(),
                    false => format!(", {} / {}", metric.arm, metric.against),
                };
                vec![
                    format!("{}{veto}{place}", trials::metric(&metric.name)),
                    trials::known(&metric.unit, metric.against_median),
                    trials::known(&metric.unit, metric.arm_median),
                    metric.estimate_ratio.map_or_else(|| ABSENT.to_owned(), ratio),
                    trials::interval(metric),
                    metric.p_adjusted.map(p_value).unwrap_or_default(),
                    trials::shows_from(metric),
                    metric.verdict.word().to_owned(),
                ]
            })
            .collect(),
        notes,
        numeric: true,
    }
}
