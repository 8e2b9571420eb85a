//! Lines out of bytes as they come: a part of a line waits for its rest, and a line without end takes no memory.

/// Splits bytes into lines.
#[derive(Debug)]
pub(crate) struct Lines {
    part: Vec<u8>,
    limit_bytes: usize,
    /// The line that is being read is too long: its rest is passed over.
    passing_over: bool,
    /// Lines that were too long.
    pub(crate) too_long: u64,
}

impl Lines {
    /// Lines of at most so many bytes.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Lines { part: Vec::new(), limit_bytes, passing_over: false, too_long: 0 }
    }

    /// Takes the next bytes, and gives each line that they end, without its end.
    pub(crate) fn take(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.extend(piece);
            if pieces.peek().is_some() {
                self.end(&mut each);
            }
        }
    }

    /// Gives what is left: a last line that no line end follows.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.part.is_empty() {
            self.end(&mut each);
        }
    }

    /// Whether a line has begun and not ended.
    pub(crate) fn is_within_line(&self) -> bool {
        self.passing_over || !self.part.is_empty()
    }

    fn extend(&mut self, piece: &[u8]) {
        if self.passing_over {
            return;
        }
        if self.part.len() + piece.len() > self.limit_bytes {
            self.passing_over = true;
            self.too_long += 1;
            self.part = Vec::new();
            return;
        }
        self.part.extend_from_slice(piece);
    }

    fn end(&mut self, each: &mut impl FnMut(&[u8])) {
        if !self.passing_over {
            each(self.part.strip_suffix(b"\r").unwrap_or(&self.part));
        }
        self.passing_over = false;
        self.part.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&str], limit_bytes: usize) -> (Vec<String>, Lines) {
        let mut lines = Lines::new(limit_bytes);
        let mut seen = Vec::new();
        for piece in pieces {
            lines.take(piece.as_bytes(), |line| seen.push(String::from_utf8_lossy(line).into_owned()));
        }
        (seen, lines)
    }

    #[test]
    fn a_part_of_a_line_waits_for_its_rest() {
        let (seen, mut rest) = lines(&["on", "e\r\ntw", "o\n\nthr"], 10);
        assert_eq!(seen, ["one", "two", ""]);
        assert!(rest.is_within_line());
        let mut last = Vec::new();
        rest.finish(|line| last.extend_from_slice(line));
        assert_eq!(last, b"thr");
        assert!(!rest.is_within_line());
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_counted_and_holds_no_memory() {
        let (seen, rest) = lines(&["aaaaaaaaaaaa", "aaaaaaaaaaaa", "\nb\n"], 20);
        assert_eq!((seen, rest.too_long), (vec!["b".to_owned()], 1));
        assert!(rest.part.capacity() <= 20);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_come(text in "[ab\n]{0,40}", cut in 0_usize..40) {
            let cut = cut.min(text.len());
            let whole = lines(&[&text], 100).0;
            prop_assert_eq!(whole, lines(&[&text[..cut], &text[cut..]], 100).0);
        }
    }
}
