//! The run document as terminal text: the verdict first, then the table, then what explains it, and at the end, where
//! the eye rests above the prompt, the three sentences that matter.
//!
//! Nothing is cut off and nothing relies on colour. Setups are numbered (`#1`) in the order of the plan.

mod backlog;
mod brokers;
mod comparisons;
mod install;
mod latency;
mod queue;
mod rates;
mod stages;
mod trial;
mod validity;
mod workers;

pub use crate::paint::printable;
use crate::paint::{self, Paint, Tone};
use crate::{headline, queues, went_on, wording};
use plumb_model::document::RunDocument;

/// The style of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// True: use ANSI colours.
    pub color: bool,
    /// Columns of the terminal. Tables need about 80; prose wraps at it.
    pub width: usize,
}

/// The figures of the latency table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figures {
    /// Median, p95, p99, p99.9, maximum and mean.
    Headline,
    /// Minimum and p75 too, as published tables have them.
    All,
}

/// Narrower than this, lines are allowed to run over: a table cannot be folded for ever.
pub(crate) const NARROWEST: usize = 60;

/// The whole report.
pub fn render(document: &RunDocument, style: TextStyle, figures: Figures) -> String {
    let document = queues::without_their_times(document);
    let document = document.as_ref();
    let mut page = Page { out: String::new(), paint: Paint(style.color), width: style.width.max(NARROWEST) };
    page.title(document);
    validity::write(&mut page, document);
    if document.steps.is_empty() {
        page.heading("Figures", "");
        page.prose("", "Nothing was measured: no setup was finished.", Tone::Plain);
    } else {
        trial::write(&mut page, document);
        let timed = !headline::timed(document).is_empty();
        if timed {
            latency::write_headline(&mut page, document, figures);
        }
        backlog::write(&mut page, document);
        queue::write(&mut page, document);
        rates::write(&mut page, document);
        latency::write_ledger(&mut page, document);
        if timed {
            latency::write_others(&mut page, document);
        }
        stages::write(&mut page, &document.steps);
        brokers::write(&mut page, &document.steps);
        workers::write(&mut page, document);
        comparisons::write(&mut page, document);
    }
    validity::write_findings(&mut page, document);
    install::write(&mut page, document);
    page.closing(document);
    page.out
}

/// Text being written.
struct Page {
    out: String,
    paint: Paint,
    width: usize,
}

impl Page {
    fn title(&mut self, document: &RunDocument) {
        let run = &document.run;
        let name = self.paint.tone(&paint::printable(&run.name), Tone::Strong);
        self.line(&format!("{name}  {}", paint::printable(&wording::instant(&run.started_at))));
        let client = match document.environment.client.as_str() {
            "" => String::new(),
            client => format!(", {client}"),
        };
        let about = format!("{}{client}, run {}", wording::extent(document), run.id);
        self.prose("", &about, Tone::Dim);
        if let Some(incomplete) = wording::incomplete(document) {
            self.prose("", &incomplete, Tone::Warning);
        }
        for sentence in went_on::sentences(document) {
            self.prose("", &sentence, Tone::Plain);
        }
    }

    fn closing(&mut self, document: &RunDocument) {
        if document.summary.is_empty() {
            return;
        }
        let verdict = document.validity.verdict.word();
        self.heading("In short", &format!("of a run with the verdict {}", verdict.to_uppercase()));
        for (index, sentence) in document.summary.iter().enumerate() {
            self.prose(&format!("{}. ", index + 1), sentence, Tone::Plain);
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// A blank line, the heading, and what is meant by it in dim.
    fn heading(&mut self, text: &str, meaning: &str) {
        self.line("");
        let fits = meaning.is_empty() || text.chars().count() + 2 + meaning.chars().count() <= self.width;
        let heading = self.paint.tone(text, Tone::Strong);
        if fits {
            self.line(&format!("{heading}  {}", self.paint.tone(meaning, Tone::Dim)));
        } else {
            self.line(&heading);
            self.prose("", meaning, Tone::Dim);
        }
    }

    /// Prose, wrapped, with `lead` before its first line and blanks of its width before the others.
    fn prose(&mut self, lead: &str, text: &str, tone: Tone) {
        let indent = lead.chars().count();
        let lines = paint::wrapped(&paint::printable(text), self.width.saturating_sub(indent));
        for (index, line) in lines.iter().enumerate() {
            let before = if index == 0 { lead.to_owned() } else { " ".repeat(indent) };
            let line = self.paint.tone(line, tone);
            self.line(&format!("{before}{line}"));
        }
    }
}
