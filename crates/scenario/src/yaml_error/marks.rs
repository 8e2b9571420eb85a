//! The first mark in a YAML text that breaks it and is noticed elsewhere: a tab that indents a line, or a bracket that nobody closes.
//!
//! It reads quotes, comments, brackets and blocks of text, and no more of YAML: whether a text is broken at all the parser says.

/// A mark and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The line, from 1.
    pub(super) line: usize,
    /// The column, from 1.
    pub(super) column: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tab,
    Opens(char),
}

impl Mark {
    /// What is wrong there.
    pub(super) fn what(self) -> String {
        match self.kind {
            Kind::Tab => "a tab indents this line".to_owned(),
            Kind::Opens(bracket) => format!("`{bracket}` is not closed"),
        }
    }

    /// The next step.
    pub(super) fn hint(self) -> &'static str {
        match self.kind {
            Kind::Tab => "YAML is indented with spaces alone: put spaces in the tab's place",
            Kind::Opens('[') => "close it with `]` behind its last value",
            Kind::Opens(_) => "close it with `}` behind its last value",
        }
    }
}

/// The first of them in a text.
pub(super) fn of(text: &str) -> Option<Mark> {
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, line);
    }
    [reader.tab, reader.open.first().copied()].into_iter().flatten().min_by_key(|mark| mark.line)
}

/// What is open at a place of the text.
#[derive(Debug, Default)]
struct Reader {
    tab: Option<Mark>,
    /// The brackets that are not closed, the first one first.
    open: Vec<Mark>,
    quote: Option<char>,
    /// A block of text goes on in lines that are indented by more than this.
    text_above: Option<usize>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let content = line.trim_start();
        let indent = line.chars().take_while(|c| *c == ' ').count();
        if self.text_above.is_some_and(|above| content.is_empty() || indent > above) {
            return;
        }
        self.text_above = None;
        let in_block = self.open.is_empty() && self.quote.is_none();
        if in_block && !content.is_empty() && !content.starts_with('#') {
            let before = &line[..line.len() - content.len()];
            let tab = before.chars().position(|c| c == '\t');
            let mark = tab.map(|at| Mark { line: number, column: at + 1, kind: Kind::Tab });
            self.tab = self.tab.or(mark);
        }
        self.characters(number, line);
        let is_text = self.open.is_empty() && self.quote.is_none() && opens_text(content);
        self.text_above = is_text.then_some(indent);
    }

    fn characters(&mut self, number: usize, line: &str) {
        let characters: Vec<char> = line.chars().collect();
        // Only where a value begins are quotes and brackets more than letters.
        let mut begins = true;
        let mut at = 0;
        // Within brackets a bracket is always one, and a colon may stand before its value without a blank.
        while at < characters.len() {
            let (c, next) = (characters[at], characters.get(at + 1).copied());
            let within = !self.open.is_empty();
            let ends = next.is_none_or(char::is_whitespace);
            match (self.quote, c) {
                (Some('"'), '\\') => at += 1,
                (Some('\''), '\'') if next == Some('\'') => at += 1,
                (Some(quote), c) if c == quote => (self.quote, begins) = (None, false),
                (Some(_), _) => {}
                (None, '#') if at == 0 || characters[at - 1].is_whitespace() => return,
                (None, '"' | '\'') if begins => self.quote = Some(c),
                (None, '{' | '[') if begins || within => {
                    self.open.push(Mark { line: number, column: at + 1, kind: Kind::Opens(c) });
                }
                (None, '}' | ']') if within => {
                    self.open.pop();
                    begins = false;
                }
                (None, ',' | ':') if within => begins = true,
                (None, ':' | '-' | '?') if ends => begins = true,
                (None, c) if c.is_whitespace() => {}
                (None, _) => begins = false,
            }
            at += 1;
        }
    }
}

/// True of a line whose value is a block of text in the lines below it: `topicConfig: |`.
fn opens_text(line: &str) -> bool {
    let value = line.rsplit(' ').next().unwrap_or_default();
    let is_key = line.contains(": ") || line.starts_with("- ");
    is_key
        && value.starts_with(['|', '>'])
        && value[1..].chars().all(|c| c.is_ascii_digit() || "+-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_bracket_or_no_indentation_is_no_mark() {
        for text in [
            "a: \"{\"\nb: '['\n",
            "a: 'it''s {'\n",
            "a: \"\\\"{\"\n",
            "a: x{y[z\n",
            "# {\na: 1 # [\n",
            "a: |\n  { and [\n\n  \t{\nb: 1\n",
            "a: {b: [1, 2], c: \"}\"}\n",
            "a: {b: 1,\n\tc: 2}\n",
            "{\"a\":{\"b\":\"}{\"},\"c\":[1]}\n",
            "a: 1\n\t\n\t# a comment\nb: 2\n",
            "- {a: 1}\n- [b]\n- 'c'\n",
        ] {
            assert_eq!(of(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_first_bracket_that_is_open_at_the_end_is_the_one() {
        let mark = |text| of(text).map(|mark| (mark.line, mark.column, mark.what()));
        let brace = |line, column| Some((line, column, "`{` is not closed".to_owned()));
        assert_eq!(mark("a: {b: {c: 1}\nd: {e: 1}\n"), brace(1, 4));
        assert_eq!(mark("a: 1\nb: {c: 'it}'\n"), brace(2, 4));
        assert_eq!(mark("- {a: 1\n"), brace(1, 3));
        assert_eq!(mark("a: |\n  {\nb: {\n"), brace(3, 4));
    }
}
