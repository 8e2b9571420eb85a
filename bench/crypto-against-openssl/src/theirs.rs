//! The output of `openssl speed -evp`.

use crate::BenchError;
use plumb_model::probe::crypto::Algorithm;
use std::process::Command;

/// Bytes per second of one algorithm at one size, over the processor time that it used in a second: what it counts unless told
/// otherwise. It reads that time in ticks of 10 ms, which is 1 % of a second, as often too much as too little.
pub(crate) fn measure(algorithm: Algorithm, block_bytes: u32, mask: Option<&str>) -> Result<f64, BenchError> {
    let name = if algorithm == Algorithm::Sha256 { "sha256" } else { algorithm.name() };
    let mut command = Command::new("openssl");
    command.args(["speed", "-seconds", "1", "-mr", "-evp", name, "-bytes", &block_bytes.to_string()]);
    command.env_remove("OPENSSL_ia32cap").envs(mask.map(|mask| ("OPENSSL_ia32cap", mask)));
    let output = command.output()?;
    figure(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| BenchError::NoFigure {
        program: "openssl speed".to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// `+F:22:AES-256-GCM:4048912384.00`: the last line of this kind, in bytes per second.
fn figure(printed: &str) -> Option<f64> {
    let line = printed.lines().rev().find(|line| line.starts_with("+F:"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_is_the_last_of_the_line_for_programs() {
        let printed = "+DT:AES-256-GCM:1:16384\n+R:247126:AES-256-GCM:1.000000\n+H:16384\n+F:22:AES-256-GCM:4048912384.00\n";
        assert_eq!(figure(printed), Some(4_048_912_384.0));
        assert_eq!(figure("+H:16384\n"), None);
    }
}
