//! A Prometheus-compatible server (Prometheus, Thanos, Mimir, VictoriaMetrics): raw samples of selectors, steps of expressions.
//!
//! A selector is asked for as `selector[range]` at `/api/v1/query`, which gives the samples as they were scraped, each once and at its own time.
//! `/api/v1/query_range` would repeat the last value for up to five minutes over a gap (its lookback), so that a gap would look
//! like a standstill, and would shift every time to a step. An expression has no raw samples: it is asked for at
//! `query_range`, with the step that the user names. Both go in pieces of about [`PIECE_SAMPLES`], below what servers allow.

mod answer;
mod client;
mod config;
pub(crate) mod error;
mod query;
mod tls;
mod tls_fault;

pub use error::PrometheusError;
pub use tls_fault::TlsFault;

use crate::error::FleetInputError;
use crate::exclusions::{Exclusions, Left};
use crate::intervals::Intervals;
use crate::order::{Quantity, TimedValue, Tracks};
use crate::request::{FleetGroups, FleetProgress, FleetRequest, PrometheusSource, Watch};
use crate::rows::{Refused, Rows};
use crate::servers::{Label, RowPlace, Servers};
use crate::table;
use answer::Series;
use client::Client;
use plumb_model::fleet::{FleetTable, SampleKind};
use query::Query;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Samples that a piece should have. Ours: some 30 MB of JSON.
const PIECE_SAMPLES: usize = 1_000_000;

/// Servers refuse range queries of more than 11,000 points in a series.
const PIECE_STEPS: i64 = 10_000;

/// The first piece, and the longest and shortest.
const FIRST_PIECE_MS: i64 = 3_600_000;
const LONGEST_PIECE_MS: i64 = 86_400_000;
const SHORTEST_PIECE_MS: i64 = 60_000;

/// Reads metric and load.
pub(crate) fn read(
    request: &FleetRequest,
    source: &PrometheusSource,
    watch: &mut Watch<'_>,
) -> Result<FleetTable, FleetInputError> {
    let window = &request.window;
    let (Some(from), Some(until)) = (window.from, window.until) else {
        return Err(PrometheusError::NoWindow.into());
    };
    let span = Span { from_ms: from.as_millisecond(), until_ms: until.as_millisecond() };
    if span.from_ms >= span.until_ms {
        return Err(PrometheusError::EmptyWindow { from: from.to_string(), until: until.to_string() }.into());
    }
    let metric = Query::new(&source.metric, request.metric_kind.kind(), request.step_s)?;
    let load = source
        .load
        .as_ref()
        .map(|load| Query::new(load, request.load_kind.kind(), request.step_s))
        .transpose()?;
    let client = Client::new(source)?;
    let mut left = Exclusions::new();
    let servers = Servers::new(&request.groups, &mut left)?;
    let intervals = Intervals::new(window);
    let rows = Rows { servers, left, intervals, origins: Vec::new(), rows: 0 };
    let tracks = Tracks::new(request, load.is_some());
    let queries = if load.is_some() { 2.0 } else { 1.0 };
    let mut reading = Reading { request, source, client, rows, tracks, span, watch, queries };
    let metric_servers = reading.all(Quantity::Metric, &metric, request.metric_kind.kind())?;
    let load_servers = match &load {
        Some(load) => reading.all(Quantity::Load, load, request.load_kind.kind())?,
        None => Vec::new(),
    };
    let Reading { rows, tracks, .. } = reading;
    table::table(request, rows, tracks, |quantity, series| match quantity {
        Quantity::Metric => metric_servers[series as usize],
        Quantity::Load => load_servers[series as usize],
    })
}

/// The span of time to ask for, its end not in it.
#[derive(Debug, Clone, Copy)]
struct Span {
    from_ms: i64,
    until_ms: i64,
}

struct Reading<'a, 'w> {
    request: &'a FleetRequest,
    source: &'a PrometheusSource,
    client: Client,
    rows: Rows,
    tracks: Tracks,
    span: Span,
    watch: &'a mut Watch<'w>,
    queries: f64,
}

/// The series of one query so far.
#[derive(Default)]
struct KnownSeries {
    numbers: HashMap<BTreeMap<String, String>, u32>,
    /// The server of each series.
    servers: Vec<u32>,
    /// The labels of series without a server that matters: they are met again in every piece.
    skipped: HashMap<BTreeMap<String, String>, ()>,
}

impl Reading<'_, '_> {
    /// Everything of one query, in the order of time.
    fn all(
        &mut self,
        quantity: Quantity,
        query: &Query,
        kind: SampleKind,
    ) -> Result<Vec<u32>, FleetInputError> {
        let mut known = KnownSeries::default();
        let longest_ms = query.longest_ms(PIECE_STEPS).min(LONGEST_PIECE_MS);
        let (mut piece_ms, mut at_ms) = (FIRST_PIECE_MS.min(longest_ms), self.span.from_ms);
        while at_ms < self.span.until_ms {
            self.tell(quantity, at_ms)?;
            let end_ms = query.end_ms(at_ms, piece_ms).min(self.span.until_ms);
            let answer = match self.client.ask(&query.question(at_ms, end_ms)) {
                Err(error) if error.is_too_much() && piece_ms > SHORTEST_PIECE_MS => {
                    piece_ms = (piece_ms / 4).max(SHORTEST_PIECE_MS);
                    continue;
                }
                answer => answer?,
            };
            self.warnings(&answer.warnings)?;
            let mut samples = 0;
            for series in answer.series {
                samples += series.samples.len();
                self.series(quantity, &mut known, series, at_ms..end_ms)?;
            }
            at_ms = query.next_ms(at_ms, end_ms);
            // At most four times as long at a time: a fleet may have been smaller in the past.
            let wanted = piece_ms.saturating_mul(PIECE_SAMPLES as i64) / samples.max(1) as i64;
            let shortest_ms = SHORTEST_PIECE_MS.min(longest_ms);
            piece_ms = wanted.clamp(piece_ms / 4, piece_ms * 4).clamp(shortest_ms, longest_ms);
        }
        self.one_series_each(&known, kind, query)?;
        if known.servers.is_empty() {
            return Err(PrometheusError::NoSeries { query: query.text().to_owned() }.into());
        }
        Ok(known.servers)
    }

    /// Samples of one series within the piece.
    fn series(
        &mut self,
        quantity: Quantity,
        known: &mut KnownSeries,
        series: Series,
        within_ms: Range<i64>,
    ) -> Result<(), FleetInputError> {
        let Some(number) = self.number(known, series.labels)? else { return Ok(()) };
        let server = known.servers[number as usize];
        for (time_ms, value) in series.samples {
            // Older servers give the sample at the piece's open end, too, which the piece before has.
            if !within_ms.contains(&time_ms) {
                continue;
            }
            self.rows.rows += 1;
            if !Intervals::believes(time_ms) {
                self.rows.left.add(Left::NoTime, || format!("{time_ms} ms since 1970"));
                continue;
            }
            let name = &self.rows.servers.get(server).name;
            match self.tracks.take_one(quantity, number, TimedValue { time_ms, value }, name) {
                Ok(()) => {}
                Err(Refused::Error(error)) => return Err(*error),
                Err(Refused::OutOfOrder) => {
                    return Err(PrometheusError::Answer {
                        expected: "samples in the order of time",
                        got: format!("an earlier one for {name}"),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }

    /// The number of a series; none when its server does not matter.
    fn number(
        &mut self,
        known: &mut KnownSeries,
        labels: BTreeMap<String, String>,
    ) -> Result<Option<u32>, FleetInputError> {
        if let Some(number) = known.numbers.get(&labels) {
            return Ok(Some(*number));
        }
        if known.skipped.contains_key(&labels) {
            return Ok(None);
        }
        let label = |name: &str| labels.get(name).map_or("", String::as_str);
        let server = label(&self.source.server_label);
        if server.is_empty() {
            self.rows.rows += 1;
            self.rows.left.add(Left::NoServer, || {
                format!("a series without the label {:?}: {}", self.source.server_label, written(&labels))
            });
            known.skipped.insert(labels, ());
            return Ok(None);
        }
        let id = self.rows.servers.id(server);
        if let (Some(group_label), FleetGroups::Source { .. }) =
            (&self.source.group_label, &self.request.groups)
        {
            let group = label(group_label);
            let membership = self.rows.servers.membership(group);
            if self.rows.servers.join(id, membership, group, RowPlace::default()).is_err() {
                let place = format!("the label {group_label:?}");
                return Err(FleetInputError::BothGroups {
                    server: server.to_owned(),
                    first: self.rows.servers.get(id).group.to_string(),
                    first_place: place.clone(),
                    second: group.to_owned(),
                    second_place: place,
                });
            }
        }
        if !self.rows.servers.matters(id) {
            known.skipped.insert(labels, ());
            return Ok(None);
        }
        for (kind, name) in
            [(Label::Site, &self.source.site_label), (Label::Hardware, &self.source.hardware_label)]
        {
            let value = name.as_ref().map_or("", |name| label(name));
            if !value.is_empty() {
                self.rows.servers.describe(id, kind, value, &mut self.rows.left);
            }
        }
        let number = known.servers.len() as u32;
        known.servers.push(id);
        known.numbers.insert(labels, number);
        Ok(Some(number))
    }

    /// Counts of several series of a server add up, levels do not.
    fn one_series_each(
        &self,
        known: &KnownSeries,
        kind: SampleKind,
        query: &Query,
    ) -> Result<(), FleetInputError> {
        if kind != SampleKind::Level {
            return Ok(());
        }
        let mut seen: HashMap<u32, &BTreeMap<String, String>> = HashMap::new();
        for (labels, number) in &known.numbers {
            let server = known.servers[*number as usize];
            if let Some(first) = seen.insert(server, labels) {
                return Err(PrometheusError::SeveralSeries {
                    query: query.text().to_owned(),
                    server: self.rows.servers.get(server).name.to_string(),
                    one: written(first),
                    other: written(labels),
                }
                .into());
            }
        }
        Ok(())
    }

    fn warnings(&mut self, warnings: &[String]) -> Result<(), FleetInputError> {
        match warnings {
            [] => Ok(()),
            [first, ..] if self.source.accept_warnings => {
                self.rows.left.add_many(Left::Warning, warnings.len() as u64, || first.clone());
                Ok(())
            }
            [first, ..] => Err(PrometheusError::Warnings { first: first.clone() }.into()),
        }
    }

    fn tell(&mut self, quantity: Quantity, at_ms: i64) -> Result<(), FleetInputError> {
        let done =
            (at_ms - self.span.from_ms) as f64 / (self.span.until_ms - self.span.from_ms).max(1) as f64;
        let before = if quantity == Quantity::Load { 1.0 } else { 0.0 };
        let progress = FleetProgress { share: (before + done) / self.queries, samples: self.rows.rows };
        if (self.watch)(progress).is_break() { Err(FleetInputError::Stopped) } else { Ok(()) }
    }
}

/// Labels as PromQL writes them.
fn written(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    format!("{{{}}}", pairs.join(", "))
}
