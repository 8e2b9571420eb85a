//! A watched path as one HTML file that works offline, to be looked at: the verdict with its paragraph first, then where the time goes, how
//! near each limit is, the causes, and what they rest on.
//!
//! The look is that of a run's page (`html`): the same style sheet, figures and cards. Scripts are for the flame graph alone; without
//! them it stands still, and everything else reads as it is.

mod brokers;
mod causes;
mod counters;
mod cpu;
mod kernel;
mod limits;
mod seen;
pub mod side_by_side;
mod stacked;
mod stages;
mod threads;

use super::words;
use crate::ReportError;
use crate::paint::printable;
use askama::Template;
use brokers::{BrokerView, ClientTable};
use causes::Card;
use counters::CounterView;
use cpu::CpuView;
use kernel::KernelView;
use limits::LimitBar;
use plumb_model::diagnosis::{Diagnosis, DiagnosisVerdict};
use plumb_model::figure::counted;
use plumb_model::observed::ObservedPath;
use seen::{CostRow, SettingsView, UnseenRow};
use stages::StagesView;
use threads::ThreadsView;

/// The whole page.
///
/// # Errors
/// [`ReportError`] when the template fails, which no document should cause.
pub fn render(path: &ObservedPath) -> Result<String, ReportError> {
    let diagnosis = path.diagnosis.as_ref();
    let cards = diagnosis.map(causes::view).unwrap_or_default();
    let (sure, suspected) = cards.into_iter().partition(|card: &Card| card.is_sure);
    let page = Page {
        command: if diagnosis.is_some() { "diagnose" } else { "observe" },
        title: super::title(path),
        meta: meta(path),
        verdict: diagnosis.map(Verdict::of),
        stages: diagnosis.and_then(stages::view),
        limits: diagnosis.map(|diagnosis| limits::view(&diagnosis.bounds)).unwrap_or_default(),
        sure,
        suspected,
        clients: brokers::clients(path),
        brokers: path.brokers.iter().map(brokers::view).collect(),
        threads: path.processes.iter().filter_map(threads::view).collect(),
        cpu: path.processes.iter().filter_map(cpu::view).collect(),
        kernel: kernel::views(path),
        counters: path.host_window.as_ref().map(counters::view),
        unseen: seen::unseen(path),
        cost: seen::cost(path),
        settings: seen::settings(path),
        plumb_version: printable(&path.plumb_version),
        schema_version: path.schema_version,
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "path.html")]
struct Page {
    command: &'static str,
    title: String,
    meta: Vec<Meta>,
    /// None where nobody looked for causes.
    verdict: Option<Verdict>,
    stages: Option<StagesView>,
    limits: Vec<LimitBar>,
    /// Causes that are supported or confirmed.
    sure: Vec<Card>,
    suspected: Vec<Card>,
    clients: Option<ClientTable>,
    brokers: Vec<BrokerView>,
    threads: Vec<ThreadsView>,
    cpu: Vec<CpuView>,
    /// Of each process that was traced, then of the host.
    kernel: Vec<KernelView>,
    counters: Option<CounterView>,
    unseen: Vec<UnseenRow>,
    cost: Vec<CostRow>,
    settings: Vec<SettingsView>,
    plumb_version: String,
    schema_version: u32,
}

/// A line of the head.
struct Meta {
    name: &'static str,
    value: String,
}

/// The answer.
struct Verdict {
    /// Style class.
    tone: &'static str,
    word: &'static str,
    meaning: &'static str,
    summary: Vec<Piece>,
    collect: Vec<String>,
}

/// A part of a paragraph: what stands between backticks is code.
struct Piece {
    text: String,
    is_code: bool,
}

/// The parts of a paragraph. A backtick without its fellow stays as it is.
fn pieces(paragraph: &str) -> Vec<Piece> {
    let text = printable(paragraph);
    if text.matches('`').count() % 2 == 1 {
        return vec![Piece { text, is_code: false }];
    }
    let piece = |(index, text): (usize, &str)| Piece { text: text.to_owned(), is_code: index % 2 == 1 };
    text.split('`').enumerate().map(piece).collect()
}

impl Verdict {
    fn of(diagnosis: &Diagnosis) -> Self {
        Verdict {
            tone: match diagnosis.verdict {
                DiagnosisVerdict::Bound => "suspect",
                DiagnosisVerdict::Healthy => "valid",
                DiagnosisVerdict::NotEnoughEvidence => "neutral",
            },
            word: words::verdict(diagnosis.verdict),
            meaning: words::verdict_meaning(diagnosis.verdict),
            summary: pieces(&diagnosis.summary),
            collect: diagnosis.collect.iter().map(|what| printable(what)).collect(),
        }
    }
}

fn meta(path: &ObservedPath) -> Vec<Meta> {
    let mut meta = Vec::new();
    if let Some(host) = &path.host {
        let cpus = host.logical_cpus.value().map(|cpus| counted(*cpus, "processor"));
        let known = [
            host.machine.value().cloned(),
            host.cpu_model.value().cloned(),
            cpus,
            host.kernel_release.value().map(|release| format!("Linux {release}")),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        meta.push(Meta { name: "Host", value: printable(&known.join(", ")) });
    }
    meta.push(Meta { name: "Brokers", value: brokers_told(path) });
    for process in &path.processes {
        let jvm = process.jvm.as_ref().map(|jvm| {
            let version = jvm.facts.version.as_ref().map(|version| format!(", Java {version}"));
            let collector = jvm.facts.collector.as_ref().map(|collector| format!(", {collector}"));
            format!("{}{}", version.unwrap_or_default(), collector.unwrap_or_default())
        });
        let ended = if process.ended { ", ended within the window" } else { "" };
        let value = format!("{} ({}){}{ended}", process.pid, process.command, jvm.unwrap_or_default());
        meta.push(Meta { name: "Process", value: printable(&value) });
    }
    meta.retain(|line| !line.value.is_empty());
    meta
}

/// The number of brokers that told of themselves, or that none did.
fn brokers_told(path: &ObservedPath) -> String {
    match path.brokers.len() {
        0 => "metrics of none".to_owned(),
        n => format!("metrics of {n}"),
    }
}
