//! Two watched paths side by side, as a sheet: for the terminal and, with the stages of both as bars above it, as a page.
//!
//! Which figures are told first is the document's; that none of them is better or worse is said before any.

use super::words;
use crate::findings;
use crate::sheet::{self, Column, Section, Sheet};
use crate::text::TextStyle;
use crate::wording;
use plumb_model::compare::paths::{
    ComparedPath, FigureUnit, PathCompareResult, PathFigure, PathFinding, PathPart, PathSetting,
};
use plumb_model::figure::{ABSENT, bytes_per_s, messages_per_s, per_s, ratio, rough_share, time};
use plumb_model::finding::Confidence;

/// For the terminal.
pub fn text(result: &PathCompareResult, style: TextStyle) -> String {
    sheet::text::render(&sheet(result), style)
}

/// All but the page's pictures.
pub(super) fn sheet(result: &PathCompareResult) -> Sheet {
    let (differ, alike): (Vec<&PathFigure>, Vec<&PathFigure>) =
        result.figures.iter().partition(|figure| figure.differs);
    let (both, alone): (Vec<&PathFigure>, Vec<&PathFigure>) =
        alike.into_iter().partition(|figure| figure.a_figure.is_some() && figure.b_figure.is_some());
    let mut sections = vec![paths(result)];
    if !result.conditions.is_empty() {
        sections.push(settings("Around them", "", &result.conditions));
    }
    sections.push(match differ.is_empty() {
        true => {
            Section::sentences("Figures that differ", "", vec!["None is far from the other's.".to_owned()])
        }
        false => {
            figures("Figures that differ", "ratio: second over first; the most different first, where large figures count for more than small ones", &differ)
        }
    });
    sections.push(match result.settings.is_empty() {
        true => {
            Section::sentences("Settings that differ", "", vec!["None of those that both told.".to_owned()])
        }
        false => {
            settings("Settings that differ", "JVM flags, brokers, topics, clients, kernel", &result.settings)
        }
    });
    sections.extend(causes(&result.findings));
    if !both.is_empty() {
        sections.push(figures(
            "Other figures",
            "near each other, or both so small that their ratio says nothing; in the order of the path",
            &both,
        ));
    }
    if !alone.is_empty() {
        sections.push(figures("Known of one alone", "so that nothing can be said", &alone));
    }
    if !result.alone.is_empty() {
        sections.push(Section::sentences("Not compared", "", result.alone.clone()));
    }
    Sheet {
        title: "Two watched paths, one window each".to_owned(),
        cautions: Vec::new(),
        answer: vec![Section::sentences("What this cannot show", "", result.cannot_show.clone())],
        sections,
        ..Sheet::default()
    }
}

fn paths(result: &PathCompareResult) -> Section {
    let row = |which: &str, path: &ComparedPath| {
        let stopped = if path.complete { "" } else { ", stopped" };
        vec![
            which.to_owned(),
            path.label.clone(),
            wording::instant(&path.started_at),
            format!("{}{stopped}", time(path.elapsed_ns as f64)),
            words::verdict(path.verdict).to_owned(),
        ]
    };
    let apart = match result.apart_s {
        Some(apart_s) => format!("{} apart", time(apart_s.unsigned_abs() as f64 * 1e9)),
        None => "time apart not known".to_owned(),
    };
    let columns = ["", "path", "began", "watched for", "diagnosis"].map(Column::text);
    Section::table("Paths", &apart, columns, vec![row("first", &result.a), row("second", &result.b)])
}

fn figures(heading: &str, meaning: &str, all: &[&PathFigure]) -> Section {
    let row = |figure: &&PathFigure| {
        vec![
            format!("{}: {}", part(figure.part), figure.name),
            written(figure, figure.a_figure),
            written(figure, figure.b_figure),
            figure.ratio.map_or_else(|| ABSENT.to_owned(), ratio),
        ]
    };
    let columns =
        [Column::text(""), Column::number("first"), Column::number("second"), Column::number("ratio")];
    Section::table(heading, meaning, columns, all.iter().map(row).collect())
}

fn settings(heading: &str, meaning: &str, all: &[PathSetting]) -> Section {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| ABSENT.to_owned());
    let row = |setting: &PathSetting| {
        vec![format!("{}: {}", setting.of, setting.key), value(&setting.a), value(&setting.b)]
    };
    let columns = ["", "first", "second"].map(Column::text);
    Section::table(heading, meaning, columns, all.iter().map(row).collect())
}

/// None where neither has a finding.
fn causes(all: &[PathFinding]) -> Option<Section> {
    let sure = |confidence: Option<Confidence>| confidence.map_or(ABSENT, findings::confidence).to_owned();
    let row = |finding: &PathFinding| {
        vec![finding.id.clone(), sure(finding.a), sure(finding.b), finding.claim.clone()]
    };
    let columns = [Column::text(""), Column::text("first"), Column::text("second"), Column::text("claim")];
    let meaning = "those of one alone first; one that was not found may be there all the same";
    (!all.is_empty()).then(|| Section::table("Findings", meaning, columns, all.iter().map(row).collect()))
}

fn part(part: PathPart) -> &'static str {
    match part {
        PathPart::Load => "load",
        PathPart::Stages => "stage",
        PathPart::Limits => "limit in use",
        PathPart::Brokers => "brokers",
        PathPart::Threads => "threads",
        PathPart::Cpu => "CPU",
        PathPart::Kernel => "kernel",
        PathPart::Host => "host",
    }
}

fn written(figure: &PathFigure, value: Option<f64>) -> String {
    let write = match figure.unit {
        FigureUnit::Ns if figure.part == PathPart::Stages => words::stage_mean,
        FigureUnit::Ns => time,
        FigureUnit::Share => rough_share,
        FigureUnit::BytesPerS => bytes_per_s,
        FigureUnit::PerS => per_s,
        FigureUnit::MessagesPerS => messages_per_s,
    };
    value.map_or_else(|| ABSENT.to_owned(), write)
}
