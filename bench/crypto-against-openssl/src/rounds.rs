//! Rounds: in each, every size of every algorithm has two seconds of `openssl speed` and two of Plumb: ours, theirs, theirs, ours,
//! or the other way round as drawn, each in a process of its own, because where a process lies in memory alone makes it faster or
//! slower at small sizes. What drifts evenly over the four falls on both alike. The round is the unit: ratios are of rounds.

use crate::arguments::Options;
use crate::{BenchError, ours, table, theirs};
use plumb_bench_frame::{say, tell};
use plumb_model::probe::crypto::{Algorithm, Form};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::{Engine, Work};
use plumb_stats::random::Random;

/// AES and carry-less multiplication away, with their wide forms (OPENSSL_ia32cap(3)): a host that hides aes and pclmulqdq. Both
/// halves have to be there, or OpenSSL takes the second for zero and drops AVX2 and SHA too.
const MASK: &str = "~0x200000200000000:~0x60000000000";

pub(crate) fn run(options: &Options) -> Result<(), BenchError> {
    let library = OpenSsl::load()?;
    say(&format!(
        "{}; {} rounds, two runs of a second each in a round",
        library.describe().version,
        options.rounds
    ))?;
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    if wanted("plain") {
        say("\nas the host is")?;
        beside(options, &library, &options.algorithms, None)?;
    }
    if wanted("masked") {
        say(&format!("\nOPENSSL_ia32cap={MASK}"))?;
        beside(options, &library, &[Algorithm::Aes256Gcm], Some(MASK))?;
        slowdown(options, "AES-256-GCM at 16384 bytes, OpenSSL, without the mask / with it", |masked| {
            let words = words(&library, Algorithm::Aes256Gcm, 16384);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            ours::measure(&words, masked.then_some(MASK))
        })?;
    }
    if wanted("java") {
        slowdown(options, "\nAES-256-GCM at 16384 bytes, Java, with UseAES / without it", |without| {
            let words: &[&str] = if without { &["--ours-java", "-XX:-UseAES"] } else { &["--ours-java"] };
            ours::measure(words, None)
        })?;
    }
    Ok(())
}

/// The form in which this version's openssl speed measures.
fn form(library: &OpenSsl, of: Algorithm) -> Form {
    let same =
        |work: &Work| matches!(work, Work::Bytes { algorithm, form: Form::Stream, .. } if *algorithm == of);
    if library.work().iter().any(same) { Form::Stream } else { Form::Message }
}

fn words(library: &OpenSsl, algorithm: Algorithm, block_bytes: u32) -> [String; 4] {
    let form = match form(library, algorithm) {
        Form::Stream => "stream",
        Form::Message => "message",
    };
    ["--ours".to_owned(), algorithm.name().to_owned(), block_bytes.to_string(), form.to_owned()]
}

/// One size of one algorithm, and what both came to in each round, in bytes per second.
struct Row {
    algorithm: Algorithm,
    block_bytes: u32,
    plumb: Vec<f64>,
    openssl: Vec<f64>,
}

fn beside(
    options: &Options,
    library: &OpenSsl,
    algorithms: &[Algorithm],
    mask: Option<&str>,
) -> Result<(), BenchError> {
    let row = |algorithm: &Algorithm, block_bytes: &u32| Row {
        algorithm: *algorithm,
        block_bytes: *block_bytes,
        plumb: Vec::new(),
        openssl: Vec::new(),
    };
    let mut rows: Vec<Row> = algorithms
        .iter()
        .flat_map(|algorithm| options.blocks_bytes.iter().map(move |bytes| row(algorithm, bytes)))
        .collect();
    let mut random = Random::new(options.seed);
    for round in 1..=options.rounds {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        random.shuffle(&mut order);
        for row in order {
            turn(&mut rows[row], library, mask, random.below(2) == 0)?;
        }
        tell(&format!("round {round}/{} done", options.rounds));
    }
    say(&table::header())?;
    for row in &rows {
        say(&table::row(row.algorithm, row.block_bytes, &row.plumb, &row.openssl))?;
    }
    Ok(())
}

/// Four runs, the same program first and last.
fn turn(row: &mut Row, library: &OpenSsl, mask: Option<&str>, ours_first: bool) -> Result<(), BenchError> {
    let words = words(library, row.algorithm, row.block_bytes);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ours = || ours::measure(&words, mask);
    let theirs = || theirs::measure(row.algorithm, row.block_bytes, mask);
    let (plumb, openssl) = balanced(ours_first, ours, theirs)?;
    row.plumb.push(plumb);
    row.openssl.push(openssl);
    Ok(())
}

/// Means of two runs of each.
fn balanced(
    one_first: bool,
    one: impl Fn() -> Result<f64, BenchError>,
    other: impl Fn() -> Result<f64, BenchError>,
) -> Result<(f64, f64), BenchError> {
    let (mut sums, turns) = ([0.0; 2], [one_first, !one_first, !one_first, one_first]);
    for turn in turns {
        if turn {
            sums[0] += one()?;
        } else {
            sums[1] += other()?;
        }
    }
    Ok((sums[0] / 2.0, sums[1] / 2.0))
}

/// The factor by which it is slower, over rounds.
fn slowdown(
    options: &Options,
    what: &str,
    measure: impl Fn(bool) -> Result<f64, BenchError>,
) -> Result<(), BenchError> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        let (fast, slow) = balanced(round % 2 == 0, || measure(false), || measure(true))?;
        with.push(fast);
        without.push(slow);
        tell(&format!("round {round}/{} done", options.rounds));
    }
    Ok(say(&table::slowdown(what, &with, &without))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn each_runs_twice_the_same_first_and_last_and_an_even_drift_falls_on_both_alike() {
        for one_first in [true, false] {
            let order = RefCell::new(String::new());
            let run = |name: char| {
                order.borrow_mut().push(name);
                Ok(order.borrow().len() as f64)
            };
            let (one, other) = balanced(one_first, || run('a'), || run('b')).unwrap();
            assert_eq!(order.into_inner(), if one_first { "abba" } else { "baab" });
            assert_eq!(one, other);
        }
    }
}
