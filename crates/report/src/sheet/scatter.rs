//! Points on two logarithmic axes, for a page: what is proven is filled, what is one block is hollow.

use crate::html::scale::{LogScale, percent};
use crate::paint::printable;

/// Points of two quantities, both above 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scatter {
    /// The heading.
    pub heading: String,
    /// Its meaning.
    pub meaning: String,
    /// The quantity along the width, and how its values are written.
    pub x: Axis,
    /// The quantity along the height.
    pub y: Axis,
    /// The points.
    pub points: Vec<Point>,
}

/// One quantity.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// How a value is written.
    pub written: fn(f64) -> String,
}

impl PartialEq for Axis {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && std::ptr::fn_addr_eq(self.written, other.written)
    }
}

impl Default for Axis {
    fn default() -> Self {
        Axis { name: String::new(), written: |value| value.to_string() }
    }
}

/// One point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its place.
    pub x: f64,
    /// Its place.
    pub y: f64,
    /// What it is, shown where one points at it.
    pub words: String,
    /// The kind, by which it is drawn.
    pub kind: PointKind,
}

/// The kind of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// Proven by blocks of its own.
    Proven,
    /// One block that no other is better than.
    Front,
    /// Any other block.
    Other,
}

impl PointKind {
    fn class(self) -> &'static str {
        match self {
            PointKind::Proven => "proven",
            PointKind::Front => "front",
            PointKind::Other => "other",
        }
    }

    /// For the legend.
    fn words(self) -> &'static str {
        match self {
            PointKind::Proven => "Filled: proven by blocks that chose nothing.",
            PointKind::Front => "Hollow: a single block that no other is better than.",
            PointKind::Other => "Faint: the other blocks.",
        }
    }
}

/// A scatter as it is drawn.
pub(crate) struct Drawn {
    pub(crate) heading: String,
    pub(crate) meaning: String,
    pub(crate) x_name: String,
    pub(crate) y_name: String,
    pub(crate) x_ticks: Vec<Tick>,
    pub(crate) y_ticks: Vec<Tick>,
    pub(crate) points: Vec<DrawnPoint>,
    pub(crate) description: String,
    /// What each kind of point is that is drawn.
    pub(crate) legend: String,
}

/// A mark on an axis.
pub(crate) struct Tick {
    pub(crate) at: String,
    pub(crate) label: String,
}

/// A point with its place in percent.
pub(crate) struct DrawnPoint {
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) class: &'static str,
    pub(crate) words: String,
}

impl Drawn {
    /// None with fewer than two points.
    pub(crate) fn of(scatter: &Scatter) -> Option<Self> {
        let usable = |point: &&Point| point.x > 0.0 && point.y > 0.0;
        let points: Vec<&Point> = scatter.points.iter().filter(usable).collect();
        if points.len() < 2 {
            return None;
        }
        let across = LogScale::around(points.iter().map(|point| point.x))?;
        let up = LogScale::around(points.iter().map(|point| point.y))?;
        let ticks = |scale: LogScale, axis: &Axis, turned: bool| {
            let tick = |value: f64| Tick {
                at: percent(if turned { 1.0 - scale.share(value) } else { scale.share(value) }),
                label: (axis.written)(value),
            };
            scale.ticks().into_iter().map(tick).collect()
        };
        let drawn = |point: &&Point| DrawnPoint {
            x: percent(across.share(point.x)),
            y: percent(1.0 - up.share(point.y)),
            class: point.kind.class(),
            words: printable(&format!(
                "{}: {} {}, {} {}",
                point.words,
                scatter.x.name,
                (scatter.x.written)(point.x),
                scatter.y.name,
                (scatter.y.written)(point.y)
            )),
        };
        let kinds = [PointKind::Proven, PointKind::Front, PointKind::Other];
        let is_drawn = |kind: &PointKind| points.iter().any(|point| point.kind == *kind);
        let legend: Vec<&str> = kinds.into_iter().filter(is_drawn).map(PointKind::words).collect();
        // What matters most is drawn last, over the others.
        let mut in_order = points.clone();
        in_order.sort_by_key(|point| match point.kind {
            PointKind::Other => 0,
            PointKind::Front => 1,
            PointKind::Proven => 2,
        });
        Some(Drawn {
            heading: printable(&scatter.heading),
            meaning: printable(&scatter.meaning),
            x_name: printable(&scatter.x.name),
            y_name: printable(&scatter.y.name),
            x_ticks: ticks(across, &scatter.x, false),
            y_ticks: ticks(up, &scatter.y, true),
            description: format!(
                "{} points; the table has those that no other is better than.",
                points.len()
            ),
            legend: legend.join(" "),
            points: in_order.iter().map(drawn).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64, kind: PointKind) -> Point {
        Point { x, y, words: "a <b>".to_owned(), kind }
    }

    #[test]
    fn points_lie_in_the_order_of_their_values_and_proven_ones_are_drawn_last() {
        let points = vec![
            point(1.0, 100.0, PointKind::Proven),
            point(10.0, 1.0, PointKind::Other),
            point(0.0, 1.0, PointKind::Front),
        ];
        let drawn = Drawn::of(&Scatter { points, ..Scatter::default() }).unwrap();
        assert_eq!(drawn.points.len(), 2, "what has no place is not drawn");
        assert_eq!(drawn.points[1].class, "proven");
        assert_eq!(
            drawn.legend, "Filled: proven by blocks that chose nothing. Faint: the other blocks.",
            "of the kinds that are drawn"
        );
        let share = |text: &str| text.trim_end_matches('%').parse::<f64>().unwrap();
        assert!(share(&drawn.points[1].x) < share(&drawn.points[0].x));
        assert!(share(&drawn.points[1].y) < share(&drawn.points[0].y), "more is further up");
    }

    #[test]
    fn one_point_is_no_picture() {
        let points = vec![point(1.0, 1.0, PointKind::Front)];
        assert!(Drawn::of(&Scatter { points, ..Scatter::default() }).is_none());
    }
}
