//! A sizing as terminal text: what disagrees first, then the sections in the order in which they are given.
//!
//! Only the layout. What is said is worked out by whoever has the sizing: this crate does not judge. A table's last column is
//! prose and is wrapped within its column; the others keep their width.

use crate::text::TextStyle;
use crate::text::paint::{Paint, Tone, printable, wrapped};

/// Narrower than this, lines run over.
const NARROWEST: usize = 60;
/// Least width of the column that is wrapped.
const PROSE_LEAST: usize = 24;
const GAP: &str = "  ";

/// A sizing in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// What was asked, in one line.
    pub title: String,
    /// What does not agree or cannot be reached.
    pub findings: Vec<String>,
    /// What is to be kept in mind, and changes no exit code.
    pub cautions: Vec<String>,
    /// The rest, in order.
    pub sections: Vec<Section>,
}

/// A part with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// What is meant by it; may be empty.
    pub meaning: String,
    /// What it has.
    pub body: Body,
}

/// What a section has.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Sentences, each with a dash.
    Sentences(Vec<String>),
    /// A table.
    Table {
        /// A heading for each column; empty ones for a table without headings.
        columns: Vec<Column>,
        /// A cell for each column.
        rows: Vec<Vec<String>>,
    },
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Above it.
    pub heading: &'static str,
    /// Whether its cells are numbers, which stand to the right.
    pub number: bool,
}

impl Column {
    /// Words.
    pub const fn text(heading: &'static str) -> Self {
        Column { heading, number: false }
    }

    /// Numbers.
    pub const fn number(heading: &'static str) -> Self {
        Column { heading, number: true }
    }
}

/// The whole text.
pub fn render(sheet: &Sheet, style: TextStyle) -> String {
    let paint = Paint(style.color);
    let width = style.width.max(NARROWEST);
    let mut lines: Vec<String> =
        wrapped(&printable(&sheet.title), width).iter().map(|line| paint.tone(line, Tone::Strong)).collect();
    let findings = sheet.findings.iter().map(|finding| ("FINDING  ", finding));
    for (mark, words) in findings.chain(sheet.cautions.iter().map(|caution| ("Caution  ", caution))) {
        lines.push(String::new());
        lines.extend(hanging(mark, words, width).iter().map(|line| paint.tone(line, Tone::Warning)));
    }
    for section in &sheet.sections {
        lines.push(String::new());
        lines.extend(heading(section, width, paint));
        match &section.body {
            Body::Sentences(sentences) => {
                lines.extend(sentences.iter().flat_map(|sentence| hanging("- ", sentence, width)));
            }
            Body::Table { columns, rows } => lines.extend(table(columns, rows, width, paint)),
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn heading(section: &Section, width: usize, paint: Paint) -> Vec<String> {
    let (words, meaning) = (printable(&section.heading), printable(&section.meaning));
    let heading = paint.tone(&words, Tone::Strong);
    if meaning.is_empty() {
        return vec![heading];
    }
    if words.chars().count() + GAP.len() + meaning.chars().count() <= width {
        return vec![format!("{heading}{GAP}{}", paint.tone(&meaning, Tone::Dim))];
    }
    let meaning = wrapped(&meaning, width);
    std::iter::once(heading).chain(meaning.iter().map(|line| paint.tone(line, Tone::Dim))).collect()
}

/// Wrapped, with `lead` before the first line and blanks of its width before the others.
fn hanging(lead: &str, text: &str, width: usize) -> Vec<String> {
    let indent = lead.chars().count();
    let lines = wrapped(&printable(text), width.saturating_sub(indent));
    let place = |(index, line): (usize, &String)| {
        if index == 0 { format!("{lead}{line}") } else { format!("{}{line}", " ".repeat(indent)) }
    };
    lines.iter().enumerate().map(place).collect()
}

fn table(columns: &[Column], rows: &[Vec<String>], width: usize, paint: Paint) -> Vec<String> {
    let cell = |row: &Vec<String>, index: usize| printable(row.get(index).map_or("", String::as_str));
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows.iter().map(|row| cell(row, index).chars().count());
            cells.chain([column.heading.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let Some(last) = columns.len().checked_sub(1) else { return Vec::new() };
    let lead_width: usize = widths[..last].iter().map(|width| width + GAP.len()).sum();
    let prose_width = width.saturating_sub(lead_width).max(PROSE_LEAST);
    let lead = |texts: Vec<String>| {
        let placed = texts.iter().zip(columns).zip(&widths).map(|((text, column), width)| {
            if column.number { format!("{text:>width$}{GAP}") } else { format!("{text:<width$}{GAP}") }
        });
        placed.collect::<String>()
    };
    let mut lines = Vec::new();
    if columns.iter().any(|column| !column.heading.is_empty()) {
        let headings = lead(columns[..last].iter().map(|column| column.heading.to_owned()).collect());
        let heading = aligned(columns[last].heading, &columns[last], widths[last]);
        lines.push(paint.tone(format!("{headings}{heading}").trim_end(), Tone::Dim));
    }
    for row in rows {
        let front = lead((0..last).map(|index| cell(row, index)).collect());
        let prose = if columns[last].number {
            vec![aligned(&cell(row, last), &columns[last], widths[last])]
        } else {
            wrapped(&cell(row, last), prose_width)
        };
        lines.push(format!("{front}{}", prose.first().map_or("", String::as_str)));
        lines.extend(prose.iter().skip(1).map(|line| format!("{}{line}", " ".repeat(lead_width))));
    }
    lines
}

fn aligned(text: &str, column: &Column, width: usize) -> String {
    if column.number { format!("{text:>width$}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        Sheet {
            title: "Brokers for 1 GB/s".to_owned(),
            findings: vec![
                "Two figures of the load do not agree, and this is said before anything else.".to_owned(),
            ],
            cautions: Vec::new(),
            sections: vec![
                Section {
                    heading: "Bounds".to_owned(),
                    meaning: "what each asks for".to_owned(),
                    body: Body::Table {
                        columns: vec![Column::text(""), Column::number("physics"), Column::text("rule")],
                        rows: vec![
                            vec![
                                "disk".to_owned(),
                                "3".to_owned(),
                                "a rule that is so long that it has to be wrapped in its column".to_owned(),
                            ],
                            vec!["NIC out".to_owned(), "1,200".to_owned(), "short".to_owned()],
                        ],
                    },
                },
                Section {
                    heading: "Advice".to_owned(),
                    meaning: String::new(),
                    body: Body::Sentences(vec!["Do this.".to_owned()]),
                },
            ],
        }
    }

    #[test]
    fn findings_come_first_and_the_last_column_is_wrapped_within_itself() {
        let text = render(&sheet(), TextStyle { color: false, width: 60 });
        assert_eq!(
            text,
            "Brokers for 1 GB/s\n\
             \n\
             FINDING  Two figures of the load do not agree, and this is\n         \
             said before anything else.\n\
             \n\
             Bounds  what each asks for\n         \
             physics  rule\n\
             disk           3  a rule that is so long that it has to be\n                  \
             wrapped in its column\n\
             NIC out    1,200  short\n\
             \n\
             Advice\n\
             - Do this.\n"
        );
    }

    #[test]
    fn nothing_that_a_sheet_is_given_moves_the_cursor_wherever_it_stands() {
        let evil = || "evil\u{1b}[2J\u{9b}5m\u{7}".to_owned();
        let row = vec![vec![evil(), evil()]];
        let body = Body::Table { columns: vec![Column::text("a"), Column::number("b")], rows: row };
        let section = |body| Section { heading: evil(), meaning: evil(), body };
        let sheet = Sheet {
            title: evil(),
            findings: vec![evil()],
            cautions: vec![evil()],
            sections: vec![section(body), section(Body::Sentences(vec![evil()]))],
        };
        for width in [60, 200] {
            let text = render(&sheet, TextStyle { color: false, width });
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            assert_eq!(text.matches("evil\\u{1b}[2J\\u{9b}5m\\u{7}").count(), 10, "{text}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_is_coloured_unless_asked() {
        let text = render(&sheet(), TextStyle { color: false, width: 70 });
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert!(render(&sheet(), TextStyle { color: true, width: 70 }).contains('\u{1b}'));
    }
}
