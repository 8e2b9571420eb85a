//! The days of both groups as a line each: the change marked, a surge shaded.

use crate::html::scale::{linear_ticks, percent};
use plumb_model::figure::{count, significant};
use plumb_model::fleet::{FleetDay, FleetGroup, FleetResult};
use std::fmt::Write;

/// Intervals beyond which neighbours are joined to one point.
const POINTS: usize = 400;

/// Marks on the axis of time.
const TIMES: usize = 6;

/// One quantity of both groups.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    pub(super) y_ticks: Vec<(String, String)>,
    pub(super) x_ticks: Vec<(String, String)>,
    /// The place of the change.
    pub(super) change_x: String,
    /// Place and width of a surge.
    pub(super) surge: Option<(String, String)>,
    pub(super) description: String,
}

/// One group.
pub(super) struct Line {
    pub(super) name: &'static str,
    /// Classes that carry colour and dash.
    pub(super) class: &'static str,
    /// Pieces between gaps, in a square of 1000 by 1000.
    pub(super) pieces: Vec<String>,
    pub(super) label_y: String,
}

/// The quantity of a day that a chart shows.
pub(super) type Of = fn(&FleetDay) -> Option<f64>;

/// None where no day has a value.
pub(super) fn chart(result: &FleetResult, title: String, of: Of) -> Option<Chart> {
    let most = result.days.iter().filter_map(of).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let control = days(result, FleetGroup::Control);
    let n = control.len() as f64;
    // RFC 3339 in UTC: the order of the texts is that of the moments.
    let place = |moment: &str| control.partition_point(|day| day.start.as_str() < moment) as f64 / n;
    let line = |group: FleetGroup, class: &'static str| {
        let days = days(result, group);
        let last = days.iter().rev().find_map(|day| of(day)).unwrap_or(0.0);
        Line {
            name: group.name(),
            class,
            pieces: pieces(&days, of, most),
            label_y: percent(1.0 - last / most),
        }
    };
    let mut lines = vec![line(FleetGroup::Control, "c1 d1"), line(FleetGroup::Test, "c2 d2")];
    apart(&mut lines, result, of, most);
    let every = control.len().div_ceil(TIMES).max(1);
    let x_ticks = control.iter().enumerate().step_by(every);
    Some(Chart {
        title,
        lines,
        y_ticks: linear_ticks(most, 5.0)
            .into_iter()
            .map(|tick| (percent(1.0 - tick / most), figure(tick)))
            .collect(),
        x_ticks: x_ticks.map(|(at, day)| (percent((at as f64 + 0.5) / n), short(&day.start))).collect(),
        change_x: percent(place(&result.changed_at)),
        surge: result.surge.as_ref().map(|surge| {
            let from = place(&surge.from);
            let until = surge.until.as_deref().map_or(1.0, &place);
            (percent(from), percent((until - from).max(0.0)))
        }),
        description: description(result, of),
    })
}

fn days(result: &FleetResult, group: FleetGroup) -> Vec<&FleetDay> {
    result.days.iter().filter(|day| day.group == group).collect()
}

/// Labels at the lines' ends that would lie on each other are moved apart.
fn apart(lines: &mut [Line], result: &FleetResult, of: Of, most: f64) {
    const ROOM: f64 = 0.07;
    let last = |group| days(result, group).iter().rev().find_map(|day| of(day)).unwrap_or(0.0_f64) / most;
    let (control, test) = (1.0 - last(FleetGroup::Control), 1.0 - last(FleetGroup::Test));
    if (control - test).abs() < ROOM {
        let middle = (control + test) / 2.0;
        let up = if control < test { -ROOM / 2.0 } else { ROOM / 2.0 };
        lines[0].label_y = percent(middle + up);
        lines[1].label_y = percent(middle - up);
    }
}

fn pieces(days: &[&FleetDay], of: Of, most: f64) -> Vec<String> {
    let stride = days.len().div_ceil(POINTS).max(1);
    let mut pieces = vec![String::new()];
    for (index, part) in days.chunks(stride).enumerate() {
        let known: Vec<f64> = part.iter().filter_map(|day| of(day)).collect();
        if known.is_empty() {
            pieces.push(String::new());
            continue;
        }
        let value = known.iter().sum::<f64>() / known.len() as f64;
        let x = (index * stride) as f64 + part.len() as f64 / 2.0;
        if let Some(piece) = pieces.last_mut() {
            // Writing to a text does not fail.
            let _ = write!(
                piece,
                "{:.1},{:.1} ",
                1_000.0 * x / days.len() as f64,
                1_000.0 * (1.0 - value / most)
            );
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn figure(value: f64) -> String {
    if value.fract() == 0.0 { count(value as u64) } else { significant(value, 3) }
}

/// The day, or the day with its hour.
fn short(start: &str) -> String {
    let (day, time) = start.split_once('T').unwrap_or((start, ""));
    let day = day.get(5..).unwrap_or(day);
    match time.get(..5) {
        None | Some("00:00") => day.to_owned(),
        Some(time) => format!("{day} {time}"),
    }
}

fn description(result: &FleetResult, of: Of) -> String {
    let mean = |group: FleetGroup, after: bool| {
        let days = days(result, group);
        let side = days.iter().filter(|day| (day.start >= result.changed_at) == after);
        let values: Vec<f64> = side.filter_map(|day| of(day)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if mean.is_finite() { figure(mean.round()) } else { plumb_model::figure::ABSENT.to_owned() }
    };
    let words = [FleetGroup::Control, FleetGroup::Test].map(|group| {
        format!("{}: {} before the change and {} after", group.name(), mean(group, false), mean(group, true))
    });
    words.join("; ")
}
