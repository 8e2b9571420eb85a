//! Metrics servers: a real Prometheus filled with recorded series, and a made-up one that fails in every way.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

mod failing;
mod real;
mod recorded;
mod scripted;

use jiff::tz::TimeZone;
use plumb_fleet::{
    FleetGroups, FleetInputError, FleetInterval, FleetRequest, FleetSource, FleetWindow, PrometheusSource,
    Sampling, read,
};
use plumb_model::fleet::{FleetTable, SampleKind};
use std::ops::ControlFlow;

/// Four days from 1 March 2026, UTC.
const START_S: i64 = 1_772_323_200;
const DAY_S: i64 = 86_400;

/// A request for a counter without groups.
fn request(url: &str, metric: &str) -> FleetRequest {
    FleetRequest {
        source: FleetSource::Prometheus(PrometheusSource {
            url: url.to_owned(),
            metric: metric.to_owned(),
            load: None,
            server_label: "instance".to_owned(),
            group_label: None,
            site_label: None,
            hardware_label: None,
            config: None,
            authorities: None,
            timeout_s: 20,
            accept_warnings: false,
        }),
        groups: FleetGroups::None,
        window: FleetWindow {
            changed_at: None,
            interval: FleetInterval::Days,
            zone: TimeZone::UTC,
            from: Some(jiff::Timestamp::from_second(START_S).unwrap()),
            until: Some(jiff::Timestamp::from_second(START_S + 4 * DAY_S).unwrap()),
        },
        metric_kind: Sampling::Stated(SampleKind::Counter),
        load_kind: Sampling::Stated(SampleKind::Counter),
        step_s: None,
    }
}

fn source(request: &mut FleetRequest) -> &mut PrometheusSource {
    let FleetSource::Prometheus(source) = &mut request.source else { unreachable!() };
    source
}

fn table(request: &FleetRequest) -> Result<FleetTable, FleetInputError> {
    read(request, &mut |_| ControlFlow::Continue(()))
}

/// Count and example of what was left out, found by a word of its name.
fn left(table: &FleetTable, word: &str) -> Option<(u64, String)> {
    let found = table.exclusions.iter().find(|left| left.what.contains(word));
    found.map(|left| (left.count, left.example.clone()))
}
