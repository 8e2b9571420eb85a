//! A sheet: what a result has to say as findings, tables and sentences, before it is known where it is shown.
//!
//! [`text`] lays it out for a terminal and [`page`] as one HTML file. Both are only layout: whoever has the result words it, because
//! neither judges. A sheet carries one picture at most, points on two axes; a run and a trial on a fleet have pages of their own for charts.

pub mod page;
pub mod scatter;
pub(crate) mod table;
pub mod text;

pub use scatter::Scatter;
pub use table::Column;

/// A result in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// The question, in one line.
    pub title: String,
    /// Findings, such as figures that disagree: the result ends with exit code 1.
    pub findings: Vec<String>,
    /// Cautions, which change no exit code.
    pub cautions: Vec<String>,
    /// The sections that the answer rests on, in order.
    pub sections: Vec<Section>,
    /// Points on two axes, on a page alone; a section has what they say in words.
    pub scatter: Option<Scatter>,
    /// The answer: last on a terminal, where the prompt follows it, and first on a page.
    pub answer: Vec<Section>,
}

/// A part with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Its meaning; may be empty.
    pub meaning: String,
    /// Its content.
    pub body: Body,
}

/// The content of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Sentences, each with a dash.
    Sentences(Vec<String>),
    /// A table. The first cell of a row names it.
    Table {
        /// A heading for each column; empty ones for a table without headings.
        columns: Vec<Column>,
        /// A cell for each column.
        rows: Vec<Vec<String>>,
    },
}

impl Section {
    /// A section.
    pub fn new(heading: &str, meaning: &str, body: Body) -> Self {
        Section { heading: heading.to_owned(), meaning: meaning.to_owned(), body }
    }

    /// A section of sentences.
    pub fn sentences(heading: &str, meaning: &str, sentences: Vec<String>) -> Self {
        Section::new(heading, meaning, Body::Sentences(sentences))
    }

    /// A section with a table.
    pub fn table(
        heading: &str,
        meaning: &str,
        columns: impl Into<Vec<Column>>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Section::new(heading, meaning, Body::Table { columns: columns.into(), rows })
    }
}
