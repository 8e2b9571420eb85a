//! A weighted distribution of sizes as the sizes of a mix.

use crate::yaml::Value;
use plumb_model::units::Bytes;

/// Sizes that stand for a range, at its first, third and fifth sixth: the mean is kept, and most of the spread.
const SIXTHS: [u64; 3] = [1, 3, 5];

/// `{"lo-hi": weight, ...}` as a scenario's mix, or what is wrong with it.
pub(super) fn mix(value: &Value) -> Result<String, String> {
    let Value::Map(ranges) = value else {
        return Err(format!("{value} is not a list of `lo-hi: weight`"));
    };
    let mut parts = Vec::new();
    for (key, weight) in ranges {
        let range = &key.name;
        let weight = match weight {
            Value::Scalar(text) => text.parse::<u32>().ok().and_then(|weight| weight.checked_mul(3)),
            _ => None,
        };
        let weight = weight.ok_or_else(|| format!("the weight of {range:?} is no whole number"))?;
        let (low, high) = ends(range).ok_or_else(|| format!("{range:?} is no range such as 256-1024"))?;
        if low == high {
            parts.push(part(low, weight));
        } else {
            parts.extend(SIXTHS.map(|sixth| part(low + (high - low) * sixth / 6, weight / 3)));
        }
    }
    if parts.is_empty() {
        Err("it has no range".to_owned())
    } else {
        Ok(format!("{{mix: [{}]}}", parts.join(", ")))
    }
}

fn part(bytes: u64, weight: u32) -> String {
    format!("{{size: {}, weight: {weight}}}", Bytes(bytes.max(1)))
}

/// Both ends of `lo-hi`, or of one size.
fn ends(range: &str) -> Option<(u64, u64)> {
    let bytes = |text: &str| text.trim().parse::<Bytes>().ok().map(|bytes| bytes.0);
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high) = (bytes(low)?, bytes(high)?);
    (low <= high && high > 0 && high < 1 << 40).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Key;

    fn key(name: &str) -> Key {
        Key { name: name.to_owned(), line: 1 }
    }

    #[test]
    fn a_range_keeps_its_mean_and_its_share() {
        let scalar = |text: &str| Value::Scalar(text.to_owned());
        let ranges = vec![(key("0-600"), scalar("2")), (key("1000-1000"), scalar("1"))];
        let expected = "{mix: [{size: 100B, weight: 2}, {size: 300B, weight: 2}, {size: 500B, weight: 2}, \
                        {size: 1KB, weight: 3}]}";
        assert_eq!(mix(&Value::Map(ranges)).unwrap(), expected);
    }

    #[test]
    fn what_is_no_range_or_weight_is_told() {
        let one = |range: &str, weight: &str| {
            mix(&Value::Map(vec![(key(range), Value::Scalar(weight.to_owned()))])).unwrap_err()
        };
        assert!(one("9-3", "1").contains("no range"));
        assert!(one("1-3", "heavy").contains("weight"));
        assert!(mix(&Value::Nothing).is_err());
    }
}
