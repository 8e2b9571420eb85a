//! Where the time of a load begins to rise, and which cache the kernel states at about that size.

use plumb_model::probe::{Cache, Knee};

/// A step of half an octave that rises by more than this belongs to a rise (ours: well above the noise of a median).
const STEP_MIN: f64 = 1.12;
/// A rise of less than this in all is none (ours: caches lie a factor of 2 and more apart).
const RISE_MIN: f64 = 1.4;
/// A cache belongs to a rise that begins within this factor of its size: at half of it where it is shared with others.
const NEAR: f64 = 2.0;

/// The rises of a curve of (bytes, nanoseconds), ascending by size.
pub fn knees(points: &[(u64, f64)], caches: &[Cache]) -> Vec<Knee> {
    let mut knees = Vec::new();
    let mut begin = 0;
    for at in 1..=points.len() {
        let rises = at < points.len() && points[at].1 > points[at - 1].1 * STEP_MIN;
        if rises {
            continue;
        }
        let (first, last) = (points[begin], points[at - 1]);
        if last.1 > first.1 * RISE_MIN {
            knees.push(Knee {
                until_bytes: first.0,
                over_bytes: last.0,
                from_ns: first.1,
                to_ns: last.1,
                cache: caches_at((first.0, last.0), caches),
            });
        }
        begin = at;
    }
    knees
}

/// The caches that end within the rise, else the one nearest to its beginning.
fn caches_at((until, over): (u64, u64), caches: &[Cache]) -> Option<String> {
    let within: Vec<&str> = caches
        .iter()
        .filter(|cache| (until..=over).contains(&cache.bytes))
        .map(|cache| cache.name.as_str())
        .collect();
    if !within.is_empty() {
        return Some(within.join(" and "));
    }
    let apart = |cache: &Cache| (cache.bytes as f64 / until as f64).ln().abs();
    let near = caches.iter().filter(|cache| apart(cache) <= NEAR.ln() + 1e-9);
    near.min_by(|a, b| apart(a).total_cmp(&apart(b))).map(|cache| cache.name.clone())
}

#[cfg(test)]
mod tests {
    use super::super::working_sets;
    use super::*;

    fn cache(name: &str, bytes: u64) -> Cache {
        Cache { name: name.to_owned(), bytes, instances: 1, cpus_each: 1 }
    }

    fn curve(time_ns: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
        working_sets(256 << 20).into_iter().map(|size| (size, time_ns(size))).collect()
    }

    #[test]
    fn a_machine_of_three_caches_has_its_three_knees_where_they_are() {
        let time = |size: u64| match size {
            size if size <= 32 << 10 => 1.2,
            size if size <= 1 << 20 => 4.0,
            size if size <= 24 << 20 => 15.0,
            _ => 100.0,
        };
        let caches = [cache("L1d", 32 << 10), cache("L2", 1 << 20), cache("L3", 32 << 20)];
        let found: Vec<_> = knees(&curve(time), &caches)
            .into_iter()
            .map(|knee| (knee.until_bytes >> 10, knee.over_bytes >> 10, knee.cache.unwrap()))
            .collect();
        let expected = [(32, 48, "L1d"), (1 << 10, 1536, "L2"), (24 << 10, 32 << 10, "L3")]
            .map(|(a, b, name)| (a, b, name.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rise_far_from_every_cache_has_none() {
        let time = |size: u64| if size <= 128 << 10 { 2.0 } else { 5.0 };
        let found = knees(&curve(time), &[cache("L1d", 32 << 10), cache("L2", 2 << 20)]);
        assert_eq!((found.len(), found[0].cache.clone()), (1, None));
    }

    #[test]
    fn a_long_rise_over_the_end_of_a_cache_names_it() {
        let time = |size: u64| (size as f64 / (256 << 10) as f64).clamp(1.0, 16.0);
        let found = knees(&curve(time), &[cache("L1d", 32 << 10), cache("L2", 1 << 20)]);
        assert_eq!((found.len(), found[0].cache.as_deref()), (1, Some("L2")));
    }

    #[test]
    fn a_flat_or_creeping_curve_has_no_knee() {
        assert_eq!(knees(&curve(|_| 3.0), &[]), []);
        assert_eq!(knees(&curve(|size| 3.0 + (size as f64).ln() / 10.0), &[]), []);
        assert_eq!(knees(&[], &[]), []);
    }
}
