//! A user's PromQL, checked, and the questions by which a piece of time is asked for.

use super::error::PrometheusError;
use plumb_model::fleet::SampleKind;

/// A question of one piece of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// `query` or `query_range`.
    pub(super) endpoint: &'static str,
    /// Names and values of its form.
    pub(super) form: Vec<(&'static str, String)>,
}

/// A user's PromQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Query {
    /// A selector, of which there are raw samples.
    Raw(String),
    /// Any other expression, at steps.
    Steps { text: String, step_ms: i64 },
}

impl Query {
    pub(super) fn new(text: &str, kind: SampleKind, step_s: Option<f64>) -> Result<Self, PrometheusError> {
        let text = text.trim();
        if is_selector(text) {
            return Ok(Query::Raw(text.to_owned()));
        }
        if kind == SampleKind::Counter {
            return Err(PrometheusError::CounterExpression { query: text.to_owned() });
        }
        match step_s.map(|step_s| (step_s * 1000.0) as i64).filter(|step_ms| *step_ms > 0) {
            Some(step_ms) => Ok(Query::Steps { text: text.to_owned(), step_ms }),
            None => Err(PrometheusError::StepNeeded { query: text.to_owned() }),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Query::Raw(text) | Query::Steps { text, .. } => text,
        }
    }

    /// The longest piece of so many steps.
    pub(super) fn longest_ms(&self, steps: i64) -> i64 {
        match self {
            Query::Raw(_) => i64::MAX,
            Query::Steps { step_ms, .. } => step_ms.saturating_mul(steps),
        }
    }

    /// The end of a piece of about a length: steps are whole, and there is one at least.
    pub(super) fn end_ms(&self, from_ms: i64, length_ms: i64) -> i64 {
        match self {
            Query::Raw(_) => from_ms + length_ms,
            Query::Steps { step_ms, .. } => from_ms + (length_ms / step_ms).max(1) * step_ms,
        }
    }

    /// The begin of the next piece.
    pub(super) fn next_ms(&self, from_ms: i64, end_ms: i64) -> i64 {
        match self {
            Query::Raw(_) => end_ms,
            Query::Steps { step_ms, .. } => {
                from_ms + ((end_ms - from_ms + step_ms - 1) / step_ms).max(1) * step_ms
            }
        }
    }

    /// The question for `from_ms..end_ms`.
    pub(super) fn question(&self, from_ms: i64, end_ms: i64) -> Question {
        // The last millisecond of the piece; a range selector is open at its other end.
        let last_ms = end_ms - 1;
        match self {
            Query::Raw(text) => Question {
                endpoint: "query",
                form: vec![
                    ("query", format!("{text}[{}ms]", end_ms - from_ms)),
                    ("time", seconds(last_ms)),
                    // Thanos says then that a store is missing, and leaves out nothing.
                    ("partial_response", "false".to_owned()),
                ],
            },
            Query::Steps { text, step_ms } => Question {
                endpoint: "query_range",
                form: vec![
                    ("query", text.clone()),
                    ("start", seconds(from_ms)),
                    ("end", seconds(last_ms)),
                    ("step", seconds(*step_ms)),
                    ("partial_response", "false".to_owned()),
                ],
            },
        }
    }
}

/// Milliseconds as seconds with three digits.
fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000))
}

/// True if it is a name, matchers in braces, or both, and nothing else. A name may be followed by braces; the braces end the
/// text.
fn is_selector(text: &str) -> bool {
    let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let rest = text.trim_start_matches(named).trim_start();
    let name = &text[..text.len() - rest.len()];
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let Some(inside) = rest.strip_prefix('{') else { return rest.is_empty() && !name.is_empty() };
    // The brace that ends them is the first outside of a string.
    let (mut quote, mut escaped) = (None, false);
    for (place, letter) in inside.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"' | '\''), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '}') => return inside[place + 1..].trim().is_empty(),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_told_from_other_expressions() {
        let selectors = [
            "drops_total",
            "job:drops:sum",
            "drops_total{}",
            "drops_total {site=~\"a.*\"} ",
            "{__name__=\"drops_total\", path='}'}",
            "drops{path=\"\\\"}\"}",
            "{\"drops.total\", a=`\\`}",
        ];
        for text in selectors {
            assert!(is_selector(text), "{text}");
        }
        let others = [
            "",
            "rate(drops_total[5m])",
            "drops_total[5m]",
            "a + b",
            "drops{a=\"b\"} offset 5m",
            "drops{a=\"}",
            "sum by (instance) (drops)",
            "1",
            "a{} or b{}",
        ];
        for text in others {
            assert!(!is_selector(text), "{text}");
        }
    }

    #[test]
    fn a_piece_of_a_selector_is_its_raw_samples_up_to_the_last_millisecond() {
        let query = Query::new(" drops_total{a=\"b\"} ", SampleKind::Counter, None).unwrap();
        let question = query.question(1_000_000, 1_060_000);
        assert_eq!(question.endpoint, "query");
        assert_eq!(question.form[0].1, "drops_total{a=\"b\"}[60000ms]");
        assert_eq!(question.form[1].1, "1059.999");
        assert_eq!(query.next_ms(1_000_000, 1_060_000), 1_060_000);
    }

    #[test]
    fn pieces_of_an_expression_go_on_in_whole_steps_and_stay_below_the_limit() {
        let query = Query::new("rate(x[5m])", SampleKind::Level, Some(300.0)).unwrap();
        let end = query.end_ms(0, 1_000_000);
        assert_eq!((end, query.next_ms(0, end)), (900_000, 900_000));
        // The window may end within a step.
        assert_eq!(query.next_ms(900_000, 1_000_000), 1_200_000);
        assert_eq!(query.longest_ms(10_000), 3_000_000_000);
        let question = query.question(0, 900_000);
        assert_eq!(question.endpoint, "query_range");
        let form: Vec<&str> = question.form.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(form, ["rate(x[5m])", "0.000", "899.999", "300.000", "false"]);
    }

    #[test]
    fn an_expression_is_no_counter_and_needs_a_step() {
        let refused = Query::new("sum(x)", SampleKind::Counter, Some(60.0)).unwrap_err();
        assert!(matches!(refused, PrometheusError::CounterExpression { .. }));
        let refused = Query::new("sum(x)", SampleKind::Increments, None).unwrap_err();
        assert!(matches!(refused, PrometheusError::StepNeeded { .. }));
    }
}
