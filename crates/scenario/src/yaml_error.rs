//! What is wrong with a YAML file, for whoever wrote it: where to look, in plain words, with the lines around.
//!
//! The parser's own place is where it noticed: of a tab that indents, or of a bracket that nobody closes, that is elsewhere than the
//! mistake (`marks.rs` looks for these).

mod marks;

use crate::yaml::Value;
use marks::Mark;
use serde_saphyr::{Error, ExternalMessageSource};

/// Lines that are shown before and after the one that is meant.
const AROUND: usize = 2;

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlFault {
    /// `file:line:column: what`, then the lines around.
    pub message: String,
    /// The next step, where the mistake is known so well.
    pub hint: Option<&'static str>,
}

impl YamlFault {
    /// The message without the lines of the file, which may hold secrets.
    pub fn without_lines(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

/// The mistake in a file's text that the parser, or a type that was to be read from it, gave up at.
pub fn fault(path: &str, text: &str, error: &Error) -> YamlFault {
    match mark(text) {
        Some(mark) => YamlFault { message: shown(path, text, mark), hint: Some(mark.hint()) },
        None => YamlFault { message: reworded(path, &error.to_string()), hint: None },
    }
}

/// What the parser gave up at, where its place is not the mistake's; none where the text is YAML.
fn mark(text: &str) -> Option<Mark> {
    let error = serde_saphyr::from_str::<Value>(text).err()?;
    let inner = error.without_snippet();
    let of_parser = match inner {
        Error::ExternalMessage { source, .. } => matches!(**source, ExternalMessageSource::Parser(_)),
        other => matches!(other, Error::Eof { .. }),
    };
    let noticed = error.location().filter(|_| of_parser)?.line();
    // A line that begins with a tab may be noticed at the end of the one before.
    marks::of(text).filter(|mark| mark.line as u64 <= noticed + 1)
}

/// The message about a mark, with the lines around it.
fn shown(path: &str, text: &str, mark: Mark) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = (mark.line.saturating_sub(AROUND).max(1), (mark.line + AROUND).min(lines.len()));
    let width = last.to_string().len();
    let edge = format!("{:width$} |", "");
    let mut out = format!("{path}:{}:{}: {}\n{edge}\n", mark.line, mark.column, mark.what());
    for number in first..=last {
        out += &format!("{number:>width$} | {}\n", lines[number - 1]);
        if number == mark.line {
            out += &format!("{edge} {}^\n", " ".repeat(mark.column - 1));
        }
    }
    if last > mark.line {
        out += &edge;
    }
    out.trim_end_matches('\n').to_owned()
}

/// The parser's message with the file's name, each thing said once, and no names of Rust types.
fn reworded(path: &str, message: &str) -> String {
    let mut text = message.to_owned();
    for (rust, plain) in TYPES {
        text = text.replace(&format!("expected {rust}"), &format!("expected {plain}"));
    }
    text = text
        .replace("non-finite float ", "")
        .replace(" rejected by the configured policy", " is no finite number");
    if let Some((before, rest)) = text.split_once("duplicate mapping key: ")
        && let Some((key, after)) = rest.split_once(", set DuplicateKeyPolicy in Options if acceptable")
    {
        let again = format!("`{key}` is written twice");
        let after = after.replace(
            &format!("^ duplicate mapping key: {key}, set DuplicateKeyPolicy in Options if acceptable"),
            "^",
        );
        text = format!("{before}{again}{after}");
    }
    let placed = text.strip_prefix("error: line ").and_then(|rest| {
        let (line, rest) = rest.split_once(" column ")?;
        let (column, rest) = rest.split_once(": ")?;
        let (what, snippet) = rest.split_once('\n')?;
        let (_, snippet) = snippet.split_once('\n')?;
        Some(format!("{path}:{line}:{column}: {what}\n{}", snippet.replace(&format!("^ {what}"), "^")))
    });
    placed.unwrap_or_else(|| format!("{path}: {text}"))
}

/// The words of the parser for what it expects, and those that users have for it.
const TYPES: &[(&str, &str)] = &[
    ("f64", "a number"),
    ("u64", "a whole number"),
    ("u32", "a whole number"),
    ("string scalar", "a text"),
    ("a string", "a text"),
    ("mapping start", "keys with their values"),
    ("sequence start", "a list"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> YamlFault {
        fault("a.yaml", text, &serde_saphyr::from_str::<Value>(text).unwrap_err())
    }

    #[test]
    fn a_tab_that_indents_is_shown_where_it_is() {
        for (text, place) in [
            ("load:\n\trate: 100\n", "a.yaml:2:1"),
            ("load:\n  rate: 100\n\tcount: 50\nname: x\n", "a.yaml:3:1"),
            ("load:\n  schedule:\n  \tburst: 5\n", "a.yaml:3:3"),
            ("setups:\n  - name: low\n\t  producer: {acks: 1}\n", "a.yaml:3:1"),
        ] {
            let fault = of(text);
            assert!(fault.message.starts_with(&format!("{place}: a tab indents")), "{text:?} {fault:?}");
            assert!(fault.hint.unwrap().contains("spaces"), "{fault:?}");
        }
    }

    #[test]
    fn a_bracket_that_nobody_closes_is_shown_where_it_is_opened() {
        for (text, place) in [
            ("cluster: {bootstrap: \"b:1\"\nload:\n  rate: 5\n", "a.yaml:1:10: `{`"),
            ("setups:\n  - producer: {acks: 1\n  - producer: {acks: 0}\n", "a.yaml:2:15: `{`"),
            ("load:\n  rate: [1, 2\n  count: 5\n", "a.yaml:2:9: `[`"),
            ("load: {schedule: {burst: 5}\nname: x\n", "a.yaml:1:7: `{`"),
            ("load: {rate: 1", "a.yaml:1:7: `{`"),
        ] {
            let fault = of(text);
            assert!(fault.message.starts_with(&format!("{place} is not closed")), "{text:?} {fault:?}");
        }
    }

    #[test]
    fn the_lines_around_a_mark_stand_below_it_and_can_be_left_out() {
        let fault = of("a: 1\nb: 2\nc:\n\td: 3\ne: 4\n");
        let lines: Vec<&str> = fault.message.lines().skip(1).collect();
        assert_eq!(lines, ["  |", "2 | b: 2", "3 | c:", "4 | \td: 3", "  | ^", "5 | e: 4", "  |"]);
        assert!(
            fault.without_lines().starts_with("a.yaml:4:1: a tab") && !fault.without_lines().contains('|')
        );
    }

    #[test]
    fn every_other_mistake_is_told_in_the_parsers_words() {
        let fault = of("a: [1}\n");
        assert!(fault.message.starts_with("a.yaml:1:") && fault.hint.is_none(), "{fault:?}");
        let twice = of("a: 1\na: 2\n");
        assert_eq!(twice.without_lines(), "a.yaml:2:1: `a` is written twice");
    }
}
