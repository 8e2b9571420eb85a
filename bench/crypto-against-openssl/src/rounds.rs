//! Turns: in each round every size of every algorithm has a second of `openssl speed` and a second of Plumb, one right after the
//! other, who goes first taking turns. The round is the unit: ratios are of pairs.

use crate::arguments::Options;
use crate::{BenchError, ours, say, theirs};
use plumb_model::probe::Figure;
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, Form};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::{Engine, Work};
use plumb_stats::figure::{figure, ratio};

/// AES and carry-less multiplication away, with their wide forms (OPENSSL_ia32cap(3)): a host that hides aes and pclmulqdq. Both
/// halves have to be there, or OpenSSL takes the second for zero and drops AVX2 and SHA too.
const MASK: &str = "~0x200000200000000:~0x60000000000";
/// Within this the two count as one (the goal of this bench).
const GOAL: f64 = 0.02;
const LEVEL: f64 = 0.95;

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

fn beside(
    options: &Options,
    library: &OpenSsl,
    algorithms: &[Algorithm],
    mask: Option<&str>,
) -> Result<(), BenchError> {
    say(&format!(
        "{:<18} {:>6} {:>12} {:>12} {:>7}  {:<14} within 2 %",
        "", "bytes", "plumb MB/s", "openssl", "ratio", "95 %"
    ))?;
    for algorithm in algorithms {
        for block_bytes in BLOCKS_BYTES {
            let words = words(library, *algorithm, block_bytes);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (mut plumb, mut openssl) = (Vec::new(), Vec::new());
            for round in 0..options.rounds {
                let their_turn = || theirs::measure(*algorithm, block_bytes, mask);
                // Whoever comes second finds the processor as the first left it.
                if round % 2 == 0 {
                    openssl.push(their_turn()?);
                    plumb.push(ours::measure(&words, mask)?);
                } else {
                    plumb.push(ours::measure(&words, mask)?);
                    openssl.push(their_turn()?);
                }
            }
            let Some(paired) = ratio(&plumb, &openssl, LEVEL) else { continue };
            let within = if (paired.median - 1.0).abs() <= GOAL { "yes" } else { "NO" };
            say(&format!(
                "{:<18} {block_bytes:>6} {:>12} {:>12} {:>7.3}  {:<14} {within}",
                algorithm.title(),
                megabytes(&plumb),
                megabytes(&openssl),
                paired.median,
                span(&paired),
            ))?;
        }
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
    for _ in 0..options.rounds {
        with.push(measure(false)?);
        without.push(measure(true)?);
    }
    let Some(times) = ratio(&with, &without, LEVEL) else { return Ok(()) };
    say(&format!(
        "{what}: {} / {} MB/s = {:.1} times ({})",
        megabytes(&with).trim(),
        megabytes(&without).trim(),
        times.median,
        span(&times)
    ))
}

fn megabytes(rates: &[f64]) -> String {
    figure(rates, LEVEL).map_or_else(|| "-".to_owned(), |figure| format!("{:.1}", figure.median / 1e6))
}

fn span(figure: &Figure) -> String {
    let interval = figure.interval.map(|interval| format!("{:.3}..{:.3}", interval.low, interval.high));
    interval.unwrap_or_else(|| "-".to_owned())
}
