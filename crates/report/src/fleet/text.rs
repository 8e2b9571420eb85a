//! A fleet's result for the terminal: what it rests on, and the answer last, where the eye rests above the prompt. Its title has the
//! verdict, too.

use super::{figures, outcome, p, ratio, span};
use crate::sheet::{self, Body, Column, Section, Sheet};
use crate::text::TextStyle;
use plumb_model::figure::{ABSENT, count, counted, percent};
use plumb_model::fleet::{FleetDay, FleetGroup, FleetResult, Surge};

/// Heights of a spark line.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Intervals beyond which a spark line joins neighbours: narrow terminals have room for these.
const SPARKS: usize = 60;

/// The whole text.
pub fn render(result: &FleetResult, style: TextStyle) -> String {
    let title = format!(
        "{}: the change at {} is {}",
        result.metric,
        result.changed_at,
        result.verdict.word().to_uppercase()
    );
    let mut sections = vec![
        Section::new("Checks", "what would make the comparison wrong", checks(result)),
        Section::new(
            "Not to be relied on",
            "what the usual ways of looking at the same figures say",
            naive(result),
        ),
    ];
    sections
        .extend(result.surge.as_ref().map(|it| Section::new("Surge", &surge_when(it), surge(result, it))));
    sections.push(Section::new("Over time", &over_time(result), days(result)));
    if !result.needed.is_empty() {
        sections.push(Section::new(
            super::needed_title(result),
            "with a chance of 80 %, by this spread",
            needed(result),
        ));
    }
    if !result.rollout.is_empty() {
        sections.push(Section::new(
            "Roll-out",
            "a stage at a time; the limits are this trial's own noise",
            rollout(result),
        ));
    }
    if !result.exclusions.is_empty() {
        sections.push(Section::new("Left out or mended", "", exclusions(result)));
    }
    let mut answer = vec![Section::new("Figures", &super::caution(result), pairs(figures(result)))];
    let beside = super::beside_checks(result);
    if !beside.is_empty() {
        answer.push(Section::sentences("Before relying on it", "", beside));
    }
    answer.push(Section::sentences("In short", "", result.summary.clone()));
    sheet::text::render(&Sheet { title, sections, answer, ..Sheet::default() }, style)
}

fn pairs(rows: Vec<(String, String)>) -> Body {
    Body::Table {
        columns: vec![Column::text(""), Column::text("")],
        rows: rows.into_iter().map(|(name, value)| vec![name, value]).collect(),
    }
}

fn checks(result: &FleetResult) -> Body {
    let row = |check: &plumb_model::finding::Check| {
        vec![outcome(check.outcome).to_owned(), check.id.clone(), p(check.p), check.statement.clone()]
    };
    Body::Table {
        columns: vec![
            Column::text(""),
            Column::text("check"),
            Column::number("p"),
            Column::text("what was seen"),
        ],
        rows: result.checks.iter().map(row).collect(),
    }
}

fn naive(result: &FleetResult) -> Body {
    let row = |figure: &plumb_model::fleet::NaiveFigure| {
        vec![
            figure.name.clone(),
            figure.estimate_ratio.map_or_else(|| ABSENT.to_owned(), ratio),
            span(figure.interval_low, figure.interval_high),
            figure.why_not.clone(),
        ]
    };
    Body::Table {
        columns: vec![
            Column::text("naive"),
            Column::number("ratio"),
            Column::number("interval"),
            Column::text("why not"),
        ],
        rows: result.naive.iter().map(row).collect(),
    }
}

fn surge_when(surge: &Surge) -> String {
    match &surge.until {
        Some(until) => format!("from {} until {until}", surge.from),
        None => format!("from {} to the end", surge.from),
    }
}

fn surge(result: &FleetResult, surge: &Surge) -> Body {
    let of = |group: FleetGroup| {
        let times = |ratios: &std::collections::BTreeMap<FleetGroup, f64>| {
            ratios.get(&group).map_or_else(|| ABSENT.to_owned(), |it| format!("×{}", ratio(*it)))
        };
        (times(&surge.load_ratio), times(&surge.metric_ratio))
    };
    let load = result.load.clone().unwrap_or_else(|| "load".to_owned());
    let mut rows: Vec<(String, String)> = [FleetGroup::Control, FleetGroup::Test]
        .into_iter()
        .map(|at| {
            let (load_ratio, metric_ratio) = of(at);
            (
                format!("{} servers", at.name()),
                format!("{} {metric_ratio}, {load} {load_ratio}", result.metric),
            )
        })
        .collect();
    let known = surge.ratio_of_ratios.map_or_else(|| ABSENT.to_owned(), ratio);
    let interval = match surge.interval_low {
        Some(_) => format!("{known} ({}), p {}", span(surge.interval_low, surge.interval_high), p(surge.p)),
        None => format!("{known}, without an interval: too few servers"),
    };
    rows.push(("ratio of ratios, test over control".to_owned(), interval));
    if surge.has_change_in_it {
        rows.push(("with the change in it".to_owned(), super::CHANGE_IN_SURGE.to_owned()));
    }
    pairs(rows)
}

fn over_time(result: &FleetResult) -> String {
    let starts = || result.days.iter().map(|day| day.start.as_str());
    format!(
        "means of each group from {} to {}; | is the change",
        starts().next().unwrap_or(ABSENT),
        starts().next_back().unwrap_or(ABSENT)
    )
}

/// A spark line for each group, on one scale from 0.
fn days(result: &FleetResult) -> Body {
    type Of = fn(&FleetDay) -> Option<f64>;
    let mut quantities: Vec<(&str, Of)> = vec![(&result.metric, |day| day.metric_mean)];
    quantities.extend(result.load.as_deref().map(|load| (load, (|day: &FleetDay| day.load_mean) as Of)));
    let mut rows = Vec::new();
    for (name, of) in quantities {
        let most = result.days.iter().filter_map(of).fold(0.0, f64::max);
        for at in [FleetGroup::Control, FleetGroup::Test] {
            let days: Vec<&FleetDay> = result.days.iter().filter(|day| day.group == at).collect();
            rows.push(vec![format!("{name}, {}", at.name()), sparks(&days, of, most, &result.changed_at)]);
        }
        rows.push(vec![String::new(), format!("full height is {}", count(most.round() as u64))]);
    }
    Body::Table { columns: vec![Column::text(""), Column::text("")], rows }
}

fn sparks(days: &[&FleetDay], of: fn(&FleetDay) -> Option<f64>, most: f64, changed_at: &str) -> String {
    let mut line = String::new();
    let mut marked = false;
    for part in days.chunks(days.len().div_ceil(SPARKS).max(1)) {
        // RFC 3339 in UTC: the order of the texts is that of the moments.
        if !marked && part.last().is_some_and(|day| day.start.as_str() >= changed_at) {
            line.push('|');
            marked = true;
        }
        let known: Vec<f64> = part.iter().filter_map(|day| of(day)).collect();
        line.push(if known.is_empty() || most <= 0.0 {
            ' '
        } else {
            let share = known.iter().sum::<f64>() / known.len() as f64 / most;
            BARS[((share * 8.0) as usize).min(7)]
        });
    }
    // A blank within would be wrapped.
    line.replace(' ', "·")
}

fn needed(result: &FleetResult) -> Body {
    let row = |needed: &plumb_model::fleet::ServersNeeded| {
        vec![ratio(needed.ratio), needed.servers.map_or_else(|| "more than a million".to_owned(), count)]
    };
    Body::Table {
        columns: vec![Column::number("ratio"), Column::number(super::needed_heading(result))],
        rows: result.needed.iter().map(row).collect(),
    }
}

fn rollout(result: &FleetResult) -> Body {
    let mut rows = Vec::new();
    for stage in &result.rollout {
        for (index, rule) in stage.stop_when.iter().enumerate() {
            let lead = if index == 0 {
                [
                    percent(stage.share),
                    counted(stage.servers as usize, "server"),
                    counted(stage.watch_intervals as usize, "interval"),
                ]
            } else {
                Default::default()
            };
            let mut row = lead.to_vec();
            row.push(rule.clone());
            rows.push(row);
        }
    }
    Body::Table {
        columns: vec![
            Column::number("fleet"),
            Column::number("more"),
            Column::number("watch"),
            Column::text("stop and go back when"),
        ],
        rows,
    }
}

fn exclusions(result: &FleetResult) -> Body {
    let row = |it: &plumb_model::fleet::Exclusion| {
        let example = if it.example.is_empty() { String::new() } else { format!(", such as {}", it.example) };
        vec![count(it.count), format!("{}: {}{example}", it.what, it.done)]
    };
    Body::Table {
        columns: vec![Column::number(""), Column::text("")],
        rows: result.exclusions.iter().map(row).collect(),
    }
}
