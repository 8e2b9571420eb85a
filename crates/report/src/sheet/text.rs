//! A sheet on a terminal: what disagrees first, then the sections, and the answer last.

use super::table::Table;
use super::{Body, Section, Sheet};
use crate::paint::{Paint, Tone, printable, wrapped};
use crate::text::{NARROWEST, TextStyle};

/// The whole text.
pub fn render(sheet: &Sheet, style: TextStyle) -> String {
    let paint = Paint(style.color);
    let width = style.width.max(NARROWEST);
    let mut lines: Vec<String> =
        wrapped(&printable(&sheet.title), width).iter().map(|line| paint.tone(line, Tone::Strong)).collect();
    for finding in &sheet.findings {
        lines.extend(warning("FINDING  ", finding, width, paint));
    }
    for caution in &sheet.cautions {
        lines.extend(warning("Caution  ", caution, width, paint));
    }
    for section in sheet.sections.iter().chain(&sheet.answer) {
        lines.push(String::new());
        lines.extend(heading(section, width, paint));
        match &section.body {
            Body::Sentences(sentences) => {
                lines.extend(sentences.iter().flat_map(|sentence| hanging("- ", sentence, width)));
            }
            Body::Table { columns, rows } => {
                lines.extend(
                    Table::from_rows(columns, rows).iter().flat_map(|table| table.lines(width, paint)),
                );
            }
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn warning(mark: &str, words: &str, width: usize, paint: Paint) -> Vec<String> {
    let lines = hanging(mark, words, width);
    std::iter::once(String::new()).chain(lines.iter().map(|line| paint.tone(line, Tone::Warning))).collect()
}

fn heading(section: &Section, width: usize, paint: Paint) -> Vec<String> {
    let (words, meaning) = (printable(&section.heading), printable(&section.meaning));
    let heading = paint.tone(&words, Tone::Strong);
    if meaning.is_empty() {
        return vec![heading];
    }
    if words.chars().count() + 2 + meaning.chars().count() <= width {
        return vec![format!("{heading}  {}", paint.tone(&meaning, Tone::Dim))];
    }
    let meaning = wrapped(&meaning, width);
    std::iter::once(heading).chain(meaning.iter().map(|line| paint.tone(line, Tone::Dim))).collect()
}

/// Wrapped, with `lead` before the first line and blanks of its width before the others.
pub(crate) fn hanging(lead: &str, text: &str, width: usize) -> Vec<String> {
    let indent = lead.chars().count();
    let lines = wrapped(&printable(text), width.saturating_sub(indent));
    let place = |(index, line): (usize, &String)| {
        if index == 0 { format!("{lead}{line}") } else { format!("{}{line}", " ".repeat(indent)) }
    };
    lines.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Column;

    fn sheet() -> Sheet {
        Sheet {
            title: "Brokers for 1 GB/s".to_owned(),
            findings: vec![
                "Two figures of the load do not agree, and this is said before anything else.".to_owned(),
            ],
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
            ..Sheet::default()
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
            answer: Vec::new(),
            ..Sheet::default()
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
