//! A table of text for a terminal. Where it would be too wide, its last column is wrapped if it is prose; otherwise each row's name takes
//! a line of its own, and a row without a name belongs to the one above it.

use crate::paint::{Paint, Tone, printable, wrapped};
use std::borrow::Cow;

/// Least width of a last column that is wrapped.
const PROSE_LEAST: usize = 24;

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Above it.
    pub heading: Cow<'static, str>,
    align: Align,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Right,
    Point,
}

impl Column {
    /// Words.
    pub const fn text(heading: &'static str) -> Self {
        Column { heading: Cow::Borrowed(heading), align: Align::Left }
    }

    /// Figures, each with its unit: they stand to the right.
    pub const fn number(heading: &'static str) -> Self {
        Column { heading: Cow::Borrowed(heading), align: Align::Right }
    }

    /// Words under a heading that is worked out.
    pub(crate) fn words(heading: impl Into<Cow<'static, str>>) -> Self {
        Column { heading: heading.into(), ..Column::text("") }
    }

    /// Figures of one unit, which the heading names: they are aligned on the point.
    pub(crate) fn decimal(heading: impl Into<Cow<'static, str>>) -> Self {
        Column { heading: heading.into(), align: Align::Point }
    }

    /// True for a column of figures.
    pub(crate) fn is_numeric(&self) -> bool {
        self.align != Align::Left
    }
}

/// A row: its name and one cell for each further column. An empty cell stays empty.
#[derive(Debug, Clone)]
struct Row {
    name: String,
    cells: Vec<String>,
    tone: Tone,
}

/// The table. Its first column has the rows' names.
#[derive(Debug)]
pub(crate) struct Table {
    name: Column,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// The place of the names of a table's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Beside,
    Above,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(name_heading: &'static str, columns: Vec<Column>) -> Self {
        Table { name: Column::text(name_heading), columns, rows: Vec::new() }
    }

    /// A table of which the first cell of each row is its name. Missing cells are empty.
    pub(crate) fn from_rows(columns: &[Column], rows: &[Vec<String>]) -> Option<Self> {
        let (name, columns) = columns.split_first()?;
        let mut table = Table { name: name.clone(), columns: columns.to_vec(), rows: Vec::new() };
        for row in rows {
            let cell = |index: usize| row.get(index).cloned().unwrap_or_default();
            table.push(&cell(0), (1..=columns.len()).map(cell).collect(), Tone::Plain);
        }
        Some(table)
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, name: &str, cells: Vec<String>, tone: Tone) {
        let cells = cells.iter().map(|cell| printable(cell)).collect();
        self.rows.push(Row { name: printable(name), cells, tone });
    }

    /// The lines of the table, headings first.
    pub(crate) fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let names = Fitted::new(&self.name, self.rows.iter().map(|row| row.name.as_str()).collect());
        let columns: Vec<Fitted> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                Fitted::new(column, self.rows.iter().map(|row| row.cells[index].as_str()).collect())
            })
            .collect();
        let widths: usize = columns.iter().map(|column| column.width).sum();
        let fits = |name: usize, gap: usize| name + widths + columns.len() * gap <= width;
        if !fits(names.width, 2)
            && let Some(prose_width) = self.prose_width(&names, &columns, width)
        {
            return self.wrapped_lines(&names, &columns, prose_width, paint);
        }
        let (place, gap) = match () {
            () if fits(names.width, 2) => (Names::Beside, "  "),
            () if fits(names.width, 1) => (Names::Beside, " "),
            () if fits(0, 2) => (Names::Above, "  "),
            () => (Names::Above, " "),
        };
        let mut lines = self.heading(&names, &columns, place, gap, paint);
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<&str> = columns.iter().map(|column| column.cells[index].as_str()).collect();
            match place {
                Names::Beside => {
                    lines.push(paint.tone(&joined(&names.cells[index], &cells, gap), row.tone));
                }
                Names::Above => {
                    let name = row.name.trim_start();
                    let indent = " ".repeat(row.name.len() - name.len());
                    let name = wrapped(name, width.saturating_sub(indent.len()));
                    lines.extend(name.iter().map(|line| paint.tone(&format!("{indent}{line}"), row.tone)));
                    lines.push(paint.tone(&joined("", &cells, gap), row.tone));
                }
            }
        }
        lines
    }

    /// The width that is left for the last column, where that is prose and there is room to wrap it.
    fn prose_width(&self, names: &Fitted, columns: &[Fitted], width: usize) -> Option<usize> {
        let last = self.columns.last().filter(|column| !column.is_numeric())?;
        let lead: usize = names.width
            + columns[..columns.len() - 1].iter().map(|column| column.width + 2).sum::<usize>()
            + 2;
        let left = width.checked_sub(lead)?;
        (left >= PROSE_LEAST.max(last.heading.chars().count())).then_some(left)
    }

    fn wrapped_lines(
        &self,
        names: &Fitted,
        columns: &[Fitted],
        prose_width: usize,
        paint: Paint,
    ) -> Vec<String> {
        let (_, front) = columns.split_last().expect("a table with prose has columns");
        let mut lines = self.heading(names, columns, Names::Beside, "  ", paint);
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<&str> = front.iter().map(|column| column.cells[index].as_str()).collect();
            let lead = [names.cells[index].as_str()]
                .iter()
                .chain(&cells)
                .fold(String::new(), |lead, cell| lead + cell + "  ");
            let prose = wrapped(row.cells.last().map_or("", String::as_str), prose_width);
            let indent = " ".repeat(lead.chars().count());
            lines.push(
                paint
                    .tone(format!("{lead}{}", prose.first().map_or("", String::as_str)).trim_end(), row.tone),
            );
            lines.extend(prose.iter().skip(1).map(|line| paint.tone(&format!("{indent}{line}"), row.tone)));
        }
        lines
    }

    /// The line of headings, unless all are empty.
    fn heading(
        &self,
        names: &Fitted,
        columns: &[Fitted],
        place: Names,
        gap: &str,
        paint: Paint,
    ) -> Vec<String> {
        let all = std::iter::once(&self.name).chain(&self.columns);
        if all.clone().all(|column| column.heading.is_empty()) {
            return Vec::new();
        }
        let headings: Vec<&str> = columns.iter().map(|column| column.heading.as_str()).collect();
        let lead = if place == Names::Beside { names.heading.as_str() } else { "" };
        vec![paint.tone(&joined(lead, &headings, gap), Tone::Dim)]
    }
}

/// A column's cells and its heading, all of one width.
struct Fitted {
    width: usize,
    heading: String,
    cells: Vec<String>,
}

impl Fitted {
    fn new(column: &Column, texts: Vec<&str>) -> Self {
        let heading = printable(&column.heading);
        let fraction = match column.align {
            Align::Left | Align::Right => 0,
            Align::Point => texts.iter().map(|text| fraction_width(text)).max().unwrap_or(0),
        };
        let padded: Vec<String> = texts
            .iter()
            .map(|text| match column.align {
                Align::Point if !is_word(text) => {
                    format!("{text}{}", " ".repeat(fraction - fraction_width(text)))
                }
                Align::Left | Align::Right | Align::Point => (*text).to_owned(),
            })
            .collect();
        let widest = padded.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let width = widest.max(heading.chars().count());
        let aligned = |text: &str| match column.align {
            Align::Left => format!("{text:<width$}"),
            Align::Right | Align::Point => format!("{text:>width$}"),
        };
        Fitted { width, cells: padded.iter().map(|text| aligned(text)).collect(), heading: aligned(&heading) }
    }
}

fn joined(lead: &str, cells: &[&str], gap: &str) -> String {
    format!("{lead}{gap}{}", cells.join(gap)).trim_end().to_owned()
}

/// True for a cell among numbers that is none: it has no point to be aligned on.
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

    fn table(note: &'static str) -> Table {
        let mut table = Table::new("setup", vec![Column::decimal("p99"), Column::text("note")]);
        table.push("first", vec!["9.09".into(), note.into()], Tone::Plain);
        table.push("a longer name", vec!["110".into(), String::new()], Tone::Plain);
        table.push("third", vec!["-".into(), "c".into()], Tone::Plain);
        table
    }

    #[test]
    fn numbers_stand_under_each_other_at_their_point() {
        assert_eq!(
            table("a").lines(80, Paint(false)),
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
            table("a").lines(20, Paint(false)),
            ["     p99  note", "first", "    9.09  a", "a longer name", "  110", "third", "    -     c",]
        );
    }

    #[test]
    fn prose_in_the_last_column_is_wrapped_where_there_is_room_for_it() {
        assert_eq!(
            table("a note of more words than there is room for").lines(48, Paint(false)),
            [
                "setup             p99  note",
                "first            9.09  a note of more words than",
                "                       there is room for",
                "a longer name  110",
                "third            -     c",
            ]
        );
    }
}
