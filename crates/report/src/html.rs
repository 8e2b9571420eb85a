//! The run document as one HTML file that works offline: no request leaves it, everything reads without scripts.
//!
//! Each part of the page is a view (a struct of finished text and coordinates) made by a module below and written by a
//! template in `templates/`. Templates escape every text. Charts are SVG whose x and y are percentages, so that one
//! chart serves a wide screen, a phone and paper without its letters growing or shrinking.

mod cards;
mod configuration;
mod curves;
mod environment;
mod flow;
mod forest;
mod grid;
mod instrument;
mod latency;
mod queue;
mod rates;
pub(crate) mod scale;
mod search;
mod seconds;
mod stages;
mod sweep;
mod timeline;
mod trial;
mod walk;

use crate::{ReportError, backlogs, brokers, headline, queues, short_blocks, went_on, wording};
use askama::Template;
use cards::{Card, Reason};
use configuration::Configuration;
use curves::Curves;
use environment::EnvironmentView;
use flow::Flows;
use forest::Forest;
use grid::Grid;
use instrument::InstrumentView;
use latency::{LatencyTable, LedgerView};
use plumb_model::document::{RunDocument, StepResult};
use queue::QueueView;
use rates::{Bars, RateTable};
use search::SearchChart;
use stages::StageChart;
use sweep::SweepChart;
use timeline::Timelines;
use trial::TrialView;

/// The whole page.
///
/// # Errors
/// [`ReportError`] when a template or a serialisation fails, which no document should cause.
pub fn render(document: &RunDocument) -> Result<String, ReportError> {
    let document = queues::without_their_times(document);
    let document = document.as_ref();
    let steps = &document.steps;
    let headline = headline::of(document);
    let page = Page {
        title: &document.run.name,
        description: &document.plan.description,
        meta: meta(document),
        incomplete: wording::incomplete(document),
        verdict: document.validity.verdict.word(),
        verdict_meaning: wording::verdict_meaning(document.validity.verdict),
        not_looked_for: short_blocks::note(document),
        summary: &document.summary,
        verdict_reasons: cards::reasons(document),
        reasons: cards::view(document, &document.validity.reasons),
        findings: cards::view(document, &document.findings),
        keys: steps.iter().enumerate().map(|(index, step)| Key::new(index, step)).collect(),
        timed: !headline::timed(document).is_empty(),
        backlogs: backlogs(document),
        backlogs_meaning: backlogs::MEANING,
        queues: queue::view(document),
        rates: rates::table(document),
        rate_bars: rates::bars(document),
        sweep: sweep::view(&document.sweeps),
        flows: flow::view(document),
        searches: search::view(steps),
        trial: trial::view(document),
        latency: latency::headline(document),
        others: latency::others(document),
        acks_0: latency::unconfirmed(steps),
        ledger: latency::ledger(document),
        curves: curves::view(steps, headline.of_step),
        timelines: timeline::view(document, headline.of_second),
        stages: stages::view(steps),
        brokers: brokers(steps),
        forest: forest::view(document),
        configuration: configuration::view(steps),
        environment: environment::view(document)?,
        instrument: instrument::view(document)?,
        blocks: latency::blocks(document, headline),
        schema_version: document.schema_version,
        plumb_version: &document.run.plumb_version,
        run_id: &document.run.id,
    };
    Ok(page.render()?)
}

/// The times in which backlogs were drained; none where no setup with latencies had one.
fn backlogs(document: &RunDocument) -> Option<Grid> {
    let rows = backlogs::rows(document);
    (!rows.is_empty()).then(|| Grid {
        caption: backlogs::HEADING.to_owned(),
        heads: std::iter::once("setup").chain(backlogs::COLUMNS).map(str::to_owned).collect(),
        rows: rows.into_iter().map(|row| std::iter::once(row.name).chain(row.cells).collect()).collect(),
        notes: Vec::new(),
        numeric: true,
    })
}

/// The brokers' own metrics; none where none was read.
fn brokers(steps: &[StepResult]) -> Option<Grid> {
    let rows = brokers::rows(steps);
    let cells = |row: &brokers::Row| {
        std::iter::once(format!("#{} {}", row.index + 1, row.step.name)).chain(row.cells()).collect()
    };
    (!rows.is_empty()).then(|| Grid {
        caption: brokers::HEADING.to_owned(),
        heads: std::iter::once("setup").chain(brokers::COLUMNS).map(str::to_owned).collect(),
        rows: rows.iter().map(cells).collect(),
        notes: brokers::notes(&rows),
        numeric: true,
    })
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'d> {
    title: &'d str,
    description: &'d str,
    meta: Vec<(&'static str, String)>,
    incomplete: Option<String>,
    verdict: &'static str,
    verdict_meaning: &'static str,
    not_looked_for: Option<String>,
    summary: &'d [String],
    /// Those of one kind once, for the verdict.
    verdict_reasons: Vec<Reason>,
    reasons: Vec<Card>,
    findings: Vec<Card>,
    keys: Vec<Key>,
    /// True if any setup has a latency.
    timed: bool,
    backlogs: Option<Grid>,
    backlogs_meaning: &'static str,
    queues: Option<QueueView>,
    rates: Option<RateTable>,
    rate_bars: Option<Bars>,
    sweep: Option<SweepChart>,
    flows: Option<Flows>,
    searches: Vec<SearchChart>,
    trial: Option<TrialView>,
    latency: LatencyTable,
    others: Grid,
    acks_0: Option<String>,
    ledger: LedgerView,
    curves: Option<Curves>,
    timelines: Option<Timelines>,
    stages: Option<StageChart>,
    brokers: Option<Grid>,
    forest: Option<Forest>,
    configuration: Option<Configuration>,
    environment: EnvironmentView,
    instrument: InstrumentView,
    blocks: Grid,
    schema_version: u32,
    plumb_version: &'d str,
    run_id: &'d str,
}

/// The marks of a setup in every chart: its number, its name, its colour, dash and marker.
#[derive(Clone)]
struct Key {
    number: usize,
    name: String,
    /// Classes that carry colour and dash.
    class: String,
    /// Number of the marker symbol.
    marker: usize,
}

/// Colours, dashes and markers before they repeat. When the colours come round again, each meets another dash.
const LOOKS: usize = 8;

impl Key {
    fn new(index: usize, step: &StepResult) -> Self {
        Key::named(index, &step.name)
    }

    /// A line's letter, where numbers are those of setups: `A`, ..., `Z`, `A2`.
    fn letter(&self) -> String {
        let (round, place) = ((self.number - 1) / 26, (self.number - 1) % 26);
        let letter = char::from(b'A' + place as u8);
        if round == 0 { letter.to_string() } else { format!("{letter}{}", round + 1) }
    }

    fn named(index: usize, name: &str) -> Self {
        let look = index % LOOKS + 1;
        let dash = (index + index / LOOKS) % LOOKS + 1;
        Key {
            number: index + 1,
            name: name.to_owned(),
            class: format!("c{look} d{dash}"),
            marker: (index + index / LOOKS * 3) % LOOKS + 1,
        }
    }
}

fn meta(document: &RunDocument) -> Vec<(&'static str, String)> {
    let run = &document.run;
    let cluster = &document.environment.cluster;
    let mut meta = vec![("Started", wording::instant(&run.started_at))];
    meta.extend(run.finished_at.as_deref().map(|at| ("Finished", wording::instant(at))));
    meta.extend(went_on::sentences(document).into_iter().map(|sentence| ("Went on", sentence)));
    meta.push(("Extent", wording::extent(document)));
    if !document.environment.client.is_empty() {
        meta.push(("Client", document.environment.client.clone()));
    }
    if !cluster.brokers.is_empty() {
        let version =
            cluster.version.as_ref().map(|version| format!(", version {version}")).unwrap_or_default();
        let place = wording::cluster_place(cluster.on_this_host);
        meta.push((
            "Cluster",
            format!("{}{version}, {place}", plumb_model::figure::counted(cluster.brokers.len(), "broker")),
        ));
    }
    meta.push(("Run", run.id.clone()));
    meta
}
