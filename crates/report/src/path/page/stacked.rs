//! A bar that is divided: its parts lie side by side, each with its colour, and what is not known is a part that says so.

use crate::html::scale::percent;

/// A divided bar with its name and what stands behind it.
#[derive(Debug)]
pub(super) struct Stacked {
    pub(super) name: String,
    /// Behind the bar.
    pub(super) figure: String,
    pub(super) segments: Vec<Segment>,
    /// For those who cannot see it.
    pub(super) description: String,
}

/// A part as it is drawn.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) style: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    /// On it, where there is room.
    pub(super) label: String,
    /// True if there is no room on a phone.
    pub(super) is_tight: bool,
    pub(super) label_x: String,
    pub(super) title: String,
}

/// A part as it is known.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) style: &'static str,
    /// Its share of the bar, 0 to 1.
    pub(super) share: f64,
    pub(super) label: String,
    pub(super) title: String,
}

/// Share of a bar from which a label fits.
const LABEL_ROOM: f64 = 0.085;
/// Share of a bar from which a label fits on a phone.
const PHONE_ROOM: f64 = 0.16;
/// A part below this is no part: arithmetic leaves such remainders.
const NOTHING: f64 = 1e-6;

impl Stacked {
    /// The bar of these parts, in their order.
    pub(super) fn new(name: String, figure: String, parts: &[Part]) -> Self {
        let mut start = 0.0;
        let mut segments = Vec::new();
        for part in parts.iter().filter(|part| part.share > NOTHING && part.share.is_finite()) {
            let width = part.share.min(1.0 - start).max(0.0);
            segments.push(Segment {
                style: part.style,
                x: percent(start),
                width: percent(width),
                is_tight: width < PHONE_ROOM && part.label.chars().count() > 1,
                label: if width >= LABEL_ROOM { part.label.clone() } else { String::new() },
                label_x: percent(start + width / 2.0),
                title: part.title.clone(),
            });
            start += width;
        }
        let description = parts.iter().map(|part| part.title.as_str()).collect::<Vec<_>>().join("; ");
        Stacked { name, figure, segments, description }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(share: f64) -> Part {
        Part { style: "s", share, label: "label".to_owned(), title: "title".to_owned() }
    }

    #[test]
    fn parts_lie_beside_each_other_and_never_beyond_the_bar() {
        let bar = Stacked::new(String::new(), String::new(), &[part(0.5), part(0.0), part(0.04), part(0.9)]);
        let places: Vec<(&str, &str, &str)> =
            bar.segments.iter().map(|it| (it.x.as_str(), it.width.as_str(), it.label.as_str())).collect();
        assert_eq!(
            places,
            [("0.00%", "50.00%", "label"), ("50.00%", "4.00%", ""), ("54.00%", "46.00%", "label")]
        );
    }

    #[test]
    fn what_is_no_number_is_not_drawn() {
        assert!(
            Stacked::new(String::new(), String::new(), &[part(f64::NAN), part(-1.0)]).segments.is_empty()
        );
    }
}
