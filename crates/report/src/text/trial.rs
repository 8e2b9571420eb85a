//! A trial: what is not promised alike, the verdicts with the noise floor, the metric that decides with its pairs as dots, the
//! other metrics, and what to know before relying on it.

use super::Page;
use crate::findings;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use crate::trials::{self, RatioAxis};
use plumb_model::document::RunDocument;
use plumb_model::figure::{ABSENT, counted, percent, ratio};
use plumb_model::trial::{ArmResult, ArmVerdict, MetricResult, MetricRole, TrialResult};
use plumb_model::verdict::Verdict;

/// Columns of the dot plot, at most.
const PLOT_MOST: usize = 72;
/// Columns of the names beside it, at most.
const NAME_MOST: usize = 30;
/// Room for a tick's label.
const TICK_WIDTH: usize = 9;

pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let (Some(trial), Some(plan)) = (&document.trial, &document.plan.trial) else { return };
    let pairs = match trial.pairs == trial.pairs_planned {
        true => counted(trial.pairs as usize, "pair"),
        false => format!("{} of {}", trial.pairs, counted(trial.pairs_planned as usize, "planned pair")),
    };
    let meaning = format!("{pairs}, margin {}, seed {}", percent(plan.margin), trial.seed);
    page.heading("Trial", &meaning);
    for unequal in &trial.unequal_guarantees {
        page.prose("  !! ", unequal, Tone::Warning);
    }
    write_arms(page, trial);
    for verdict in &trial.verdicts {
        write_verdict(page, trial, verdict);
    }
    page.prose("  ", &trials::floor(trial), Tone::Plain);
    write_deciding(page, trial);
    write_dots(page, trial);
    write_others(page, trial);
    write_cautions(page, trial);
}

/// Writes the settings in which each arm differs from the reference, as read back.
fn write_arms(page: &mut Page, trial: &TrialResult) {
    let Some((reference, arms)) = trial.arms.split_first() else { return };
    page.prose("  ", &format!("Reference: {}", reference.name), Tone::Dim);
    for arm in arms {
        page.prose("  ", &format!("{}{}", arm.name, differences(arm)), Tone::Dim);
    }
    page.line("");
}

fn differences(arm: &ArmResult) -> String {
    let (how, differences) = match (arm.effective_differences.is_empty(), arm.differences.is_empty()) {
        (true, true) => return ": nothing differs".to_owned(),
        (true, false) => ("asked for", &arm.differences),
        (false, _) => ("read back", &arm.effective_differences),
    };
    let listed: Vec<String> = differences.iter().map(|(path, value)| format!("{path}: {value}")).collect();
    format!(" ({how}): {}", listed.join(", "))
}

fn write_verdict(page: &mut Page, trial: &TrialResult, verdict: &ArmVerdict) {
    let tone = match verdict.verdict {
        Verdict::Better | Verdict::Equivalent => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::Undecided => Tone::Warning,
    };
    let word = verdict.verdict.word().to_uppercase();
    let figures = trials::primary_of(trial, &verdict.arm, &verdict.against)
        .and_then(trials::estimate)
        .map(|estimate| format!("  {estimate}"))
        .unwrap_or_default();
    let painted = page.paint.tone(&word, tone);
    let gap = " ".repeat(11usize.saturating_sub(word.chars().count()));
    page.line(&format!(
        "  {painted}{gap}{} / {}{figures}",
        crate::paint::printable(&verdict.arm),
        crate::paint::printable(&verdict.against)
    ));
    if let Some(basis) = trials::basis(trial, verdict) {
        page.prose("             ", &basis, Tone::Dim);
    }
    for veto in &verdict.vetoes {
        page.prose("             veto: ", veto, Tone::Warning);
    }
    if let Some(reason) = verdict.reason.as_ref().filter(|_| verdict.vetoes.is_empty()) {
        page.prose("             ", reason, Tone::Plain);
    }
}

fn write_deciding(page: &mut Page, trial: &TrialResult) {
    let Some(first) = trials::primaries(trial).next() else { return };
    let of = if first.starts.is_some() { "starts of the brokers" } else { "pairs" };
    let meaning = match trials::is_count(first) {
        true => format!("decides; medians of the blocks; p by {}", trials::method(first.method)),
        false => format!(
            "decides; medians of the blocks; ratio: arm / against of typical {of}, not of the medians, with {} intervals; shows from: the \
         smallest difference that is shown in 4 of 5 such trials",
            percent(first.level)
        ),
    };
    let allowance = trials::deciding_p(trial).map(|said| format!("; {said}")).unwrap_or_default();
    let heading = trials::metric(&first.name);
    page.heading(&heading, &format!("{meaning}{allowance}"));
    let mut table = Table::new("  arm / against", columns());
    for metric in trials::primaries(trial) {
        table.push(&format!("  {} / {}", metric.arm, metric.against), cells(metric), tone(metric));
    }
    if let Some(floor) = trial.noise_floor.first() {
        table.push(&format!("  {} / {}", floor.arm, floor.against), cells(floor), Tone::Dim);
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
    for absent in trials::in_place_of_ratios(trial) {
        page.prose("  - ", &absent, Tone::Dim);
    }
    for unlike in trials::primaries(trial).filter_map(trials::unlike_medians) {
        page.prose("  - ", &unlike, Tone::Dim);
    }
}

fn tone(metric: &MetricResult) -> Tone {
    match metric.verdict {
        Verdict::Better | Verdict::Worse => Tone::Strong,
        Verdict::Equivalent | Verdict::Undecided => Tone::Plain,
    }
}

/// Of [`cells`].
fn columns() -> Vec<Column> {
    vec![
        Column::decimal("against"),
        Column::decimal("arm"),
        Column::decimal("ratio"),
        Column::text("interval"),
        Column::text("p"),
        Column::decimal("shows from"),
        Column::text("verdict"),
    ]
}

fn cells(metric: &MetricResult) -> Vec<String> {
    vec![
        trials::known(&metric.unit, metric.against_median),
        trials::known(&metric.unit, metric.arm_median),
        metric.estimate_ratio.map_or_else(|| ABSENT.to_owned(), ratio),
        trials::interval(metric),
        trials::p(metric),
        trials::shows_from(metric),
        metric.verdict.word().to_owned(),
    ]
}

/// Each pair a dot, each interval a line under them, on one axis.
fn write_dots(page: &mut Page, trial: &TrialResult) {
    let floor = trial.noise_floor.first();
    let rows = trials::primaries(trial).chain(floor);
    let rows = rows.filter(|metric| !metric.values.is_empty() && !trials::is_count(metric));
    let rows: Vec<&MetricResult> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let name = |metric: &MetricResult| format!("{} / {}", metric.arm, metric.against);
    let names = rows.iter().map(|metric| name(metric).chars().count()).max().unwrap_or(0).min(NAME_MOST);
    let width = page.width.saturating_sub(names + 4).min(PLOT_MOST);
    let axis = trials::axis(&rows, &[]);
    page.line("");
    let title = format!("  {:<names$}  {}", "each pair", axis_line(axis, width));
    let title = page.paint.tone(&title, Tone::Dim);
    page.line(&title);
    for metric in rows {
        let label: String = crate::paint::printable(&name(metric)).chars().take(names).collect();
        page.line(&format!("  {label:<names$}  {}", dots(metric, axis, width)));
        if let Some(line) = span(metric, axis, width) {
            page.line(&format!("  {:<names$}  {line}", ""));
        }
    }
}

fn column(axis: RatioAxis, ratio: f64, width: usize) -> usize {
    ((axis.share(ratio) * (width - 1) as f64).round() as usize).min(width - 1)
}

fn axis_line(axis: RatioAxis, width: usize) -> String {
    let mut cells = vec![' '; width];
    for tick in axis.ticks(TICK_WIDTH as f64 / width as f64) {
        let label: Vec<char> = trials::tick(tick).chars().collect();
        let start = column(axis, tick, width).saturating_sub(label.len() / 2).min(width - label.len());
        for (offset, letter) in label.into_iter().enumerate() {
            cells[start + offset] = letter;
        }
    }
    cells.into_iter().collect()
}

/// Dots of the pairs; a number where several fall together.
fn dots(metric: &MetricResult, axis: RatioAxis, width: usize) -> String {
    let mut counts = vec![0u32; width];
    for ratio in trials::ratios(metric) {
        counts[column(axis, ratio, width)] += 1;
    }
    let one = column(axis, 1.0, width);
    let cells = counts.into_iter().enumerate().map(|(place, count)| match count {
        0 if place == one => '┊',
        0 => ' ',
        1 => '•',
        2..=9 => char::from_digit(count, 10).unwrap_or('#'),
        _ => '#',
    });
    cells.collect()
}

fn span(metric: &MetricResult, axis: RatioAxis, width: usize) -> Option<String> {
    let (low, high, at) = (metric.interval_low?, metric.interval_high?, metric.estimate_ratio?);
    let [low, high, at] = [low, high, at].map(|ratio| column(axis, ratio, width));
    let one = column(axis, 1.0, width);
    let cells = (0..width).map(|place| match place {
        place if place == at => '◆',
        place if place == low => '├',
        place if place == high => '┤',
        place if place > low && place < high => '─',
        place if place == one => '┊',
        _ => ' ',
    });
    Some(cells.collect())
}

fn write_others(page: &mut Page, trial: &TrialResult) {
    let (others, hidden) = trials::others(trial);
    let counts = trials::counts(trial);
    if others.is_empty() && counts.is_empty() {
        return;
    }
    page.heading("Other metrics", &format!("* may veto; {}", trials::OTHERS_P));
    if !others.is_empty() {
        let mut table = Table::new("  metric", columns());
        for metric in &others {
            let star = if metric.role == MetricRole::Guardrail { " *" } else { "" };
            let place = match trials::single(trial) {
                true => String::new(),
                false => format!(", {} / {}", metric.arm, metric.against),
            };
            let name = format!("  {}{star}{place}", trials::metric(&metric.name));
            table.push(&name, cells(metric), tone(metric));
        }
        for line in table.lines(page.width, page.paint) {
            page.line(&line);
        }
    }
    for said in trials::absences(&others).iter().chain(&counts) {
        page.prose("  - ", said, Tone::Dim);
    }
    if hidden > 0 {
        let text = format!("{} more tell no difference: all are in run.json", counted(hidden, "comparison"));
        page.prose("  - ", &text, Tone::Dim);
    }
}

fn write_cautions(page: &mut Page, trial: &TrialResult) {
    if trial.excluded.is_empty() && trial.findings.is_empty() {
        return;
    }
    page.heading("Before relying on it", "");
    for pair in &trial.excluded {
        page.prose("  - ", &format!("Pair {} is left out: {}", pair.round + 1, pair.reason), Tone::Dim);
    }
    for finding in &trial.findings {
        page.prose("  - ", &findings::short(finding), Tone::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_is_told_by_what_was_read_back_else_asked_for_else_as_equal() {
        let linger = |value: &str| [("producer.linger.ms".to_owned(), value.to_owned())].into();
        let mut arm = ArmResult {
            name: "low".to_owned(),
            differences: linger("0"),
            effective_differences: linger("1"),
            blocks: 12,
            warm_up_cut_mean_s: None,
        };
        assert_eq!(differences(&arm), " (read back): producer.linger.ms: 1");
        arm.effective_differences.clear();
        assert_eq!(differences(&arm), " (asked for): producer.linger.ms: 0");
        arm.differences.clear();
        assert_eq!(differences(&arm), ": nothing differs");
    }
}
