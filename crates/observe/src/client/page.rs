//! Statistics at an address: which kind they are of, and their text as it comes.

use crate::http::{self, METRICS, Question, Trust};
use crate::prometheus::MetricsPage;
use crate::requests::shown;
use crate::{HttpError, ObserveError};
use std::ops::ControlFlow;
use std::time::Duration;

/// Bytes of an answer by which its kind is told.
const LOOKED_AT_BYTES: usize = 64 << 10;
/// Bytes of one answer: a stream of lines for an hour (ours).
const ANSWER_LIMIT_BYTES: u64 = 4 << 30;

/// What an address answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticsPage {
    /// Statistics of librdkafka: the latest of each client, or a stream of lines.
    Librdkafka,
    /// A page of metrics, as an exporter serves it.
    Metrics,
}

/// Looks at an answer's begin. An address that answers and then is silent within `timeout` is a stream.
///
/// # Errors
/// When it does not answer.
pub fn statistics_at(url: &str, timeout: Duration) -> Result<StatisticsPage, ObserveError> {
    let mut begin = None;
    let question = question(url, timeout);
    let ended = http::read(&question, &mut |bytes| {
        let begin: &mut Vec<u8> = begin.get_or_insert_default();
        begin.extend_from_slice(bytes);
        match begin.len() >= LOOKED_AT_BYTES || first_line(begin).is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    match (ended, begin) {
        (Ok(()), begin) => Ok(kind_of(&begin.unwrap_or_default())),
        (Err(HttpError::TimedOut { .. }), Some(begin)) => Ok(kind_of(&begin)),
        (Err(source), _) => Err(ObserveError::Fetch { url: shown(url), source }),
    }
}

/// Hands on an answer's text as it comes, until it ends, or `each` wants no more.
///
/// # Errors
/// When it does not answer, or not whole within `timeout`.
pub fn statistics_of(
    url: &str,
    timeout: Duration,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), ObserveError> {
    let question = question(url, timeout);
    http::read(&question, each).map_err(|source| ObserveError::Fetch { url: shown(url), source })
}

fn question(url: &str, timeout: Duration) -> Question<'_> {
    let trust = Trust::Authorities;
    Question { url, login: None, trust, accept: METRICS, timeout, limit_bytes: ANSWER_LIMIT_BYTES }
}

/// The first line that is not empty, when it is whole.
fn first_line(text: &[u8]) -> Option<&[u8]> {
    let begin = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let end = text[begin..].iter().position(|byte| *byte == b'\n')?;
    Some(&text[begin..begin + end])
}

/// By the first line: a comment or a sample of metrics, or anything else.
fn kind_of(begin: &[u8]) -> StatisticsPage {
    let line = first_line(begin).unwrap_or(begin).trim_ascii();
    let text = String::from_utf8_lossy(line);
    let is_metrics = !line.is_empty() && MetricsPage::parse(&text).is_ok();
    if is_metrics { StatisticsPage::Metrics } else { StatisticsPage::Librdkafka }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_answer_is_told_by_its_first_line() {
        for metrics in ["# HELP a b\na 1\n", "\na{b=\"c\"} 1\nd 2\n"] {
            assert_eq!(kind_of(metrics.as_bytes()), StatisticsPage::Metrics, "{metrics}");
        }
        for statistics in ["", "{\"name\": 1}", "[\n{", "INFO stats: {\"name\": 1}\n", "{\n"] {
            assert_eq!(kind_of(statistics.as_bytes()), StatisticsPage::Librdkafka, "{statistics}");
        }
    }
}
