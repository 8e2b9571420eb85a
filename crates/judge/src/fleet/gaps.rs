//! Servers that have no value in some of the intervals.
//!
//! Their mean is over other intervals than the others'. Where one group lacks the busy ones, that alone makes it look better. So
//! the intervals' own course, of all servers of the stratum together, is taken off such a server before it is compared. A server
//! without gaps, and a fleet without any, stays as it is.

use super::compared::Compared;
use plumb_model::fleet::FleetServer;
use plumb_stats::fleet::change::Scale;
use plumb_stats::fleet::course::Course;
use std::collections::{BTreeMap, HashMap};

/// A quantity of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Metric,
    Load,
    /// The metric as 1 where it is above 0, else 0.
    Any,
}

/// The courses of one stratum.
#[derive(Debug)]
struct Courses {
    metric: Course,
    load: Course,
    any: Course,
}

/// The courses of the intervals that servers lack, by the other servers.
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
            let course = |scale: Scale, of: Quantity| {
                let value = |server: usize, at: usize| value(compared, servers[server], at, of);
                Course::fit(servers.len(), compared.starts_s.len(), sides, &value, scale)
            };
            let total = Scale::Total { offset: 0.0 };
            gaps.courses.push(Courses {
                metric: course(compared.scale, Quantity::Metric),
                load: course(total, Quantity::Load),
                any: course(total, Quantity::Any),
            });
        }
        gaps
    }

    /// A server's level over the intervals in which it has values, over its level in all of them, as a logarithm: 0 for a server
    /// without gaps.
    pub(super) fn log_excess(
        &self,
        compared: &Compared,
        server: &FleetServer,
        intervals: &[usize],
        of: Quantity,
    ) -> f64 {
        let Some(place) = self.place.get(&server.name) else { return 0.0 };
        let has = |at: &usize| compared.value(server, *at).is_some();
        let had: Vec<usize> = intervals.iter().copied().filter(has).collect();
        if had.len() == intervals.len() {
            return 0.0;
        }
        self.course(*place, of).off(&had, intervals)
    }

    /// The share of the metric of all intervals that was to be expected in those that the server lacks, 0..1.
    pub(super) fn missing(&self, compared: &Compared, server: &FleetServer, intervals: &[usize]) -> f64 {
        if !self.place.contains_key(&server.name) || intervals.is_empty() {
            return 0.0;
        }
        let has = intervals.iter().filter(|at| compared.value(server, **at).is_some()).count() as f64;
        let worth = match compared.scale {
            Scale::Level => 1.0,
            Scale::Total { .. } => self.log_excess(compared, server, intervals, Quantity::Metric).exp(),
        };
        (1.0 - worth * has / intervals.len() as f64).clamp(0.0, 1.0)
    }

    /// The values of the server at this place over what its level and their interval make usual; none where nobody of its stratum
    /// lacks any.
    pub(super) fn rest(&self, compared: &Compared, server: usize, intervals: &[usize]) -> Vec<f64> {
        let Some(place) = self.of_stratum.get(&compared.stratum[server]) else { return Vec::new() };
        let server = compared.servers[server];
        let Some(level) = compared.metric_level(server, intervals) else { return Vec::new() };
        let course = self.course(*place, Quantity::Metric);
        let rest = intervals.iter().filter_map(|at| {
            let value = compared.value(server, *at)?.metric;
            Some(value / (level.exp() * course.relative(*at, intervals)?))
        });
        rest.collect()
    }

    fn course(&self, place: usize, of: Quantity) -> &Course {
        let courses = &self.courses[place];
        match of {
            Quantity::Metric => &courses.metric,
            Quantity::Load => &courses.load,
            Quantity::Any => &courses.any,
        }
    }
}

fn value(compared: &Compared, server: &FleetServer, at: usize, of: Quantity) -> Option<f64> {
    let value = compared.value(server, at)?;
    match of {
        Quantity::Metric => Some(value.metric),
        Quantity::Load => compared.adjusted.then_some(value.load),
        Quantity::Any => Some(f64::from(u8::from(value.metric > 0.0))),
    }
}

impl Compared<'_> {
    /// A server's mean over all of the intervals, whichever have a value; 0 where none has.
    pub(super) fn mean(&self, server: &FleetServer, intervals: &[usize], of: Quantity) -> f64 {
        let values = intervals.iter().filter_map(|at| value(self, server, *at, of));
        let (sum, n) = values.fold((0.0, 0.0f64), |(sum, n), value| (sum + value, n + 1.0));
        sum / n.max(1.0) / self.gaps.log_excess(self, server, intervals, of).exp()
    }
}
