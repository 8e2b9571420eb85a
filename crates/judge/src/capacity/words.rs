//! Quantities as the sentences of a sizing write them: decimal units, three digits.

/// Bytes: `240 KB`, `6.48 TB`.
pub fn bytes(value: f64) -> String {
    scaled(value, 1000.0, &[" B", " KB", " MB", " GB", " TB", " PB", " EB"])
}

/// Bytes per second.
pub fn rate(value: f64) -> String {
    format!("{}/s", bytes(value))
}

/// A number of things: `1.6 M`, `800`.
pub fn count(value: f64) -> String {
    scaled(value, 1000.0, &["", " k", " M", " G", " T"])
}

/// Three digits that matter.
pub fn three(value: f64) -> String {
    let whole_digits = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let decimals = usize::try_from((3 - whole_digits).clamp(0, 6)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut scaled = value;
    let mut unit = 0;
    // 999.6 would be written 1000.
    while scaled >= 999.5 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    format!("{}{}", three(scaled), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_keep_three_digits_and_take_the_unit_that_suits() {
        assert_eq!(bytes(240_000.0), "240 KB");
        assert_eq!(rate(384e9), "384 GB/s");
        assert_eq!(count(1.6e6), "1.6 M");
        assert_eq!(count(3_333_333.0), "3.33 M");
        assert_eq!(three(2.0833), "2.08");
        assert_eq!(bytes(999_700.0), "1 MB");
        assert_eq!(three(0.0), "0");
    }
}
