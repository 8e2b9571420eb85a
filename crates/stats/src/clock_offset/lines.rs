//! All lines of a possible slope that pass between the bounds of every exchange, without making a single one of them.
//!
//! A line stays under the upper bounds if it stays under their lower convex hull, the ceiling; over the lower bounds likewise, which
//! is the same question turned upside down. For one slope, the highest line under a ceiling touches one vertex; how far it lies
//! above the highest line's mirror image under the floor, the *room*, is concave in the slope. So the slopes that leave room are one
//! interval, whose ends Newton's method reaches from outside in a few steps, and exactly: each step goes to the line through the two
//! vertices that forbid the slope before. At a given time the highest value is that of the ceiling itself, if the slope of its edge
//! there is allowed, and else of the line with the nearest slope that is.

use super::{ClockModel, Exchange, OffsetBand, RateRange};

/// Clocks are read in whole nanoseconds, rounded down: a difference of two readings is off by less than this.
const READING_NS: f64 = 1.0;
/// Room of less than nothing by the arithmetic alone. Bounds are up to 1e10 ns from each other, of which a double keeps 2e-6 ns.
const ROUNDING_NS: f64 = 1e-3;
/// Steps of Newton's method at most. Each takes another pair of vertices; a few are usual.
const STEPS_MAX: usize = 200;

/// The lines through the exchanges of one window.
#[derive(Debug, Clone, PartialEq)]
pub struct OffsetLines {
    /// Local time and offset from which the hulls count: readings are too large to be held exactly in a fraction.
    origin_ns: i64,
    base_ns: i64,
    ceiling: Ceiling,
    /// The lower bounds upside down.
    floor: Ceiling,
    slopes: (f64, f64),
    /// Distance of an offset from the best line at most.
    off_line_ns: f64,
    /// Local times of the first and the last reading.
    span_ns: (i64, i64),
}

impl OffsetLines {
    /// The lines through exchanges in the order of their times, whose span is to be no longer than a window; none where there is no
    /// exchange, or no such line.
    pub fn through(exchanges: &[Exchange], model: &ClockModel) -> Option<Self> {
        let span_ns = exchanges.last()?.returned_ns.saturating_sub(exchanges.first()?.sent_ns);
        OffsetLines::with_allowance(exchanges, model.rate_max_ppm, model.off_line_ns(span_ns))
    }

    /// Likewise, with offsets up to `off_line_ns` from the line.
    pub(super) fn with_allowance(
        exchanges: &[Exchange],
        rate_max_ppm: f64,
        off_line_ns: f64,
    ) -> Option<Self> {
        let (first, last) = (exchanges.first()?, exchanges.last()?);
        let (origin_ns, base_ns) = (first.sent_ns, first.high_ns());
        let point = |local_ns: i64, offset_ns: i64| Point {
            x: local_ns.saturating_sub(origin_ns) as f64,
            y: offset_ns.saturating_sub(base_ns) as f64,
        };
        let allowance = off_line_ns + READING_NS;
        let highs = exchanges.iter().map(|exchange| point(exchange.sent_ns, exchange.high_ns()));
        let lows = exchanges.iter().map(|exchange| point(exchange.returned_ns, exchange.low_ns()));
        let ceiling = Ceiling::over(highs.map(|high| Point { y: high.y + allowance, ..high }).collect());
        let floor = Ceiling::over(lows.map(|low| Point { y: allowance - low.y, ..low }).collect());
        let slope_max = rate_max_ppm / 1e6;
        let slopes = (outermost(&ceiling, &floor, -slope_max)?, outermost(&ceiling, &floor, slope_max)?);
        Some(OffsetLines {
            origin_ns,
            base_ns,
            ceiling,
            floor,
            slopes,
            off_line_ns,
            span_ns: (first.sent_ns, last.returned_ns),
        })
    }

    /// The range of the offset at a time of the local clock; absent before the first reading and after the last.
    pub fn band_at(&self, local_ns: i64) -> Option<OffsetBand> {
        let (begin_ns, end_ns) = self.span_ns;
        if !(begin_ns..=end_ns).contains(&local_ns) {
            return None;
        }
        let x = local_ns.saturating_sub(self.origin_ns) as f64;
        let (least, most) = self.slopes;
        let high = self.ceiling.highest_at(x, (least, most)) + self.off_line_ns;
        let low = -self.floor.highest_at(x, (-most, -least)) - self.off_line_ns;
        Some(OffsetBand {
            low_ns: self.base_ns.saturating_add(low.floor() as i64),
            high_ns: self.base_ns.saturating_add(high.ceil() as i64),
        })
    }

    /// The range of the mean rate over the window. An offset that wanders is as near to the best line of its mean rate as the model
    /// allows an offset to be to a line, so that line is one of these.
    pub fn rate(&self) -> RateRange {
        let (least, most) = self.slopes;
        RateRange { low_ppm: least * 1e6, high_ppm: most * 1e6 }
    }
}

/// A bound: at a local time, and of the offset.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// Upper bounds of lines: the lower convex hull, from left to right. Never empty.
#[derive(Debug, Clone, PartialEq)]
struct Ceiling(Vec<Point>);

impl Ceiling {
    /// The hull of points (Andrew's monotone chain, 1979). They are in order already, but for answers that overtook each other.
    fn over(mut points: Vec<Point>) -> Self {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let mut hull: Vec<Point> = Vec::new();
        for point in points {
            while let [.., before, last] = hull[..]
                && !turns_up(before, last, point)
            {
                hull.pop();
            }
            match hull.last_mut() {
                Some(last) if last.x >= point.x => {
                    // Of two bounds at one time the lower one counts.
                    if point.y < last.y {
                        *last = point;
                    }
                }
                _ => hull.push(point),
            }
        }
        Ceiling(hull)
    }

    /// The highest line of a slope: its value at 0, and the vertex that it touches.
    fn highest(&self, slope: f64) -> (f64, Point) {
        let mut points = self.0.iter().map(|point| (point.y - slope * point.x, *point));
        let first = points.next().unwrap_or((f64::INFINITY, Point { x: 0.0, y: f64::INFINITY }));
        points.fold(first, |least, next| if next.0 < least.0 { next } else { least })
    }

    /// The highest value at `x` of a line of one of these slopes.
    fn highest_at(&self, x: f64, (least, most): (f64, f64)) -> f64 {
        let after = self.0.partition_point(|point| point.x <= x);
        let natural = match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (Some(before), Some(after)) => (after.y - before.y) / (after.x - before.x),
            // Left of all bounds a line is the higher the more it falls, right of them the more it rises.
            (None, _) => f64::NEG_INFINITY,
            (_, None) => f64::INFINITY,
        };
        let slope = natural.clamp(least, most.max(least));
        self.highest(slope).0 + slope * x
    }
}

/// True if the way from the first point over the second to the third turns up: then the second is a vertex.
fn turns_up(first: Point, second: Point, third: Point) -> bool {
    (second.x - first.x) * (third.y - first.y) > (second.y - first.y) * (third.x - first.x)
}

/// The outermost slope that leaves room for a line under the ceiling and over the floor, coming from `limit`; none where none does.
fn outermost(ceiling: &Ceiling, floor: &Ceiling, limit: f64) -> Option<f64> {
    let mut slope = limit;
    for _ in 0..STEPS_MAX {
        let ((over, high), (under, low)) = (ceiling.highest(slope), floor.highest(-slope));
        if over + under >= -ROUNDING_NS {
            return Some(slope);
        }
        // These two forbid it. A line between them is less steep, seen from the limit; or there is none.
        let next = (high.y + low.y) / (high.x - low.x);
        let nearer = if limit > 0.0 { next < slope } else { next > slope };
        if high.x == low.x || (high.x > low.x) != (limit > 0.0) || !nearer || next.abs() > limit.abs() {
            return None;
        }
        slope = next;
    }
    None
}
