//! The page of two watched paths: the stages of both as bars on one scale, and the sheet below.

use super::stacked::{Part, Stacked};
use super::stages;
use crate::ReportError;
use crate::paint::printable;
use crate::path::side_by_side::sheet;
use crate::sheet::page::SheetPart;
use askama::Template;
use plumb_model::compare::paths::{ComparedPath, PathCompareResult, PathFigure, PathPart};
use plumb_model::figure::time;

/// The whole page.
///
/// # Errors
/// [`ReportError`] when the template fails, which no document should cause.
pub fn render(result: &PathCompareResult) -> Result<String, ReportError> {
    let sheet = sheet(result);
    let page = Page {
        title: sheet.title.clone(),
        paths: [paragraph("first", &result.a), paragraph("second", &result.b)],
        stages: bars(result),
        parts: SheetPart::of(&sheet),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "paths.html")]
struct Page {
    title: String,
    paths: [Paragraph; 2],
    /// None where neither has a stage.
    stages: Option<Bars>,
    parts: Vec<SheetPart>,
}

/// The diagnosis of one.
struct Paragraph {
    which: &'static str,
    label: String,
    summary: Vec<super::Piece>,
}

/// The stages of both.
struct Bars {
    bars: Vec<Stacked>,
    legend: Vec<Entry>,
}

/// A colour and what it stands for.
struct Entry {
    style: &'static str,
    name: String,
}

fn paragraph(which: &'static str, path: &ComparedPath) -> Paragraph {
    Paragraph { which, label: printable(&path.label), summary: super::pieces(&path.summary) }
}

fn bars(result: &PathCompareResult) -> Option<Bars> {
    let of_stages = |figure: &&PathFigure| figure.part == PathPart::Stages;
    let mut all: Vec<&PathFigure> = result.figures.iter().filter(of_stages).collect();
    let place = |figure: &PathFigure| ORDER.iter().position(|name| *name == figure.name);
    all.sort_by_key(|figure| place(figure).unwrap_or(ORDER.len()));
    let first = known("first", &all, |figure| figure.a_figure);
    let second = known("second", &all, |figure| figure.b_figure);
    let longest_ns = first.sum_ns.max(second.sum_ns);
    (longest_ns > 0.0).then(|| Bars {
        bars: vec![first.drawn(longest_ns), second.drawn(longest_ns)],
        legend: all
            .iter()
            .map(|figure| Entry { style: style(figure), name: printable(&figure.name) })
            .collect(),
    })
}

/// Stages in the order of the path.
const ORDER: [&str; 9] = [
    "client queue",
    "client send",
    "unexplained",
    "request queue",
    "local",
    "remote",
    "response queue",
    "send",
    "fetch",
];

fn style(figure: &PathFigure) -> &'static str {
    stages::style(&figure.name.replace(' ', "_"))
}

/// The known stages of one of the two.
struct Known<'a> {
    which: &'static str,
    times: Vec<Time<'a>>,
    sum_ns: f64,
    unknown: usize,
}

/// The mean of one stage.
struct Time<'a> {
    figure: &'a PathFigure,
    mean_ns: f64,
}

fn known<'a>(which: &'static str, all: &[&'a PathFigure], of: fn(&PathFigure) -> Option<f64>) -> Known<'a> {
    let time = |figure: &&'a PathFigure| {
        let mean_ns = of(figure).filter(|mean| mean.is_finite() && *mean > 0.0)?;
        Some(Time { figure, mean_ns })
    };
    let times: Vec<Time> = all.iter().filter_map(time).collect();
    Known {
        which,
        sum_ns: times.iter().map(|time| time.mean_ns).sum(),
        unknown: all.iter().filter(|figure| of(figure).is_none()).count(),
        times,
    }
}

impl Known<'_> {
    fn drawn(&self, longest_ns: f64) -> Stacked {
        let part = |stage: &Time| Part {
            style: style(stage.figure),
            share: stage.mean_ns / longest_ns,
            label: time(stage.mean_ns),
            title: format!("{}: {}", printable(&stage.figure.name), time(stage.mean_ns)),
        };
        let parts: Vec<Part> = self.times.iter().map(part).collect();
        let unknown = match self.unknown {
            0 => String::new(),
            n => format!(" and {n} not known"),
        };
        Stacked::new(self.which.to_owned(), format!("{}{unknown}", time(self.sum_ns)), &parts)
    }
}
