//! The look of everything that is printed: its colour, and how much of it there is.

use crate::args::ColorWord;
use std::ffi::OsString;

/// The look of everything that is printed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Looks {
    pub(crate) color: ColorWord,
    pub(crate) quiet: bool,
}

impl Looks {
    /// The colour that the command line asks for, before it is known to be understood: its own errors are to look as asked for,
    /// too.
    pub(crate) fn of_words(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut looks = Looks::default();
        let mut words = words.into_iter().filter_map(|word| word.into_string().ok());
        while let Some(word) = words.next() {
            let value = match word.as_str() {
                "--" => break,
                "-q" | "--quiet" => {
                    looks.quiet = true;
                    continue;
                }
                "--color" => words.next(),
                other => other.strip_prefix("--color=").map(str::to_owned),
            };
            let color = value.and_then(|value| clap::ValueEnum::from_str(&value, false).ok());
            looks.color = color.unwrap_or(looks.color);
        }
        looks
    }
}

impl ColorWord {
    /// True if a stream is coloured: by the flag, else NO_COLOR (no-color.org), CLICOLOR_FORCE and CLICOLOR
    /// (bixense.com/clicolors), else if it is a terminal that can.
    pub(super) fn applies(self, terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        match self {
            ColorWord::Always => true,
            ColorWord::Never => false,
            ColorWord::Auto if set("NO_COLOR").is_some() => false,
            ColorWord::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            ColorWord::Auto if set("CLICOLOR").is_some_and(|value| value == "0") => false,
            ColorWord::Auto => terminal && set("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applies(color: ColorWord, terminal: bool, variables: &[(&str, &str)]) -> bool {
        color.applies(terminal, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_flag_counts_before_the_environment_and_that_before_the_terminal() {
        use ColorWord::{Always, Auto, Never};
        assert!(applies(Auto, true, &[]) && !applies(Auto, false, &[]));
        assert!(!applies(Auto, true, &[("NO_COLOR", "1")]) && applies(Auto, true, &[("NO_COLOR", "")]));
        assert!(applies(Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!applies(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!applies(Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!applies(Auto, true, &[("CLICOLOR", "0")]) && applies(Auto, true, &[("CLICOLOR", "1")]));
        assert!(!applies(Auto, true, &[("TERM", "dumb")]));
        assert!(
            applies(Always, false, &[("NO_COLOR", "1")]) && !applies(Never, true, &[("CLICOLOR_FORCE", "1")])
        );
    }

    #[test]
    fn the_command_line_says_so_even_where_the_rest_of_it_is_wrong() {
        let of = |line: &str| Looks::of_words(line.split(' ').map(OsString::from));
        assert_eq!(of("plumb latncy --color=always").color, ColorWord::Always);
        assert_eq!(of("plumb --color never latncy").color, ColorWord::Never);
        assert_eq!(of("plumb --color purple").color, ColorWord::Auto);
        assert!(of("plumb report x -q").quiet && !of("plumb report -- --quiet").quiet);
    }
}
