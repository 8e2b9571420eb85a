//! The working-set sizes at which the time of a load begins to rise, and the cache of about that size that the kernel states.

use plumb_model::probe::{Cache, Knee};

/// A step of half an octave that rises by more than this belongs to a rise (ours: well above the noise of a median).
const STEP_MIN: f64 = 1.12;
/// A rise of less than this in all is none (ours: caches lie a factor of 2 and more apart).
const RISE_MIN: f64 = 1.4;
/// A cache belongs to a rise that is half done, by ratio, within this factor of its size: of a working set half as large again as a
/// cache a third of the loads miss; and a guest or a neighbour may leave half of it.
const NEAR: f64 = 2.0;
/// Two rises are told apart by an octave between them that rises by less than this part of each one's steepest, by ratio (ours).
const VALLEY: f64 = 0.5;

/// The median time of a load from a working set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianLoad {
    /// The size of the working set.
    pub working_set_bytes: u64,
    /// The time of a load.
    pub load_ns: f64,
}

/// The rises of a curve, ascending by size.
pub fn knees(points: &[MedianLoad], caches: &[Cache]) -> Vec<Knee> {
    let mut knees = Vec::new();
    let mut begin = 0;
    for at in 1..=points.len() {
        let rises = at < points.len() && points[at].load_ns > points[at - 1].load_ns * STEP_MIN;
        if !rises {
            apart(&points[begin..at], &mut |rise| knees.extend(knee(rise, caches)));
            begin = at;
        }
    }
    knees
}

/// The rises of which a long one is made: page tables and noise let a curve climb a little all the way from one cache to the next.
fn apart<'a>(rise: &'a [MedianLoad], found: &mut impl FnMut(&'a [MedianLoad])) {
    let octaves: Vec<f64> = rise.windows(3).map(|three| (three[2].load_ns / three[0].load_ns).ln()).collect();
    let steepest = |octaves: &[f64]| octaves.iter().copied().fold(0.0, f64::max);
    let is_valley = |index: &usize| {
        let limit = octaves[*index] / VALLEY;
        let (before, after) = (&octaves[..*index], &octaves[index + 1..]);
        steepest(before) >= limit
            && steepest(after) >= limit
            && enough(&rise[..=index + 1])
            && enough(&rise[index + 1..])
    };
    let valleys = (0..octaves.len()).filter(is_valley);
    match valleys.min_by(|a, b| octaves[*a].total_cmp(&octaves[*b])) {
        Some(valley) => {
            apart(&rise[..=valley + 1], found);
            apart(&rise[valley + 1..], found);
        }
        None => found(rise),
    }
}

fn enough(rise: &[MedianLoad]) -> bool {
    rise.first().zip(rise.last()).is_some_and(|(first, last)| last.load_ns > first.load_ns * RISE_MIN)
}

fn knee(rise: &[MedianLoad], caches: &[Cache]) -> Option<Knee> {
    let (first, last) = rise.first().zip(rise.last()).filter(|_| enough(rise))?;
    Some(Knee {
        until_bytes: first.working_set_bytes,
        over_bytes: last.working_set_bytes,
        from_ns: first.load_ns,
        to_ns: last.load_ns,
        cache: caches_at(rise, caches),
    })
}

/// The caches that end within the rise when there are several, else the one nearest to where it is half done.
fn caches_at(rise: &[MedianLoad], caches: &[Cache]) -> Option<String> {
    let (first, last) = rise.first().zip(rise.last())?;
    let within = caches
        .iter()
        .filter(|cache| (first.working_set_bytes..=last.working_set_bytes).contains(&cache.bytes));
    let within: Vec<&str> = within.map(|cache| cache.name.as_str()).collect();
    if within.len() > 1 {
        return Some(within.join(" and "));
    }
    let half = half_done(rise)?;
    let off = |cache: &Cache| (cache.bytes as f64 / half).ln().abs();
    let near = caches.iter().filter(|cache| off(cache) <= NEAR.ln() + 1e-9);
    near.min_by(|a, b| off(a).total_cmp(&off(b))).map(|cache| cache.name.clone())
}

/// The working set at which the time has risen by the root of what it rises by in all, between two points by ratio.
fn half_done(rise: &[MedianLoad]) -> Option<f64> {
    let (first, last) = rise.first().zip(rise.last())?;
    let half_ns = (first.load_ns * last.load_ns).sqrt();
    let step = rise.windows(2).find(|step| step[1].load_ns >= half_ns)?;
    let (from, to) = (&step[0], &step[1]);
    let part = (half_ns / from.load_ns).ln() / (to.load_ns / from.load_ns).ln();
    let (from_bytes, to_bytes) = (from.working_set_bytes as f64, to.working_set_bytes as f64);
    Some(from_bytes * (to_bytes / from_bytes).powf(part.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::super::working_sets;
    use super::*;

    fn cache(name: &str, bytes: u64) -> Cache {
        Cache { name: name.to_owned(), bytes, instances: 1, cpus_each: 1 }
    }

    fn curve(time_ns: impl Fn(u64) -> f64) -> Vec<MedianLoad> {
        working_sets(256 << 20)
            .into_iter()
            .map(|size| MedianLoad { working_set_bytes: size, load_ns: time_ns(size) })
            .collect()
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

    /// A twentieth more or less, by turns: what a noisy neighbour does to medians.
    fn noisy(time: impl Fn(u64) -> f64) -> Vec<MedianLoad> {
        let mut points = curve(time);
        for (index, point) in points.iter_mut().enumerate() {
            point.load_ns *= if index % 2 == 0 { 1.03 } else { 0.97 };
        }
        points
    }

    #[test]
    fn a_rise_far_beyond_a_cache_is_not_its_end_although_it_begins_before_it() {
        // Page tables: slow until 2 MiB, most of it beyond, and level from 8 MiB on.
        let time = |size: u64| match size {
            size if size <= 512 << 10 => 4.0,
            size if size <= 2 << 20 => 4.0 * (size as f64 / (512 << 10) as f64).powf(0.42),
            size => (7.16 * (size as f64 / (2 << 20) as f64).powf(1.5)).min(52.0),
        };
        let found = knees(&curve(time), &[cache("L2", 1 << 20), cache("L3", 64 << 20)]);
        assert_eq!((found.len(), found[0].until_bytes >> 10, found[0].cache.clone()), (1, 512, None));
    }

    #[test]
    fn caches_between_which_a_curve_climbs_a_little_have_a_knee_each() {
        // Steps of 13 % and more between the caches: more than what is taken for level.
        let climb = |size: u64| 1.16_f64.powf(2.0 * (size as f64 / (1 << 20) as f64).log2());
        let time = |size: u64| match size {
            size if size <= 1 << 20 => 4.0,
            size if size <= 24 << 20 => 12.0 * climb(size),
            _ => 120.0,
        };
        let caches = [cache("L1d", 32 << 10), cache("L2", 1 << 20), cache("L3", 32 << 20)];
        for points in [curve(time), noisy(time)] {
            let found: Vec<_> = knees(&points, &caches).into_iter().map(|knee| knee.cache).collect();
            assert_eq!(found, [Some("L2".to_owned()), Some("L3".to_owned())], "{points:?}");
        }
    }

    #[test]
    fn a_flat_or_creeping_curve_has_no_knee() {
        assert_eq!(knees(&curve(|_| 3.0), &[]), []);
        assert_eq!(knees(&curve(|size| 3.0 + (size as f64).ln() / 10.0), &[]), []);
        assert_eq!(knees(&[], &[]), []);
    }
}
