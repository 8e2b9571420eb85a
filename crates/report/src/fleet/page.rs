//! A fleet's result as one HTML file that works offline.

use super::chart::{Chart, chart};
use super::{figures, outcome, p, ratio, span};
use crate::ReportError;
use askama::Template;
use plumb_model::figure;
use plumb_model::figure::{ABSENT, counted, percent};
use plumb_model::finding::CheckOutcome;
use plumb_model::fleet::{FleetGroup, FleetResult, FleetUnit};
use plumb_model::verdict::Verdict;

/// The whole page.
///
/// # Errors
/// [`ReportError`] when the template fails, which no result should cause.
pub fn render(result: &FleetResult) -> Result<String, ReportError> {
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(chart(result, format!("{}, mean of the servers", result.metric), |day| day.metric_mean));
    if let Some(load) = &result.load {
        charts.extend(chart(result, format!("{load}, mean of the servers"), |day| day.load_mean));
    }
    let page = Page {
        title: format!("{}: test against control", result.metric),
        meta: meta(result),
        verdict: result.verdict.word(),
        tone: match result.verdict {
            Verdict::Better | Verdict::Equivalent => "valid",
            Verdict::Undecided => "suspect",
            Verdict::Worse => "invalid",
        },
        headline: headline(result),
        summary: &result.summary,
        findings: super::beside_checks(result),
        charts,
        figures: figures(result),
        caution: super::caution(result),
        checks: result
            .checks
            .iter()
            .map(|check| CheckRow {
                outcome: outcome(check.outcome),
                tone: match check.outcome {
                    CheckOutcome::Passed | CheckOutcome::Unknown => "note",
                    CheckOutcome::Warning => "suspect",
                    CheckOutcome::Failed => "invalid",
                },
                name: &check.id,
                p: p(check.p),
                statement: &check.statement,
            })
            .collect(),
        naive: naive(result),
        surge: surge(result),
        needed_title: super::needed_title(result),
        needed_heading: super::needed_heading(result),
        needed: result
            .needed
            .iter()
            .map(|it| {
                (ratio(it.ratio), it.servers.map_or_else(|| "more than a million".to_owned(), figure::count))
            })
            .collect(),
        rollout: rollout(result),
        exclusions: result
            .exclusions
            .iter()
            .map(|it| (figure::count(it.count), it.what.as_str(), it.done.as_str(), it.example.as_str()))
            .collect(),
        schema_version: result.schema_version,
        plumb_version: &result.plumb_version,
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "fleet.html")]
struct Page<'r> {
    title: String,
    meta: Vec<(&'static str, String)>,
    verdict: &'static str,
    tone: &'static str,
    headline: String,
    summary: &'r [String],
    findings: Vec<String>,
    charts: Vec<Chart>,
    figures: Vec<(String, String)>,
    caution: String,
    checks: Vec<CheckRow<'r>>,
    naive: Vec<[String; 5]>,
    surge: Option<SurgeView>,
    needed_title: &'static str,
    needed_heading: &'static str,
    needed: Vec<(String, String)>,
    rollout: Vec<Stage<'r>>,
    exclusions: Vec<(String, &'r str, &'r str, &'r str)>,
    schema_version: u32,
    plumb_version: &'r str,
}

struct CheckRow<'r> {
    outcome: &'static str,
    tone: &'static str,
    name: &'r str,
    p: String,
    statement: &'r str,
}

/// The effect of a surge.
struct SurgeView {
    when: String,
    /// Group, times its load, times its metric.
    rows: Vec<(&'static str, String, String)>,
    load: String,
    ratio_of_ratios: String,
    change_in_it: Option<&'static str>,
}

struct Stage<'r> {
    share: String,
    servers: String,
    watch: String,
    stop_when: &'r [String],
}

fn headline(result: &FleetResult) -> String {
    let caution = super::caution(result);
    if !caution.is_empty() {
        return caution;
    }
    match (result.effect_ratio, result.interval_low) {
        (Some(effect), Some(_)) => format!(
            "ratio {} ({} at {})",
            ratio(effect),
            span(result.interval_low, result.interval_high),
            percent(result.level)
        ),
        (Some(effect), None) => format!("ratio {}, without an interval", ratio(effect)),
        _ => "no ratio can be given".to_owned(),
    }
}

fn meta(result: &FleetResult) -> Vec<(&'static str, String)> {
    let compared = match result.unit {
        FleetUnit::Server => None,
        FleetUnit::Site => Some("Sites"),
        FleetUnit::Hardware => Some("Kinds of hardware"),
    };
    let mut meta = vec![("Change", result.changed_at.clone())];
    meta.extend(compared.map(|name| (name, super::by_group(&result.units))));
    meta.extend([
        ("Servers", super::by_group(&result.servers)),
        ("Intervals", format!("{} before, {} after", result.intervals_before, result.intervals_after)),
        ("Seed", result.seed.to_string()),
    ]);
    meta
}

fn naive(result: &FleetResult) -> Vec<[String; 5]> {
    let row = |it: &plumb_model::fleet::NaiveFigure| {
        [
            it.name.clone(),
            it.estimate_ratio.map_or_else(|| ABSENT.to_owned(), ratio),
            span(it.interval_low, it.interval_high),
            p(it.p),
            it.why_not.clone(),
        ]
    };
    result.naive.iter().map(row).collect()
}

fn surge(result: &FleetResult) -> Option<SurgeView> {
    let surge = result.surge.as_ref()?;
    let times = |ratios: &std::collections::BTreeMap<FleetGroup, f64>, of: FleetGroup| {
        ratios.get(&of).map_or_else(|| ABSENT.to_owned(), |it| format!("×{}", ratio(*it)))
    };
    let rows = [FleetGroup::Control, FleetGroup::Test]
        .map(|of| (of.name(), times(&surge.load_ratio, of), times(&surge.metric_ratio, of)));
    let until =
        surge.until.as_ref().map_or_else(|| "to the end".to_owned(), |until| format!("until {until}"));
    let known = surge.ratio_of_ratios.map_or_else(|| ABSENT.to_owned(), ratio);
    Some(SurgeView {
        when: format!("from {} {until}", surge.from),
        rows: rows.to_vec(),
        load: result.load.clone().unwrap_or_else(|| "load".to_owned()),
        ratio_of_ratios: match surge.interval_low {
            Some(_) => {
                format!("{known} ({}), p {}", span(surge.interval_low, surge.interval_high), p(surge.p))
            }
            None => format!("{known}, without an interval: too few servers"),
        },
        change_in_it: surge.has_change_in_it.then_some(super::CHANGE_IN_SURGE),
    })
}

fn rollout(result: &FleetResult) -> Vec<Stage<'_>> {
    let stage = |stage: &'_ plumb_model::fleet::RolloutStage| -> (String, String, String) {
        (
            percent(stage.share),
            counted(stage.servers as usize, "server"),
            counted(stage.watch_intervals as usize, "interval"),
        )
    };
    result
        .rollout
        .iter()
        .map(|it| {
            let (share, servers, watch) = stage(it);
            Stage { share, servers, watch, stop_when: &it.stop_when }
        })
        .collect()
}
