//! Prometheus text format 0.0.4: a page of metric samples.
//!
//! Strict, as Prometheus itself is: one bad line makes the page bad, because a page that is half read is half wrong.
//! `HELP`, `TYPE` and time stamps are read over. Not for the OpenMetrics format; `http.rs` asks for this one.
//!
//! A page is read while it comes, and of its samples those are kept whose metric somebody knows: a broker with 10,000 topics serves
//! some hundred megabytes, of which a hundredth is looked at.

use crate::lines::Lines;
use std::ops::ControlFlow;
use thiserror::Error;

/// Longest line: names and labels of a sample have some hundred bytes (ours).
const LINE_LIMIT_BYTES: usize = 1 << 20;
/// Samples that are kept at most (ours): ten figures of each of 50,000 topics.
const KEPT_MOST: usize = 500_000;
/// Bytes of their lines (ours): as many of 128 bytes each. What is kept takes up to three times as much, and there are two pages.
const KEPT_BYTES_MOST: usize = 64 << 20;

/// What was expected of a page with more than [`KEPT_MOST`] and [`KEPT_BYTES_MOST`].
pub(crate) const KEPT_LIMIT: &str = "at most 500,000 samples of metrics that are known";
pub(crate) const KEPT_BYTES_LIMIT: &str = "at most 64 MiB of samples of metrics that are known";

/// A line that is no metric sample.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: expected {expected}, got {got:?}")]
pub struct PageError {
    /// Its number, from 1.
    pub line: usize,
    /// The text that should stand where `got` begins.
    pub expected: &'static str,
    /// The rest of the line from there, cut at 80 characters.
    pub got: String,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    /// Its metric.
    pub name: String,
    /// Its labels, in the page's order.
    pub labels: Vec<(String, String)>,
    /// Its value; NaN and infinities occur.
    pub value: f64,
}

/// The samples of a page that were kept, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricsPage {
    /// The samples.
    pub samples: Vec<MetricSample>,
    /// Samples that the page has in all.
    pub series: u64,
}

/// Reads a page while it comes.
#[derive(Debug)]
pub(crate) struct PageReader {
    lines: Lines,
    number: usize,
    keep: fn(&str) -> bool,
    page: MetricsPage,
    kept_bytes: usize,
    fault: Option<PageError>,
}

impl PageReader {
    /// Of a page whose samples with such a metric are kept.
    pub(crate) fn new(keep: fn(&str) -> bool) -> Self {
        let lines = Lines::new(LINE_LIMIT_BYTES);
        PageReader { lines, number: 0, keep, page: MetricsPage::default(), kept_bytes: 0, fault: None }
    }

    /// Takes what came; says when there is no use in more.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        lines.take(bytes, |line| self.take_line(line));
        self.lines = lines;
        if self.lines.too_long > 0 {
            self.refuse("a line of at most 1 MB", "");
        }
        if self.fault.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The page.
    ///
    /// # Errors
    /// The first line that is not as it should be.
    pub(crate) fn end(mut self) -> Result<MetricsPage, PageError> {
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(0));
        lines.finish(|line| self.take_line(line));
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.page),
        }
    }

    fn take_line(&mut self, line: &[u8]) {
        self.number += 1;
        let text = String::from_utf8_lossy(line);
        let line = text.trim();
        if self.fault.is_some() || line.is_empty() || line.starts_with('#') {
            return;
        }
        self.page.series += 1;
        match parse_sample(line, self.keep) {
            Err((expected, rest)) => self.refuse(expected, rest),
            Ok(Some(sample)) => {
                self.kept_bytes += line.len();
                self.page.samples.push(sample);
            }
            Ok(None) => {}
        }
        if self.page.samples.len() > KEPT_MOST {
            self.refuse(KEPT_LIMIT, "");
        }
        if self.kept_bytes > KEPT_BYTES_MOST {
            self.refuse(KEPT_BYTES_LIMIT, "");
        }
    }

    fn refuse(&mut self, expected: &'static str, rest: &str) {
        let got = rest.chars().take(80).collect();
        self.fault.get_or_insert(PageError { line: self.number.max(1), expected, got });
    }
}

impl MetricsPage {
    /// Reads a page, all of it.
    pub(crate) fn parse(text: &str) -> Result<Self, PageError> {
        let mut reader = PageReader::new(|_| true);
        let _ = reader.take(text.as_bytes());
        reader.end()
    }

    /// Value of the only sample with this name and at least these labels; none when there is none, or several.
    /// Upper and lower case are taken for one, because exporters can be told to print all in lower case.
    pub(crate) fn only(&self, name: &str, labels: &[Label<'_>]) -> Option<f64> {
        let has = |sample: &MetricSample, label: &Label<'_>| {
            sample.labels.iter().any(|(key, value)| same(key, label.name) && same(value, label.value))
        };
        let mut fitting = self
            .samples
            .iter()
            .filter(|sample| same(&sample.name, name) && labels.iter().all(|label| has(sample, label)));
        fitting.next().filter(|_| fitting.next().is_none()).map(|sample| sample.value)
    }
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// A label that a sample must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
}

/// Names and values.
pub(crate) type Labels = Vec<(String, String)>;

/// The expected text, and the one that stood there.
type Mismatch<'a> = (&'static str, &'a str);

/// `name{label="value",...} value [timestamp]`; none where its metric is not kept, though it must be as it should be all the same.
fn parse_sample(line: &str, keep: fn(&str) -> bool) -> Result<Option<MetricSample>, Mismatch<'_>> {
    let (name, rest) = split_name(line, "a metric name", |c| c == ':')?;
    let mut labels = keep(name).then(Vec::new);
    let rest = match rest.trim_start().strip_prefix('{') {
        Some(inside) => parse_labels(inside, labels.as_mut())?,
        None => rest,
    };
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().and_then(|word| word.parse().ok()).ok_or(("a number", rest))?;
    match (words.next().map(str::parse::<i64>), words.next()) {
        (None | Some(Ok(_)), None) => {
            Ok(labels.map(|labels| MetricSample { name: name.to_owned(), labels, value }))
        }
        _ => Err(("at most a time stamp after the value", rest)),
    }
}

/// The rest of the line after the closing brace; the labels before it are added to `kept`, where anybody wants them.
fn parse_labels<'a>(inside: &'a str, mut kept: Option<&mut Labels>) -> Result<&'a str, Mismatch<'a>> {
    let mut rest = inside.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let (key, after) = split_name(rest, "a label name or }", |_| false)?;
        let after = after.trim_start();
        let value = after.strip_prefix('=').map(str::trim_start).ok_or(("=", after))?;
        let quoted = value.strip_prefix('"').ok_or(("a label value in quotes", value))?;
        let (value, after) = split_quoted(quoted)?;
        if let Some(kept) = &mut kept {
            kept.push((key.to_owned(), unescaped(value)));
        }
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.starts_with('}') => after,
            None => return Err((", or }", after)),
        };
    }
}

/// Letters, digits (not first) and underscores, and what `also` allows.
fn split_name<'a>(
    text: &'a str,
    expected: &'static str,
    also: fn(char) -> bool,
) -> Result<(&'a str, &'a str), Mismatch<'a>> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || also(c))).unwrap_or(text.len());
    match text.starts_with(|c: char| c.is_ascii_digit()) || end == 0 {
        true => Err((expected, text)),
        false => Ok(text.split_at(end)),
    }
}

/// A label's value as it is written, up to the closing quote, and the rest after it.
fn split_quoted(text: &str) -> Result<(&str, &str), Mismatch<'_>> {
    // Nearly all values have nothing to escape, and one character is looked for many times faster than two.
    if let Some((value, rest)) = text.split_once('"').filter(|(value, _)| !value.contains('\\')) {
        return Ok((value, rest));
    }
    let mut from = 0;
    loop {
        let at = from + text[from..].find(['"', '\\']).ok_or(("a closing quote", text))?;
        if text[at..].starts_with('"') {
            return Ok((&text[..at], &text[at + 1..]));
        }
        match text[at + 1..].chars().next() {
            Some('\\' | '"' | 'n') => from = at + 2,
            _ => return Err(("an escaped backslash, quote or n", &text[at..])),
        }
    }
}

/// The value that was meant.
fn unescaped(written: &str) -> String {
    let mut value = String::with_capacity(written.len());
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                value.extend(characters.next().map(|escaped| if escaped == 'n' { '\n' } else { escaped }))
            }
            _ => value.push(character),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(line: &str) -> MetricSample {
        let mut samples = MetricsPage::parse(line).unwrap().samples;
        assert_eq!(samples.len(), 1, "{line}");
        samples.remove(0)
    }

    #[test]
    fn a_sample_has_a_name_labels_and_a_value() {
        let sample = one("a:b_1{x=\"1\", y = \"two\",} 2.5e3 1763719200000\n");
        assert_eq!(sample.name, "a:b_1");
        assert_eq!(sample.labels, [("x".to_owned(), "1".to_owned()), ("y".to_owned(), "two".to_owned())]);
        assert_eq!(sample.value, 2500.0);
    }

    #[test]
    fn escapes_braces_and_quotes_in_a_label_value_belong_to_it() {
        assert_eq!(one(r#"a{x="\\ \" \n } , é"} 1"#).labels[0].1, "\\ \" \n } , é");
    }

    #[test]
    fn comments_and_empty_lines_are_read_over_and_special_numbers_kept() {
        let page = MetricsPage::parse("# HELP a b\n# TYPE a gauge\n\na NaN\nb +Inf\nc{} -Inf\n").unwrap();
        assert!(page.samples[0].value.is_nan());
        assert_eq!(page.samples[1].value, f64::INFINITY);
        assert_eq!(page.samples[2].value, f64::NEG_INFINITY);
    }

    #[test]
    fn a_bad_line_is_named_with_what_was_expected() {
        let error = |text: &str| MetricsPage::parse(text).unwrap_err().to_string();
        assert_eq!(error("a 1\n<html>\n"), "line 2: expected a metric name, got \"<html>\"");
        assert_eq!(error("a{x=\"1} 1"), "line 1: expected a closing quote, got \"1} 1\"");
        assert_eq!(error("a{x=\"1\" y=\"2\"} 1"), "line 1: expected , or }, got \"y=\\\"2\\\"} 1\"");
        assert_eq!(error("a"), "line 1: expected a number, got \"\"");
        assert_eq!(error("a 1 2 3"), "line 1: expected at most a time stamp after the value, got \" 1 2 3\"");
    }

    #[test]
    fn several_fitting_samples_are_as_good_as_none() {
        let page = MetricsPage::parse("a{x=\"1\",b=\"1\"} 5\na{x=\"1\",b=\"2\"} 6\n").unwrap();
        assert_eq!(page.only("a", &[Label { name: "x", value: "1" }]), None);
        assert_eq!(
            page.only("A", &[Label { name: "x", value: "1" }, Label { name: "B", value: "2" }]),
            Some(6.0)
        );
        assert_eq!(page.only("a", &[Label { name: "x", value: "2" }]), None);
    }

    #[test]
    fn a_page_is_read_in_pieces_and_keeps_what_is_known_alone() {
        let mut reader = PageReader::new(|name| name == "known");
        for _ in 0..100 {
            for piece in ["# HELP known x\nkno", "wn{a=\"", "1\"} 1\nother{label=\"", "x\"} 2\n"] {
                assert!(reader.take(piece.as_bytes()).is_continue());
            }
        }
        let page = reader.end().unwrap();
        assert_eq!((page.samples.len(), page.series), (100, 200));
        assert!(page.samples.iter().all(|sample| sample.name == "known"));
    }

    #[test]
    fn a_page_that_is_not_as_it_should_be_is_read_no_further() {
        let mut reader = PageReader::new(|_| true);
        assert!(reader.take(b"a 1\n<html>\n").is_break());
        assert_eq!(reader.end().unwrap_err().line, 2);
        let mut reader = PageReader::new(|_| true);
        let long = vec![b'a'; LINE_LIMIT_BYTES + 1];
        assert!(reader.take(&long).is_break());
        assert!(reader.end().unwrap_err().to_string().contains("a line of at most 1 MB"));
        let mut reader = PageReader::new(|_| true);
        let many = "a 1\n".repeat(10_000);
        let ended = (0..60).map(|_| reader.take(many.as_bytes())).any(|ended| ended.is_break());
        assert!(ended && reader.end().is_err());
    }

    #[test]
    fn few_samples_that_are_long_are_as_much_as_many() {
        let mut reader = PageReader::new(|_| true);
        let long = format!("a{{x=\"{}\"}} 1\n", "y".repeat(1_000_000));
        let taken = (0..100).take_while(|_| reader.take(long.as_bytes()).is_continue()).count();
        assert_eq!(taken, 67, "64 MiB");
        assert!(reader.end().unwrap_err().to_string().contains("at most 64 MiB of samples"));
    }

    #[test]
    fn a_sample_that_is_not_kept_must_be_as_it_should_be_too() {
        for bad in ["a{x=\"1} 1", "a{x=\"\\q\"} 1", "a{x=\"1\" y=\"2\"} 1", "a{x=\"1\"}", "a{x=\"1\"} 1 2 3"]
        {
            let kept = MetricsPage::parse(bad).unwrap_err();
            let mut reader = PageReader::new(|_| false);
            let _ = reader.take(bad.as_bytes());
            assert_eq!(reader.end().unwrap_err(), kept);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_page_or_an_error(text in "(?s).{0,200}") {
            let _ = MetricsPage::parse(&text);
        }

        #[test]
        fn almost_pages_never_panic(lines in proptest::collection::vec("[a-z:]{0,3}\\{?([a-z]{0,2}=?\"?.{0,3}\\\\?\"?,?){0,3}\\}? ?[0-9.eEnNaAiIfF+-]{0,8}", 0..5)) {
            let _ = MetricsPage::parse(&lines.join("\n"));
        }

        #[test]
        fn what_is_written_is_read_again(name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,20}", label in "[a-zA-Z_][a-zA-Z0-9_]{0,9}", text in ".{0,20}", value: f64) {
            let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
            let sample = one(&format!("{name}{{{label}=\"{escaped}\"}} {value}"));
            prop_assert_eq!(sample.name, name);
            prop_assert_eq!(sample.labels, [(label, text)]);
            prop_assert!(sample.value.to_bits() == value.to_bits() || value.is_nan());
        }
    }
}
