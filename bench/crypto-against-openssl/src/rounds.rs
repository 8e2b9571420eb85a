//! Turns: in each round every size of every algorithm has a second of `openssl speed` and a second of Plumb, one right after the
//! other, in an order drawn anew. The round is the unit: ratios are of pairs.

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
    say(&format!("{}; {} rounds of a second each", library.describe().version, options.rounds))?;
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

/// Both once, right after each other: whoever comes second finds the processor as the first left it.
fn turn(row: &mut Row, library: &OpenSsl, mask: Option<&str>, ours_first: bool) -> Result<(), BenchError> {
    let words = words(library, row.algorithm, row.block_bytes);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if ours_first {
        row.plumb.push(ours::measure(&words, mask)?);
    }
    row.openssl.push(theirs::measure(row.algorithm, row.block_bytes, mask)?);
    if !ours_first {
        row.plumb.push(ours::measure(&words, mask)?);
    }
    Ok(())
}

/// How many times slower, over pairs.
fn slowdown(
    options: &Options,
    what: &str,
    measure: impl Fn(bool) -> Result<f64, BenchError>,
) -> Result<(), BenchError> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        with.push(measure(false)?);
        without.push(measure(true)?);
        tell(&format!("round {round}/{} done", options.rounds));
    }
    Ok(say(&table::slowdown(what, &with, &without))?)
}
