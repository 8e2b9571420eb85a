//! The course that all servers share, interval by interval: a busy day, a weekend, a surge.
//!
//! A server that has no value in some intervals cannot be held against one that has them all by their means: the mean of the
//! first lacks those intervals. value = server x interval is fitted by turns instead (for levels, the same of logarithms), each
//! side of the change by itself, since an effect of the change is part of the server there. Without noise the fit is exact.

use super::change::Scale;
use crate::median::median;

/// Turns at most; few are needed unless most values are missing.
const TURNS_MOST: usize = 50;

/// Change of the course, relative or of a logarithm, below which it stays as it is.
const STILL: f64 = 1e-7;

/// The typical value of each interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The typical values by place of the interval; NaN where no server has a value. Logarithms for [`Scale::Level`].
    typical: Vec<f64>,
    scale: Scale,
}

impl Course {
    /// The course of `servers` over `intervals`, fitted to the intervals before and after the change, as places below `intervals`. `value` is a server's in an
    /// interval, not negative; for [`Scale::Level`] above 0.
    pub fn fit(
        servers: usize,
        intervals: usize,
        sides: [&[usize]; 2],
        value: &dyn Fn(usize, usize) -> Option<f64>,
        scale: Scale,
    ) -> Course {
        let mut typical = vec![f64::NAN; intervals];
        for side in sides {
            match scale {
                Scale::Level => by_logarithms(servers, side, value, &mut typical),
                Scale::Total { .. } => by_totals(servers, side, value, &mut typical),
            }
        }
        Course { typical, scale }
    }

    /// The bias of a server's level, as a logarithm, when the server has values in the intervals `had` only, and not in all of
    /// `all`. 0 where it cannot be told.
    pub fn off(&self, had: &[usize], all: &[usize]) -> f64 {
        let mean = |places: &[usize]| {
            let known = places.iter().map(|at| self.typical[*at]).filter(|typical| typical.is_finite());
            let (sum, n) = known.fold((0.0, 0.0), |(sum, n), typical| (sum + typical, n + 1.0));
            match self.scale {
                Scale::Level => sum / n,
                Scale::Total { .. } => (sum / n).ln(),
            }
        };
        let off = mean(had) - mean(all);
        if off.is_finite() { off } else { 0.0 }
    }

    /// The typical value of an interval over that of the intervals `all` together; none where nobody has a value there, or nothing
    /// happened.
    pub fn relative(&self, at: usize, all: &[usize]) -> Option<f64> {
        let relative = self.off(&[at], all).exp();
        let known = self.typical[at].is_finite() && (self.scale == Scale::Level || self.typical[at] > 0.0);
        known.then_some(relative)
    }
}

/// Servers count alike where they have much, and by what they have where they have little: neither one large server nor one with a
/// single event makes the course.
fn by_totals(
    servers: usize,
    side: &[usize],
    value: &dyn Fn(usize, usize) -> Option<f64>,
    typical: &mut [f64],
) {
    let sums = |server: usize, weight: &dyn Fn(usize) -> f64| {
        let there = side.iter().filter_map(|at| Some((value(server, *at)?, weight(*at))));
        there.fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + value, weights + weight))
    };
    let over = |(sum, weights): (f64, f64)| if weights > 0.0 { sum / weights } else { 0.0 };
    let mut level: Vec<f64> = (0..servers).map(|server| over(sums(server, &|_| 1.0))).collect();
    let usual = median(level.iter().copied().filter(|level| *level > 0.0));
    let Some(usual) = usual else { return };
    let weight: Vec<f64> = level.iter().map(|level| 1.0 / (level + usual)).collect();
    let of_interval = |level: &[f64], at: usize| {
        let there = (0..servers).filter_map(|server| Some((server, value(server, at)?)));
        let (sum, expected) = there.fold((0.0, 0.0), |(sum, expected), (server, value)| {
            (sum + weight[server] * value, expected + weight[server] * level[server])
        });
        if expected > 0.0 { sum / expected } else { f64::NAN }
    };
    let of_server = |typical: &[f64], server: usize| {
        over(sums(server, &|at| if typical[at].is_nan() { 0.0 } else { typical[at] }))
    };
    in_turns(side, typical, &mut level, &of_interval, &of_server);
    side.iter().for_each(|at| typical[*at] *= usual);
}

fn by_logarithms(
    servers: usize,
    side: &[usize],
    value: &dyn Fn(usize, usize) -> Option<f64>,
    typical: &mut [f64],
) {
    let mean = |(sum, n): (f64, f64)| if n > 0.0 { sum / n } else { f64::NAN };
    let add =
        |(sum, n): (f64, f64), value: f64| if value.is_finite() { (sum + value, n + 1.0) } else { (sum, n) };
    let logarithm = |server: usize, at: usize| value(server, at).map_or(f64::NAN, f64::ln);
    let mut level: Vec<f64> = (0..servers)
        .map(|server| mean(side.iter().map(|at| logarithm(server, *at)).fold((0.0, 0.0), add)))
        .collect();
    let usual = mean(level.iter().copied().fold((0.0, 0.0), add));
    let of_interval = |level: &[f64], at: usize| {
        mean((0..servers).map(|server| logarithm(server, at) - level[server]).fold((0.0, 0.0), add))
    };
    let of_server = |typical: &[f64], server: usize| {
        mean(side.iter().map(|at| logarithm(server, *at) - typical[*at]).fold((0.0, 0.0), add))
    };
    in_turns(side, typical, &mut level, &of_interval, &of_server);
    side.iter().for_each(|at| typical[*at] += usual);
}

/// Fits the intervals to the servers and the servers to the intervals in turns, until the intervals stand still.
fn in_turns(
    side: &[usize],
    typical: &mut [f64],
    level: &mut [f64],
    of_interval: &dyn Fn(&[f64], usize) -> f64,
    of_server: &dyn Fn(&[f64], usize) -> f64,
) {
    for _ in 0..TURNS_MOST {
        let mut moved = 0.0f64;
        for at in side {
            let now = of_interval(level, *at);
            let before = typical[*at];
            moved = moved.max(if before.is_nan() && now.is_nan() { 0.0 } else { change(before, now) });
            typical[*at] = now;
        }
        for (server, level) in level.iter_mut().enumerate() {
            *level = of_server(typical, server);
        }
        if moved < STILL {
            break;
        }
    }
}

/// The relative change; infinite from NaN.
fn change(before: f64, now: f64) -> f64 {
    let change = (now - before).abs() / now.abs().max(1.0);
    if change.is_nan() { f64::INFINITY } else { change }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: Scale = Scale::Total { offset: 0.5 };
    const SIDES: [&[usize]; 2] = [&[0, 1, 2], &[4, 5, 6, 7]];

    /// Servers 10, 20, 40, 80; the third of four days after is five times the others; the change doubles the odd servers.
    fn fleet(server: usize, at: usize) -> Option<f64> {
        let missing = (server == 1 || server == 2) && at == 6 || server == 3 && at == 0;
        let level = 10.0 * f64::from(1 << server) * if server % 2 == 1 && at >= 4 { 2.0 } else { 1.0 };
        (!missing).then_some(level * if at == 6 { 5.0 } else { 1.0 } * if at == 0 { 0.5 } else { 1.0 })
    }

    #[test]
    fn a_server_without_the_busy_day_is_put_where_it_would_be_with_it() {
        for (scale, busy) in [(TOTAL, (1.0f64 / 2.0).ln()), (Scale::Level, -(5f64.ln()) / 4.0)] {
            let course = Course::fit(4, 8, SIDES, &fleet, scale);
            let off = course.off(&[4, 5, 7], &[4, 5, 6, 7]);
            assert!((off - busy).abs() < 1e-6, "{off} {busy}");
            assert_eq!(course.off(&[4, 5, 6, 7], &[4, 5, 6, 7]), 0.0);
            let relative = course.relative(6, &[6]).unwrap();
            assert!((relative - 1.0).abs() < 1e-12, "{relative}");
        }
        let course = Course::fit(4, 8, SIDES, &fleet, TOTAL);
        assert!((course.relative(6, &[4, 5, 6, 7]).unwrap() - 2.5).abs() < 1e-6);
        assert!((course.off(&[1, 2], &[0, 1, 2]) - (6.0f64 / 5.0).ln()).abs() < 1e-6);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_moved() {
        let course = Course::fit(2, 3, [&[0], &[1, 2]], &|_, at| (at < 2).then_some(0.0), TOTAL);
        assert_eq!((course.off(&[1], &[1, 2]), course.relative(1, &[1, 2])), (0.0, None));
        let none = Course::fit(0, 3, [&[0], &[1, 2]], &|_, _| None, Scale::Level);
        assert_eq!((none.off(&[1], &[1, 2]), none.relative(1, &[1, 2])), (0.0, None));
    }
}
