//! What was refused, and which other settings that rules out.
//!
//! A refusal may name what it is about, and may not. Of what it can be about, values that ran in another block are not to blame by
//! themselves. Where one setting is left, its value is ruled out, and what lies beyond it from the value that there is: what is taken is
//! a range, and the value that there is lies within. The nearer half of what lies between the two is held off, so that the end of the
//! range is met in few blocks. Where several are left, only all of them together are ruled out; and each that is in
//! two such refusals, which may be one too many: it costs less than to be refused again and again.

use super::*;
use plumb_model::best::RefusalGrounds;

/// Values that were refused together: whatever has all of them is not tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The values.
    pub values: Vec<RefusedValue>,
    /// What that rests on.
    pub grounds: RefusalGrounds,
    /// The blocks that say so, by their places.
    pub tries: Vec<usize>,
}

/// One value that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedValue {
    /// The dimension, by its place.
    pub dimension: usize,
    /// The level or value.
    pub level: usize,
    /// The nearest level from which on, away from the one that there is, none is tried; none where others may be.
    pub held_off: Option<usize>,
}

/// What the blocks so far rule out: first what is known for certain, each in the order of the refusals. Of one end of a setting's range the
/// nearest value that was refused stands for all.
pub fn refused(tries: &[Tried], plan: &BestPlan) -> Vec<Refused> {
    let refusals: Vec<Refusal> =
        (0..tries.len()).filter_map(|at| Refusal::of(at, &tries[at], tries, plan)).collect();
    let mut found: Vec<Refused> = Vec::new();
    let level = |refusal: &Refusal, dimension: usize| tries[refusal.at].point.0[dimension];
    let alone = |refusal: &Refusal, dimension: usize| {
        let level = level(refusal, dimension);
        vec![RefusedValue { dimension, level, held_off: held_off(tries, plan, dimension, level) }]
    };
    for refusal in &refusals {
        if let ([one], true) = (&refusal.suspects[..], refusal.is_about_suspects) {
            add(&mut found, alone(refusal, *one), RefusalGrounds::Only, refusal.at, plan);
        }
    }
    let is_explained =
        |refusal: &Refusal| found.iter().any(|known| known.is_in(&tries[refusal.at].point, plan));
    let open: Vec<&Refusal> = refusals.iter().filter(|refusal| !is_explained(refusal)).collect();
    for refusal in &open {
        let is_repeated = |at: &&usize| open.iter().any(|other| refusal.shares_doubt(other, **at));
        let repeated: Vec<usize> = refusal.suspects.iter().filter(is_repeated).copied().collect();
        for at in &repeated {
            add(&mut found, alone(refusal, *at), RefusalGrounds::Repeated, refusal.at, plan);
        }
        if repeated.is_empty() {
            // Together, too, what lies farther on is refused.
            let value = |at: &usize| {
                let level = level(refusal, *at);
                let is_ordered = matches!(plan.dimensions[*at], Dimension::Ordered { .. });
                RefusedValue { dimension: *at, level, held_off: is_ordered.then_some(level) }
            };
            let values = refusal.suspects.iter().map(value).collect();
            add(&mut found, values, RefusalGrounds::Together, refusal.at, plan);
        }
    }
    found
}

fn add(
    found: &mut Vec<Refused>,
    values: Vec<RefusedValue>,
    grounds: RefusalGrounds,
    at: usize,
    plan: &BestPlan,
) {
    let same_end = |known: &&mut Refused| {
        known.grounds == grounds
            && match (&known.values[..], &values[..]) {
                ([a], [b]) => {
                    let is_end = a.dimension == b.dimension && a.held_off.is_some() && b.held_off.is_some();
                    is_end
                        && (reaches(plan, a.dimension, a.level, b.level)
                            || reaches(plan, a.dimension, b.level, a.level))
                }
                (a, b) => a == b,
            }
    };
    match found.iter_mut().find(same_end) {
        Some(known) => {
            known.tries.push(at);
            if let ([a], [b]) = (&known.values[..], &values[..])
                && reaches(plan, a.dimension, a.level, b.level)
            {
                known.values = values;
            }
        }
        None => found.push(Refused { values, grounds, tries: vec![at] }),
    }
}

/// The level from which on none is tried: beyond the middle between one that was refused and the farthest towards it that ran. None of
/// values without an order.
fn held_off(tries: &[Tried], plan: &BestPlan, dimension: usize, refused: usize) -> Option<usize> {
    if !matches!(plan.dimensions[dimension], Dimension::Ordered { .. }) {
        return None;
    }
    let own = plan.default.0[dimension];
    let is_between =
        |level: &usize| (own.min(refused)..=own.max(refused)).contains(level) && *level != refused;
    let ran = tries.iter().filter(|tried| tried.outcome.ran()).map(|tried| tried.point.0[dimension]);
    let farthest = ran.filter(is_between).max_by_key(|level| level.abs_diff(own)).unwrap_or(own);
    let held_off = refused.abs_diff(farthest).saturating_sub(1) / 2;
    Some(if refused > own { refused - held_off } else { refused + held_off })
}

/// A refusal, with the settings that it can be about as far as the other blocks tell.
struct Refusal {
    at: usize,
    suspects: Vec<usize>,
    /// False where each of them ran by itself, so that it is about all changes together.
    is_about_suspects: bool,
}

impl Refusal {
    fn of(at: usize, tried: &Tried, tries: &[Tried], plan: &BestPlan) -> Option<Refusal> {
        let Outcome::Refused { suspects } = &tried.outcome else { return None };
        let changed: Vec<usize> =
            (0..plan.dimensions.len()).filter(|at| tried.point.0[*at] != plan.default.0[*at]).collect();
        // The settings that there are are not refused for what they are.
        if changed.is_empty() {
            return None;
        }
        let is_changed = |at: &usize| changed.contains(at);
        let mut named: Vec<usize> = suspects.iter().copied().filter(is_changed).collect();
        if named.is_empty() {
            named.clone_from(&changed);
        }
        let ran = || tries.iter().filter(|tried| tried.outcome.ran()).map(|tried| &tried.point);
        let is_taken = |at: usize, by: &Point| reaches(plan, at, by.0[at], tried.point.0[at]);
        let mut suspects = named.clone();
        suspects.retain(|at| !ran().any(|point| is_taken(*at, point)));
        if !suspects.is_empty() {
            return Some(Refusal { at, suspects, is_about_suspects: true });
        }
        // A single change that ran in other company does not go with what there is of the others.
        let is_apart = |other: &usize| {
            changed.len() == 1
                && ran().any(|point| is_taken(changed[0], point) && point.0[*other] != tried.point.0[*other])
        };
        let together = (0..plan.dimensions.len()).filter(|at| changed.contains(at) || is_apart(at));
        Some(Refusal { at, suspects: together.collect(), is_about_suspects: false })
    }

    /// True if a setting is in doubt in both.
    fn shares_doubt(&self, other: &Refusal, dimension: usize) -> bool {
        self.at != other.at
            && self.is_about_suspects
            && other.is_about_suspects
            && other.suspects.contains(&dimension)
    }
}

/// True if a level is another one, or lies beyond it from the level that there is. A level of 0 may have a meaning of its own, such as
/// off, and says nothing of those above it.
fn reaches(plan: &BestPlan, dimension: usize, level: usize, other: usize) -> bool {
    let own = plan.default.0[dimension];
    let is_beyond = match other.cmp(&own) {
        std::cmp::Ordering::Greater => level > other,
        std::cmp::Ordering::Less => level < other && level > 0,
        std::cmp::Ordering::Equal => false,
    };
    level == other || is_beyond && matches!(plan.dimensions[dimension], Dimension::Ordered { .. })
}

impl Refused {
    /// True if settings have what was refused.
    pub fn is_in(&self, point: &Point, plan: &BestPlan) -> bool {
        self.values.iter().all(|value| {
            let level = point.0[value.dimension];
            match value.held_off {
                // A level of 0 that was refused is one that has no meaning of its own, or had it.
                Some(from) => level == value.level || reaches(plan, value.dimension, level, from),
                None => level == value.level,
            }
        })
    }

    /// The one dimension that it is about; none where it is about several together.
    fn single(&self) -> Option<usize> {
        match self.values[..] {
            [value] => Some(value.dimension),
            _ => None,
        }
    }
}

/// What may be tried, as far as the blocks so far tell.
pub(super) struct Allowed<'a> {
    state: State<'a>,
    refused: Vec<Refused>,
}

impl<'a> Allowed<'a> {
    pub(super) fn of(state: &State<'a>) -> Allowed<'a> {
        Allowed { state: *state, refused: refused(state.tries, state.plan) }
    }

    /// True if the settings may be tried. Those that there are always may.
    pub(super) fn may_try(&self, point: &Point) -> bool {
        self.is_free(point) && self.state.physics.is_possible(point)
    }

    /// True if nothing is known against them but what physics says.
    pub(super) fn is_free(&self, point: &Point) -> bool {
        let is_refused = || {
            *point != self.state.plan.default
                && self.refused.iter().any(|refused| refused.is_in(point, self.state.plan))
        };
        !self.state.has_failed(point) && !is_refused()
    }

    /// True if it is known which setting of these was refused.
    pub(super) fn is_explained(&self, point: &Point) -> bool {
        self.singles().any(|(_, refused)| refused.is_in(point, self.state.plan))
    }

    /// The presets, each with the value that there is in place of one that was refused.
    pub(super) fn presets(&self) -> Vec<Point> {
        let plan = self.state.plan;
        let mut presets: Vec<Point> = Vec::new();
        for preset in &plan.presets {
            let mut point = preset.clone();
            for (dimension, refused) in self.singles() {
                if refused.is_in(&point, plan) {
                    point.0[dimension] = plan.default.0[dimension];
                }
            }
            if !presets.contains(&point) {
                presets.push(point);
            }
        }
        presets
    }

    fn singles(&self) -> impl Iterator<Item = (usize, &Refused)> {
        self.refused.iter().filter_map(|refused| Some((refused.single()?, refused)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulated::Anything;
    use super::*;

    /// Four ordered settings of which the middle levels are what there is.
    fn plan() -> BestPlan {
        BestPlan {
            dimensions: vec![Dimension::Ordered { places: 9 }; 4],
            default: Point(vec![4; 4]),
            presets: vec![Point(vec![8, 8, 4, 4]), Point(vec![4, 1, 4, 4])],
            budget: 40,
            has_goal: false,
            seed: 1,
        }
    }

    fn tried(levels: [usize; 4], outcome: Outcome) -> Tried {
        Tried { point: Point(levels.into()), purpose: BestPurpose::Explore, outcome }
    }

    fn refusal(levels: [usize; 4], suspects: &[usize]) -> Tried {
        tried(levels, Outcome::Refused { suspects: suspects.into() })
    }

    fn ran(levels: [usize; 4]) -> Tried {
        tried(levels, Outcome::Measured { objective: 1.0, goal_ratio: None })
    }

    fn is_refused(tries: &[Tried], levels: [usize; 4]) -> bool {
        let plan = plan();
        refused(tries, &plan).iter().any(|refused| refused.is_in(&Point(levels.into()), &plan))
    }

    #[test]
    fn a_value_that_is_named_is_refused_in_any_company_and_so_is_what_lies_beyond_it() {
        let tries = [refusal([7, 8, 4, 4], &[0])];
        assert!(is_refused(&tries, [7, 4, 4, 4]) && is_refused(&tries, [8, 0, 1, 2]));
        assert!(!is_refused(&tries, [5, 8, 4, 4]) && !is_refused(&tries, [0, 8, 4, 4]));
        // The half that is nearer to it is held off, until something in between ran.
        assert!(is_refused(&tries, [6, 4, 4, 4]));
        let nearer = [refusal([7, 8, 4, 4], &[0]), ran([5, 4, 4, 4])];
        assert!(!is_refused(&nearer, [6, 4, 4, 4]) && is_refused(&nearer, [7, 4, 4, 4]));
        // Of one end the nearest stands for all.
        let both = [refusal([8, 4, 4, 4], &[0]), refusal([6, 4, 4, 4], &[0]), refusal([1, 4, 4, 4], &[0])];
        let told: Vec<(usize, Vec<usize>)> =
            refused(&both, &plan()).into_iter().map(|one| (one.values[0].level, one.tries)).collect();
        assert_eq!(told, [(6, vec![0, 1]), (1, vec![2])]);
        // A level of 0 may mean something else than a little.
        let low = [refusal([2, 4, 4, 4], &[0])];
        assert!(is_refused(&low, [2, 4, 4, 4]) && is_refused(&low, [1, 4, 4, 4]));
        assert!(!is_refused(&low, [0, 4, 4, 4]) && !is_refused(&low, [3, 4, 4, 4]));
    }

    #[test]
    fn of_several_that_nobody_names_only_all_together_are_refused() {
        let tries = [refusal([7, 8, 4, 4], &[])];
        assert!(is_refused(&tries, [7, 8, 4, 4]) && is_refused(&tries, [8, 8, 1, 1]));
        assert!(!is_refused(&tries, [6, 8, 4, 4]));
        assert!(!is_refused(&tries, [7, 4, 4, 4]) && !is_refused(&tries, [4, 8, 4, 4]));
    }

    #[test]
    fn a_single_change_needs_no_name() {
        let tries = [refusal([4, 4, 7, 4], &[])];
        assert!(is_refused(&tries, [1, 1, 8, 1]));
    }

    #[test]
    fn what_ran_elsewhere_is_not_to_blame_so_that_the_other_is() {
        let tries = [refusal([7, 8, 4, 4], &[]), ran([4, 8, 4, 4])];
        assert!(is_refused(&tries, [7, 4, 4, 4]));
        assert!(!is_refused(&tries, [4, 8, 4, 4]));
        // Farther than the refused one ran, so that it is within the range.
        let beyond = [refusal([7, 6, 4, 4], &[]), ran([4, 8, 4, 4])];
        assert!(is_refused(&beyond, [7, 4, 4, 4]));
        // Each ran by itself: they do not go together, and that is all that is known.
        let each = [refusal([7, 8, 4, 4], &[]), ran([4, 8, 4, 4]), ran([7, 4, 4, 4])];
        assert!(is_refused(&each, [7, 8, 4, 4]) && !is_refused(&each, [7, 4, 4, 4]));
        // One that ran only without what there is of another does not go with that.
        let alone = [refusal([7, 4, 4, 4], &[0]), ran([7, 1, 4, 4])];
        assert!(is_refused(&alone, [7, 4, 4, 4]) && is_refused(&alone, [8, 4, 1, 4]));
        assert!(!is_refused(&alone, [7, 1, 4, 4]) && !is_refused(&alone, [7, 0, 4, 4]));
        // What is named and ran elsewhere is refused for what it is together with.
        let named = [refusal([7, 8, 4, 4], &[0]), ran([7, 4, 4, 4])];
        assert!(is_refused(&named, [7, 8, 4, 4]) && !is_refused(&named, [7, 4, 8, 4]));
    }

    #[test]
    fn a_setting_in_two_refusals_is_the_one() {
        let tries = [refusal([7, 8, 4, 4], &[]), refusal([7, 4, 1, 4], &[])];
        assert!(is_refused(&tries, [7, 4, 4, 4]));
        assert!(!is_refused(&tries, [4, 8, 4, 4]) && !is_refused(&tries, [4, 4, 1, 4]));
        // At another value, too.
        let apart = [refusal([7, 8, 4, 4], &[]), refusal([8, 4, 1, 4], &[])];
        assert!(is_refused(&apart, [7, 4, 4, 4]) && is_refused(&apart, [8, 4, 4, 4]));
        let grounds =
            |tries: &[Tried]| refused(tries, &plan()).into_iter().map(|one| one.grounds).collect::<Vec<_>>();
        assert_eq!(grounds(&apart), [RefusalGrounds::Repeated]);
        // What is explained is no second refusal of what it was together with.
        let known = [refusal([7, 4, 4, 4], &[0]), refusal([8, 8, 4, 4], &[]), refusal([4, 8, 1, 4], &[])];
        assert_eq!(grounds(&known), [RefusalGrounds::Only, RefusalGrounds::Together]);
        assert!(!is_refused(&known, [4, 8, 4, 4]));
    }

    #[test]
    fn what_there_is_stays_and_a_preset_is_tried_without_what_was_refused() {
        let plan = plan();
        let tries = [refusal([8, 8, 4, 4], &[0])];
        let state = State { tries: &tries, plan: &plan, physics: &Anything };
        let allowed = Allowed::of(&state);
        assert!(allowed.may_try(&plan.default) && !allowed.may_try(&Point(vec![8, 4, 4, 4])));
        assert_eq!(allowed.presets(), [Point(vec![4, 8, 4, 4]), Point(vec![4, 1, 4, 4])]);
        assert_eq!(refused(&tries, &plan)[0].tries, [0]);
    }
}
