//! The command line of the benches: what they have in common.

use crate::error::BenchError;
use crate::job::Acks;
use std::path::PathBuf;
use std::str::FromStr;

/// Values that are compared, in bytes.
const SIZES_BYTES: &[usize] = &[100, 1_000, 10_000, 240_000];

/// The text for `--help`, below what the bench says of itself.
pub const HELP: &str = "
  --rounds N     every tool runs once a round, in an order drawn anew [default: 5]
  --seconds N    each run shall last about so long [default: 4]
  --quick        3 rounds of 1.5 s runs, to see that everything works
  --seed N       decides every order [default: 1]
  --sizes LIST   bytes of each value, of 100,1000,10000,240000 [default: all]
  --tools LIST   only tools whose name holds one of these words
  --clients N    producers or consumers of plumb [default: 1]
  --plumb FILE   a program to measure; built from this workspace without it
  --json FILE    also write everything there, every run included";

/// The tools to compare, and the length of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The number of runs of every tool.
    pub rounds: usize,
    /// The length of each run.
    pub seconds: f64,
    /// The length of the broker's warm-up.
    pub warm_up_s: f64,
    /// Decides every order.
    pub seed: u64,
    /// Bytes of each value.
    pub sizes_bytes: Vec<usize>,
    /// Of the producers; only where the bench takes them.
    pub acks: Vec<Acks>,
    /// Words in the names of the tools that take part; empty for all.
    pub tools: Vec<String>,
    /// Plumb's producers or consumers.
    pub clients: u32,
    /// A program to measure.
    pub plumb: Option<PathBuf>,
    /// The file for the JSON.
    pub json: Option<PathBuf>,
}

/// The work of the process.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// Say what there is.
    Help,
    /// Compare.
    Compare(Options),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rounds: 5,
            seconds: 4.0,
            // A cold broker was seen to cost three to four times the CPU in its first seconds.
            warm_up_s: 18.0,
            seed: 1,
            sizes_bytes: SIZES_BYTES.to_vec(),
            acks: vec![Acks::One, Acks::All],
            tools: Vec::new(),
            clients: 1,
            plumb: None,
            json: None,
        }
    }
}

impl Options {
    /// True if a tool of this name takes part.
    pub fn wants(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|word| tool.contains(word.as_str()))
    }
}

/// Reads the words after the program's name. `--acks` is there only `with_acks`.
///
/// # Errors
/// [`BenchError::Argument`] with what could have stood there.
pub fn parse(words: &[String], with_acks: bool) -> Result<Wish, BenchError> {
    let mut options = Options::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| bad("a value after it", word));
        match word.as_str() {
            "--rounds" => options.rounds = number(value()?)?,
            "--seconds" => options.seconds = number(value()?)?,
            "--quick" => (options.rounds, options.seconds, options.warm_up_s) = (3, 1.5, 6.0),
            "--seed" => options.seed = number(value()?)?,
            "--sizes" => options.sizes_bytes = list(value()?, size)?,
            "--acks" if with_acks => options.acks = list(value()?, acks)?,
            "--tools" => options.tools = list(value()?, |word| Ok(word.to_owned()))?,
            "--clients" => options.clients = number(value()?)?,
            "--plumb" => options.plumb = Some(value()?.into()),
            "--json" => options.json = Some(value()?.into()),
            "--help" | "-h" => return Ok(Wish::Help),
            _ => return Err(bad("one of the flags that --help lists", word)),
        }
    }
    if options.rounds == 0 || options.clients == 0 || !(0.1..=600.0).contains(&options.seconds) {
        return Err(bad("rounds and clients above 0, and 0.1 to 600 seconds", &words.join(" ")));
    }
    Ok(Wish::Compare(options))
}

fn list<T>(text: &str, item: impl Fn(&str) -> Result<T, BenchError>) -> Result<Vec<T>, BenchError> {
    text.split(',').map(item).collect()
}

fn size(word: &str) -> Result<usize, BenchError> {
    let size = number(word)?;
    if SIZES_BYTES.contains(&size) { Ok(size) } else { Err(bad("100, 1000, 10000 or 240000", word)) }
}

fn acks(word: &str) -> Result<Acks, BenchError> {
    match word {
        "1" => Ok(Acks::One),
        "all" => Ok(Acks::All),
        _ => Err(bad("1 or all", word)),
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, BenchError> {
    word.parse().map_err(|_| bad("a number", word))
}

fn bad(expected: &str, got: &str) -> BenchError {
    BenchError::Argument { expected: expected.to_owned(), got: got.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wish, BenchError> {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), true)
    }

    #[test]
    fn flags_after_quick_still_count() {
        let Wish::Compare(options) = parsed("--quick --rounds 4 --sizes 100,240000 --acks all").unwrap()
        else {
            panic!()
        };
        assert_eq!((options.rounds, options.seconds), (4, 1.5));
        assert_eq!((options.sizes_bytes, options.acks), (vec![100, 240_000], vec![Acks::All]));
    }

    #[test]
    fn a_word_that_is_not_understood_is_named_with_what_could_stand_there() {
        let lines =
            [("--sizes 50", "50"), ("--acks 2", "2"), ("--rounds many", "many"), ("--rounds", "--rounds")];
        for (line, word) in lines.into_iter().chain([("--speed 3", "--speed"), ("--rounds 0", "--rounds 0")])
        {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn acks_are_no_flag_where_nothing_is_produced() {
        assert!(parse(&["--acks".to_owned(), "all".to_owned()], false).is_err());
    }

    #[test]
    fn tools_are_chosen_by_a_part_of_their_name() {
        let options = Options { tools: vec!["plumb".into()], ..Options::default() };
        assert!(options.wants("plumb wire") && !options.wants("ProducerPerformance"));
        assert!(Options::default().wants("anything"));
    }
}
