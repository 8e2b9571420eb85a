//! Servers that have no value in some of the intervals.
//!
//! Their mean is over other intervals than the others'. Where it is the busy ones that one group lacks, that alone makes it look better.
//! So the intervals' own course, of all servers of the stratum together, is taken off such a server before it is held against
//! others. A server without gaps, and a fleet without any, stays as it is.

use super::compared::Compared;
use plumb_model::fleet::FleetServer;
use plumb_stats::fleet::change::Scale;
use plumb_stats::fleet::course::Course;
use std::collections::{BTreeMap, HashMap};

/// A quantity of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Metric,
    Load,
    /// Whether the metric is above 0.
    Any,
}

/// The courses of one stratum.
#[derive(Debug)]
struct Courses {
    metric: Course,
    load: Course,
    any: Course,
}

/// What the intervals that a server lacks were like for the others.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    courses: Vec<Courses>,
    /// Of each server with gaps, the place of its stratum's courses.
    place: HashMap<String, usize>,
    /// Of each stratum that has such servers, the same.
    of_stratum: BTreeMap<u32, usize>,
}

impl Gaps {
    /// Of the servers and intervals that are compared, once their strata are numbered.
    pub(super) fn of(compared: &Compared) -> Self {
        let mut strata = BTreeMap::<u32, Vec<&FleetServer>>::new();
        for (server, stratum) in compared.servers.iter().zip(&compared.stratum) {
            strata.entry(*stratum).or_default().push(server);
        }
        let sides = [compared.before.as_slice(), compared.after.as_slice()];
        let lacks = |server: &FleetServer| {
            sides.iter().any(|side| side.iter().any(|at| compared.value(server, *at).is_none()))
        };
        let mut gaps = Gaps::default();
        for (stratum, servers) in &strata {
            let lacking: Vec<&FleetServer> = servers.iter().copied().filter(|server| lacks(server)).collect();
            if lacking.is_empty() {
                continue;
            }
            gaps.of_stratum.insert(*stratum, gaps.courses.len());
            gaps.place.extend(lacking.iter().map(|server| (server.name.clone(), gaps.courses.len())));
            let course = |scale: Scale, of: Of| {
                let value = |server: usize, at: usize| value(compared, servers[server], at, of);
                Course::fit(servers.len(), compared.starts_s.len(), sides, &value, scale)
            };
            let total = Scale::Total { offset: 0.0 };
            gaps.courses.push(Courses {
                metric: course(compared.scale, Of::Metric),
                load: course(total, Of::Load),
                any: course(total, Of::Any),
            });
        }
        gaps
    }

    /// By how much a server's level over the intervals in which it has values is above its level over all of them, as a logarithm: 0
    /// for a server without gaps.
    pub(super) fn off(&self, compared: &Compared, server: &FleetServer, intervals: &[usize], of: Of) -> f64 {
        let Some(place) = self.place.get(&server.name) else { return 0.0 };
        let has = |at: &usize| compared.value(server, *at).is_some();
        let had: Vec<usize> = intervals.iter().copied().filter(has).collect();
        if had.len() == intervals.len() {
            return 0.0;
        }
        self.course(*place, of).off(&had, intervals)
    }

    /// How much of the metric of all intervals was to be expected in those that the server lacks, 0..1.
    pub(super) fn missing(&self, compared: &Compared, server: &FleetServer, intervals: &[usize]) -> f64 {
        if !self.place.contains_key(&server.name) || intervals.is_empty() {
            return 0.0;
        }
        let has = intervals.iter().filter(|at| compared.value(server, **at).is_some()).count() as f64;
        let worth = match compared.scale {
            Scale::Level => 1.0,
            Scale::Total { .. } => self.off(compared, server, intervals, Of::Metric).exp(),
        };
        (1.0 - worth * has / intervals.len() as f64).clamp(0.0, 1.0)
    }

    /// The values of a server over what its level and their interval make usual; none where nobody of its stratum lacks any.
    pub(super) fn rest(
        &self,
        compared: &Compared,
        (server, stratum): (&FleetServer, u32),
        intervals: &[usize],
    ) -> Vec<f64> {
        let Some(place) = self.of_stratum.get(&stratum) else { return Vec::new() };
        let Some(level) = compared.metric_level(server, intervals) else { return Vec::new() };
        let course = self.course(*place, Of::Metric);
        let rest = intervals.iter().filter_map(|at| {
            let (value, _) = compared.value(server, *at)?;
            Some(value / (level.exp() * course.relative(*at, intervals)?))
        });
        rest.collect()
    }

    fn course(&self, place: usize, of: Of) -> &Course {
        let courses = &self.courses[place];
        match of {
            Of::Metric => &courses.metric,
            Of::Load => &courses.load,
            Of::Any => &courses.any,
        }
    }
}

fn value(compared: &Compared, server: &FleetServer, at: usize, of: Of) -> Option<f64> {
    let (metric, load) = compared.value(server, at)?;
    match of {
        Of::Metric => Some(metric),
        Of::Load => compared.adjusted.then_some(load),
        Of::Any => Some(f64::from(u8::from(metric > 0.0))),
    }
}

impl Compared<'_> {
    /// A server's mean over all of the intervals, whichever have a value; 0 where none has.
    pub(super) fn mean(&self, server: &FleetServer, intervals: &[usize], of: Of) -> f64 {
        let values = intervals.iter().filter_map(|at| value(self, server, *at, of));
        let (sum, n) = values.fold((0.0, 0.0f64), |(sum, n), value| (sum + value, n + 1.0));
        sum / n.max(1.0) / self.gaps.off(self, server, intervals, of).exp()
    }
}
