//! A page of the documentation as terminal text: headings told apart, prose wrapped, what is to be typed left as it is.
//!
//! It reads the part of Markdown that our pages use: headings, paragraphs, lists, indented and fenced blocks, tables, code, strong
//! words and links. Anything else is prose.

use crate::paint::{Paint, Tone, wrapped};
use crate::text::TextStyle;

/// Widest prose: longer lines are hard to read on a wide terminal (ours).
const PROSE_WIDTH: usize = 100;
/// Narrowest: on less, every word has its line.
const PROSE_WIDTH_MIN: usize = 20;

/// The whole text.
pub fn render(page: &str, style: TextStyle) -> String {
    let paint = Paint(style.color);
    let width = style.width.clamp(PROSE_WIDTH_MIN, PROSE_WIDTH);
    let mut text = String::new();
    for block in blocks(page) {
        for line in block.lines(width, paint) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// A run of lines that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Empty,
    Heading(String),
    /// Shown as it stands: code, output, a table.
    AsIs(String),
    /// Prose after its indentation and mark (`- `, `1. `, or nothing).
    Prose {
        mark: String,
        /// With the marks of code and strong words, which take room even where they are not printed.
        words: String,
    },
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if trimmed.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let begins = match blocks.last() {
            Some(Block::Prose { .. }) => None,
            _ => Some(()),
        };
        if fenced {
            blocks.push(Block::AsIs(format!("    {line}")));
        } else if trimmed.is_empty() {
            blocks.push(Block::Empty);
        } else if let Some(heading) = trimmed.strip_prefix('#').filter(|_| indent == 0) {
            blocks.push(Block::Heading(heading.trim_start_matches('#').trim().to_owned()));
        } else if trimmed.starts_with('|') || (begins.is_some() && indent >= 4) {
            blocks.push(Block::AsIs(line.to_owned()));
        } else if let Some(mark) = list_mark(trimmed) {
            blocks.push(Block::Prose {
                mark: format!("{}{mark}", " ".repeat(indent)),
                words: trimmed[mark.len()..].to_owned(),
            });
        } else if let Some(Block::Prose { words, .. }) = blocks.last_mut() {
            words.push(' ');
            words.push_str(trimmed);
        } else {
            blocks.push(Block::Prose { mark: " ".repeat(indent), words: trimmed.to_owned() });
        }
    }
    blocks
}

/// `- ` or `12. ` at the beginning of an item.
fn list_mark(line: &str) -> Option<&str> {
    if line.starts_with("- ") {
        return Some(&line[..2]);
    }
    let digits = line.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0)?;
    line[digits..].starts_with(". ").then(|| &line[..digits + 2])
}

impl Block {
    fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        match self {
            Block::Empty => vec![String::new()],
            Block::Heading(words) => vec![paint.tone(&plain_links(words).replace('`', ""), Tone::Strong)],
            Block::AsIs(line) => vec![line.clone()],
            Block::Prose { mark, words } => {
                let room = width.saturating_sub(mark.len()).max(1);
                let words = plain_links(words);
                let mut spans = Spans { paint, code: false, strong: false };
                let lines = wrapped(&words, room).into_iter().enumerate();
                lines
                    .map(|(index, line)| {
                        let begin = if index == 0 { mark.clone() } else { " ".repeat(mark.len()) };
                        format!("{begin}{}", spans.painted(&line))
                    })
                    .collect()
            }
        }
    }
}

/// `[words](address)` as its words, with an address of the web behind them.
fn plain_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(Link { before, words, address, after }) = link(rest) {
        plain.push_str(before);
        plain.push_str(words);
        if address.starts_with("http") {
            plain.push_str(&format!(" ({address})"));
        }
        rest = after;
    }
    plain + rest
}

/// The first link of a text.
struct Link<'a> {
    before: &'a str,
    words: &'a str,
    address: &'a str,
    after: &'a str,
}

fn link(text: &str) -> Option<Link<'_>> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some(Link {
        before: &text[..start],
        words: &text[start + 1..middle],
        address: &text[middle + 2..end],
        after: &text[end + 1..],
    })
}

/// The parts of a paragraph that are code or strong, over the ends of its lines. Without colour code keeps its marks.
struct Spans {
    paint: Paint,
    code: bool,
    strong: bool,
}

impl Spans {
    fn painted(&mut self, line: &str) -> String {
        let mut painted = String::new();
        for (index, code) in line.split('`').enumerate() {
            if index > 0 {
                self.code = !self.code;
                if !self.paint.0 {
                    painted.push('`');
                }
            }
            if self.code {
                painted.push_str(&self.paint.tone(code, Tone::Good));
                continue;
            }
            for (index, words) in code.split("**").enumerate() {
                if index > 0 {
                    self.strong = !self.strong;
                }
                let tone = if self.strong { Tone::Strong } else { Tone::Plain };
                painted.push_str(&self.paint.tone(words, tone));
            }
        }
        painted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A name

`a-name`

## What to do

Prose that is **strong** and that has `code in it`, with a [link](other.md)
over two lines.

- one item that is
  continued
- two

    $ plumb explain a-name --a-line-that-is-longer-than-the-width

| a | b |
";

    #[test]
    fn prose_is_wrapped_and_what_is_to_be_typed_is_not() {
        let text = render(PAGE, TextStyle { color: false, width: 30 });
        let expected = "A name

`a-name`

What to do

Prose that is strong and
that has `code in it`, with a
link over two lines.

- one item that is continued
- two

    $ plumb explain a-name --a-line-that-is-longer-than-the-width

| a | b |
";
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_tells_headings_code_and_strong_words() {
        let text = render("# H\n\nan **all strong** `bit of code` x\n", TextStyle { color: true, width: 20 });
        assert_eq!(
            text,
            "\u{1b}[1mH\u{1b}[0m\n\nan \u{1b}[1mall strong\u{1b}[0m\n\u{1b}[1;32mbit of code\u{1b}[0m x\n"
        );
    }
}
