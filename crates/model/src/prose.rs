//! Words around figures: lists, names and sentences as people write them. Figures themselves are [`crate::figure`]'s.

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A setup's name inside a sentence: in quotation marks, because users write commas and blanks in names.
pub fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The text as a sentence: a capital first and a full stop last.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if text.ends_with('.') || text.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sentences_read_as_prose() {
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(sentence("it is so"), "It is so.");
    }
}
