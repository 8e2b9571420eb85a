//! A sheet as one HTML file that works offline: the answer first, then what it rests on.

use super::scatter::Drawn;
use super::{Body, Column, Section, Sheet};
use crate::ReportError;
use crate::paint::printable;
use askama::Template;

/// The whole page; `command` is the one that made the result, such as `probe storage`.
///
/// # Errors
/// [`ReportError`] when the template fails, which no sheet should cause.
pub fn render(sheet: &Sheet, command: &str) -> Result<String, ReportError> {
    let page = Page {
        command,
        title: printable(&sheet.title),
        findings: sheet.findings.iter().map(|finding| printable(finding)).collect(),
        cautions: sheet.cautions.iter().map(|caution| printable(caution)).collect(),
        parts: SheetPart::of(sheet),
        scatter: sheet.scatter.as_ref().and_then(Drawn::of),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct Page<'s> {
    command: &'s str,
    title: String,
    findings: Vec<String>,
    cautions: Vec<String>,
    parts: Vec<SheetPart>,
    scatter: Option<Drawn>,
}

/// A section with what the template needs of it.
pub(crate) struct SheetPart {
    pub(crate) id: String,
    pub(crate) heading: String,
    pub(crate) meaning: String,
    pub(crate) sentences: Vec<String>,
    pub(crate) table: Option<Grid>,
}

pub(crate) struct Grid {
    /// Empty where no column has a heading.
    pub(crate) headings: Vec<Cell>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) class: &'static str,
}

impl SheetPart {
    /// The answer, its conclusion first, and what it rests on.
    pub(crate) fn of(sheet: &Sheet) -> Vec<Self> {
        let (conclusion, others) = match sheet.answer.split_last() {
            Some((conclusion, others)) => (Some(conclusion), others),
            None => (None, &sheet.answer[..]),
        };
        let sections = conclusion.into_iter().chain(others).chain(&sheet.sections);
        sections.enumerate().map(|(index, section)| SheetPart::new(index, section)).collect()
    }

    fn new(index: usize, section: &Section) -> Self {
        let (sentences, table) = match &section.body {
            Body::Sentences(sentences) => {
                (sentences.iter().map(|sentence| printable(sentence)).collect(), None)
            }
            Body::Table { columns, rows } => (Vec::new(), Some(Grid::new(columns, rows))),
        };
        SheetPart {
            id: format!("part-{}", index + 1),
            heading: printable(&section.heading),
            meaning: printable(&section.meaning),
            sentences,
            table,
        }
    }
}

impl Grid {
    fn new(columns: &[Column], rows: &[Vec<String>]) -> Self {
        let cell = |column: &Column, text: &str| Cell {
            text: printable(text.trim()),
            class: if column.is_numeric() { "num" } else { "words" },
        };
        let headings = match columns.iter().all(|column| column.heading.is_empty()) {
            true => Vec::new(),
            false => columns.iter().map(|column| cell(column, &column.heading)).collect(),
        };
        let row = |row: &Vec<String>| {
            let text = |index: usize| row.get(index).map_or("", String::as_str);
            columns.iter().enumerate().map(|(index, column)| cell(column, text(index))).collect()
        };
        Grid { headings, rows: rows.iter().map(row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let columns = [Column::text(""), Column::number("brokers")];
        let row = vec!["<script>alert(1)</script>".to_owned(), "1,200".to_owned()];
        Sheet {
            title: "Brokers for 1 GB/s".to_owned(),
            findings: vec!["Two figures of the load do not agree.".to_owned()],
            cautions: vec!["Keep this in mind.".to_owned()],
            sections: vec![Section::table("Bounds", "what each asks for", columns, vec![row])],
            answer: vec![Section::sentences("In short", "", vec!["Seven & no more.".to_owned()])],
            ..Sheet::default()
        }
    }

    #[test]
    fn findings_come_first_then_the_answer_then_what_it_rests_on() {
        let page = render(&sheet(), "size").unwrap();
        let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
        assert!(at("Two figures of the load do not agree.") < at("Keep this in mind."));
        assert!(at("Keep this in mind.") < at("Seven &#38; no more."));
        assert!(at("Seven &#38; no more.") < at("what each asks for"));
        assert!(at(r#"<th scope="col" class="num">brokers</th>"#) < at(r#"<td class="num">1,200</td>"#));
    }

    #[test]
    fn text_from_outside_is_no_markup_and_nothing_is_fetched() {
        let page = render(&sheet(), "size").unwrap();
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    }
}
