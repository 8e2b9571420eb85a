//! Exact answers on a machine that others may use as well.

/// Attempts at a proof. Other programs only ever add time, and not the same every time: an instrument that is wrong is
/// wrong in each attempt.
const ATTEMPTS: usize = 5;

/// Whether a figure is what it must be, and by how much it is not.
pub(super) type Verdict = Result<(), String>;

/// Holds if one of a few attempts gives the exact answer.
pub(super) fn holds(attempt: impl Fn() -> Verdict) {
    let mut failures = Vec::new();
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(()) => return,
            Err(failure) => failures.push(failure),
        }
    }
    panic!("wrong in every attempt: {failures:#?}");
}

/// `got` is `expected`, give or take `tolerance`, all in milliseconds.
pub(super) fn within(what: &str, got: f64, expected: f64, tolerance: f64) -> Verdict {
    let off = (got - expected).abs();
    match off <= tolerance {
        true => Ok(()),
        false => Err(format!("{what}: {got:.3} ms, not {expected:.3} ms +/- {tolerance:.3} ms")),
    }
}

/// `got` is at most `most`, in milliseconds.
pub(super) fn at_most(what: &str, got: f64, most: f64) -> Verdict {
    match got <= most {
        true => Ok(()),
        false => Err(format!("{what}: {got:.3} ms, more than {most:.3} ms")),
    }
}
