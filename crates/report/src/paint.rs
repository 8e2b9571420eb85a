//! Colour, wrapping, and text from outside made safe for a terminal.

/// The tone of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warning,
    Bad,
}

/// True: paint in colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// The text in the tone's colour, or as it is.
    pub(crate) fn tone(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Strong => "1",
            Tone::Dim => "2",
            Tone::Good => "1;32",
            Tone::Warning => "1;33",
            Tone::Bad => "1;31",
        };
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// True if a character turns the direction of what follows, so that a name reads as another.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text from outside with its control characters written out: it must not move the cursor or colour the terminal, and what
/// tries to is seen. The ends of lines and tabs are blanks.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            c if c.is_control() || turns(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Text of several lines, each made safe by itself.
pub(crate) fn printable_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(printable)
}

/// Lines of at most `width` characters, broken at blanks. A word longer than that keeps its line to itself.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_no_word_is_cut() {
        assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("unbreakable x", 4), ["unbreakable", "x"]);
        assert_eq!(wrapped("", 4), Vec::<String>::new());
    }

    #[test]
    fn escape_sequences_from_outside_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\nc\u{9b}d"), "a\\u{1b}[31mb c\\u{9b}d");
    }

    #[test]
    fn colour_is_used_only_when_asked_for() {
        assert_eq!(Paint(false).tone("x", Tone::Bad), "x");
        assert_eq!(Paint(true).tone("x", Tone::Bad), "\x1b[1;31mx\x1b[0m");
    }
}
