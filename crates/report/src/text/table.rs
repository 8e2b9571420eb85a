//! A table of text, aligned on decimal points. Where it would be too wide, each row's name takes a line of its own; a
//! row without a name belongs to the one above it.

use super::paint::{Paint, Tone, printable};

/// A column after the name.
pub(super) struct Column {
    heading: String,
    align: Align,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Point,
}

/// A row: its name and one cell a column. An empty cell stays empty.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    pub(super) tone: Tone,
}

/// The table.
pub(super) struct Table {
    name_heading: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Column {
    /// Numbers, aligned on the point.
    pub(super) fn number(heading: &str) -> Self {
        Column { heading: printable(heading), align: Align::Point }
    }

    /// Text, aligned left.
    pub(super) fn text(heading: &str) -> Self {
        Column { heading: printable(heading), align: Align::Left }
    }
}

impl Table {
    /// An empty table.
    pub(super) fn new(name_heading: &str, columns: Vec<Column>) -> Self {
        Table { name_heading: name_heading.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, name: &str, cells: Vec<String>, tone: Tone) {
        let cells = cells.iter().map(|cell| printable(cell)).collect();
        self.rows.push(Row { name: printable(name), cells, tone });
    }

    /// The lines of the table, heading first.
    pub(super) fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let columns: Vec<Fitted> = (0..self.columns.len()).map(|index| self.fit(index)).collect();
        let cells_width: usize = columns.iter().map(|column| column.width).sum();
        let name_width = self
            .rows
            .iter()
            .map(|row| row.name.chars().count())
            .max()
            .unwrap_or(0)
            .max(self.name_heading.len());
        let fits = |name: usize, gap: usize| name + cells_width + columns.len() * gap <= width;
        let (beside, gap) = match () {
            () if fits(name_width, 2) => (true, "  "),
            () if fits(name_width, 1) => (true, " "),
            () if fits(0, 2) => (false, "  "),
            () => (false, " "),
        };

        let mut lines = Vec::new();
        let headings: Vec<String> =
            self.columns.iter().zip(&columns).map(|(column, fitted)| fitted.heading(column)).collect();
        let lead = if beside { pad(&self.name_heading, name_width) } else { String::new() };
        lines.push(paint.tone(&joined(&lead, &headings, gap), Tone::Dim));
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> = columns.iter().map(|column| column.cells[index].clone()).collect();
            if beside {
                lines.push(paint.tone(&joined(&pad(&row.name, name_width), &cells, gap), row.tone));
            } else {
                if !row.name.is_empty() {
                    lines.push(paint.tone(&row.name, row.tone));
                }
                lines.push(paint.tone(&joined("", &cells, gap), row.tone));
            }
        }
        lines
    }

    fn fit(&self, index: usize) -> Fitted {
        let column = &self.columns[index];
        let texts: Vec<&str> = self.rows.iter().map(|row| row.cells[index].as_str()).collect();
        let fraction = match column.align {
            Align::Left => 0,
            Align::Point => texts.iter().map(|text| fraction_width(text)).max().unwrap_or(0),
        };
        let padded: Vec<String> = texts
            .iter()
            .map(|text| match column.align {
                Align::Left => (*text).to_owned(),
                Align::Point if is_word(text) => (*text).to_owned(),
                Align::Point => format!("{text}{}", " ".repeat(fraction - fraction_width(text))),
            })
            .collect();
        let widest = padded.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let width = widest.max(column.heading.chars().count());
        let cells = padded
            .iter()
            .map(|text| match column.align {
                Align::Left => pad(text, width),
                Align::Point => format!("{text:>width$}"),
            })
            .collect();
        Fitted { width, cells }
    }
}

/// A column's cells, all of one width.
struct Fitted {
    width: usize,
    cells: Vec<String>,
}

impl Fitted {
    fn heading(&self, column: &Column) -> String {
        match column.align {
            Align::Left => pad(&column.heading, self.width),
            Align::Point => format!("{:>1$}", column.heading, self.width),
        }
    }
}

fn joined(lead: &str, cells: &[String], gap: &str) -> String {
    format!("{lead}{gap}{}", cells.join(gap)).trim_end().to_owned()
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// Whether a cell among numbers is none: it has no point to be aligned on.
fn is_word(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
}

/// Characters from the point on.
fn fraction_width(text: &str) -> usize {
    if is_word(text) { 0 } else { text.find('.').map_or(0, |point| text[point..].chars().count()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("setup", vec![Column::number("p99"), Column::text("note")]);
        table.push("first", vec!["9.09".into(), "a".into()], Tone::Plain);
        table.push("a longer name", vec!["110".into(), String::new()], Tone::Plain);
        table.push("third", vec!["-".into(), "c".into()], Tone::Plain);
        table
    }

    #[test]
    fn numbers_stand_under_each_other_at_their_point() {
        assert_eq!(
            table().lines(80, Paint(false)),
            [
                "setup             p99  note",
                "first            9.09  a",
                "a longer name  110",
                "third            -     c",
            ]
        );
    }

    #[test]
    fn a_table_too_wide_gives_each_name_a_line_of_its_own() {
        assert_eq!(
            table().lines(20, Paint(false)),
            ["     p99  note", "first", "    9.09  a", "a longer name", "  110", "third", "    -     c",]
        );
    }
}
