//! The part of a table that can be compared: intervals in which both groups have values, servers that have enough of them on both
//! sides of the change. Whatever is left out is counted.

use super::error::FleetError;
use super::gaps::{Gaps, Quantity};
use super::lost::Lost;
use super::question::{FleetQuestion, Stratum};
use super::strata::{self, LeftOut};
use super::units::{Drawn, Units};
use super::usable::{ENOUGH_SHARE, Usable, believed, usable};
use super::words::moment;
use plumb_model::fleet::{Exclusion, FleetGroup, FleetServer, FleetTable, SampleKind};
use plumb_stats::fleet::change::{Scale, log_level, offset};
use std::collections::{BTreeMap, BTreeSet};

/// Least share of a group's servers with a value for an interval to be compared (ours).
const SERVERS_SHARE: f64 = 0.5;

/// A day may be an hour shorter or longer than another.
const DAYLIGHT_S: i64 = 3_600;

/// Servers and intervals that are compared. All lists of servers are in one order.
#[derive(Debug)]
pub(super) struct Compared<'t> {
    pub(super) servers: Vec<&'t FleetServer>,
    pub(super) test: Vec<bool>,
    /// Number of each server's stratum.
    pub(super) stratum: Vec<u32>,
    pub(super) strata: u32,
    /// True if some stratum has both groups.
    pub(super) mixed: bool,
    /// Servers left out with their stratum.
    pub(super) left_out: LeftOut,
    /// The units that were drawn into the groups: the servers, or the sites.
    pub(super) units: Units,
    /// The servers that went with the change, before any was left out.
    pub(super) lost: Lost,
    /// The courses of the intervals that servers with gaps lack.
    pub(super) gaps: Gaps,
    /// Places of the intervals before the change, and after it.
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
    /// The beginning of each interval of the table, in seconds since 1970.
    pub(super) starts_s: &'t [i64],
    /// The way in which values become a level.
    pub(super) scale: Scale,
    pub(super) adjusted: bool,
    pub(super) exclusions: Vec<Exclusion>,
}

/// The values of a server in one interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) metric: f64,
    /// Not a number where there is no load.
    pub(super) load: f64,
}

/// Share of a level's values from which its zeros are values, and not a time without any (ours: fewer move a mean by less than that).
const ZEROS_SHARE: f64 = 0.01;

impl<'t> Compared<'t> {
    pub(super) fn of(table: &'t FleetTable, question: &FleetQuestion) -> Result<Self, FleetError> {
        let mut exclusions = table.exclusions.clone();
        let adjusted = question.load.is_some();
        let in_groups: Vec<&FleetServer> =
            table.servers.iter().filter(|server| server.group.is_some()).collect();
        // Where samples were left out and no value is left of anything, they are the cause, and no single column.
        let any = |server: &&FleetServer| server.metric.iter().chain(&server.load).any(Option::is_some);
        if exclusions.is_empty() || in_groups.iter().any(any) {
            anything(&in_groups, question)?;
        }
        let kind = kind(&in_groups, question.metric_kind);
        unusable(&in_groups, kind, &mut exclusions);
        let mut compared = Compared {
            servers: in_groups,
            test: Vec::new(),
            stratum: Vec::new(),
            strata: 0,
            mixed: true,
            left_out: LeftOut::default(),
            units: Units::default(),
            lost: Lost::default(),
            gaps: Gaps::default(),
            before: Vec::new(),
            after: Vec::new(),
            starts_s: &table.intervals_start_s,
            scale: if kind == SampleKind::Level { Scale::Level } else { Scale::Total { offset: 0.0 } },
            adjusted,
            exclusions,
        };
        let (known, sided) = compared.intervals(question);
        compared.lost = Lost::of(&compared.servers, Usable { kind, adjusted }, &known, question);
        sided.map_err(|error| compared.lost.error().unwrap_or(error))?;
        compared.enough(Usable { kind, adjusted });
        compared.scale = scale(&compared);
        compared.with_levels();
        compared.lost.count_compared(&compared.servers);
        compared.test = compared.servers.iter().map(|it| it.group == Some(FleetGroup::Test)).collect();
        let both = compared.both_there(&table.servers);
        both.map_err(|error| compared.lost.error().unwrap_or(error))?;
        compared.moves(question)?;
        compared.leave_out_strata(&question.strata);
        let parting = strata::parting(&compared.servers, &compared.test, &question.strata);
        let drawn = Drawn { servers: &compared.servers, test: &compared.test, stratum: &compared.stratum };
        compared.units = drawn.units(parting);
        compared.gaps = Gaps::of(&compared);
        Ok(compared)
    }

    /// A server's metric in the intervals, where it has both metric and load.
    pub(super) fn metric(&self, server: &FleetServer, intervals: &[usize]) -> Vec<f64> {
        intervals.iter().filter_map(|at| self.value(server, *at).map(|it| it.metric)).collect()
    }

    /// Its load in the same; empty where there is none.
    pub(super) fn load(&self, server: &FleetServer, intervals: &[usize]) -> Vec<f64> {
        if !self.adjusted {
            return Vec::new();
        }
        intervals.iter().filter_map(|at| self.value(server, *at).map(|it| it.load)).collect()
    }

    /// The values of a server in one interval; none where it lacks one that is compared.
    pub(super) fn value(&self, server: &FleetServer, at: usize) -> Option<Value> {
        let metric = server.metric.get(at).copied().flatten().filter(believed)?;
        if matches!(self.scale, Scale::Level) && metric <= 0.0 {
            return None;
        }
        if !self.adjusted {
            return Some(Value { metric, load: f64::NAN });
        }
        let load = server.load.get(at).copied().flatten().filter(believed)?;
        Some(Value { metric, load })
    }

    /// The level of the metric over intervals, as a logarithm: over all of them, whichever have a value.
    pub(super) fn metric_level(&self, server: &FleetServer, intervals: &[usize]) -> Option<f64> {
        let level = log_level(&self.metric(server, intervals), self.scale)?;
        Some(level - self.gaps.log_excess(self, server, intervals, Quantity::Metric))
    }

    /// The level of the load.
    pub(super) fn load_level(&self, server: &FleetServer, intervals: &[usize]) -> Option<f64> {
        let level = log_level(&self.load(server, intervals), Scale::Total { offset: 0.0 })?;
        Some(level - self.gaps.log_excess(self, server, intervals, Quantity::Load))
    }

    /// Servers in each group.
    pub(super) fn counts(&self) -> BTreeMap<FleetGroup, u32> {
        let test = self.test.iter().filter(|test| **test).count() as u32;
        BTreeMap::from([(FleetGroup::Control, self.test.len() as u32 - test), (FleetGroup::Test, test)])
    }

    pub(super) fn exclude(&mut self, what: &str, count: usize, example: String, done: &str) {
        if count > 0 {
            let (what, done) = (what.to_owned(), done.to_owned());
            self.exclusions.push(Exclusion { what, count: count as u64, example, done });
        }
    }

    /// Sets the intervals before the change and after it, of those in which both groups have values. Returns those in which at
    /// least one group has values, before and after; beside them the error where a side has no interval.
    fn intervals(&mut self, question: &FleetQuestion) -> ([Vec<usize>; 2], Result<(), FleetError>) {
        let changed_s = question.changed_at_s;
        let length_s = question.interval_s as i64;
        let slack_s = if length_s >= 86_400 { DAYLIGHT_S } else { 0 };
        let present = |at: usize, group: FleetGroup| {
            let of_group = self.servers.iter().filter(|server| server.group == Some(group));
            of_group.filter(|server| server.metric.get(at).is_some_and(Option::is_some)).count()
        };
        let counts: Vec<[usize; 2]> = (0..self.starts_s.len())
            .map(|at| [present(at, FleetGroup::Control), present(at, FleetGroup::Test)])
            .collect();
        let most = |group: usize| counts.iter().map(|count| count[group]).max().unwrap_or(0) as f64;
        let there = |at: usize, group: usize| {
            counts[at][group] > 0 && counts[at][group] as f64 >= SERVERS_SHARE * most(group)
        };
        let (mut lonely, mut cut) = (Vec::new(), Vec::new());
        let (mut both, mut known) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
        for (at, start_s) in self.starts_s.iter().enumerate() {
            let after = *start_s >= changed_s;
            let whole = after || start_s + length_s <= changed_s + slack_s;
            let groups = (0..2).filter(|group| there(at, *group)).count();
            if whole && groups > 0 {
                known[usize::from(after)].push(at);
            }
            match () {
                () if groups < 2 => lonely.push(*start_s),
                () if whole => both[usize::from(after)].push(at),
                () => cut.push(*start_s),
            }
        }
        let example = |starts: &[i64]| starts.first().map_or_else(String::new, |start_s| moment(*start_s));
        let lonely_example = example(&lonely);
        self.exclude(
            "intervals in which less than half of a group has values",
            lonely.len(),
            lonely_example,
            "left out",
        );
        let cut_example = example(&cut);
        self.exclude("intervals in which the change came", cut.len(), cut_example, "left out");
        [self.before, self.after] = both;
        for (side, intervals) in [("before", &self.before), ("after", &self.after)] {
            if intervals.is_empty() {
                let have = self.span(lonely.len());
                let changed_at = moment(changed_s);
                return (known, Err(FleetError::OneSided { side, changed_at, have }));
            }
        }
        (known, Ok(()))
    }

    fn span(&self, lonely: usize) -> String {
        let (Some(first), Some(last)) = (self.starts_s.first(), self.starts_s.last()) else {
            return "there are no intervals at all".to_owned();
        };
        let apart = match lonely {
            0 => String::new(),
            n => format!("; in {n} of them less than half of a group has values"),
        };
        format!("the intervals are from {} to that of {}{apart}", moment(*first), moment(*last))
    }

    /// Only servers with values in enough intervals on both sides.
    fn enough(&mut self, usable: Usable) {
        let whole = |server: &FleetServer, intervals: &[usize]| {
            let there = intervals.iter().filter(|at| usable.at(server, **at));
            there.count() as f64 >= ENOUGH_SHARE * intervals.len() as f64
        };
        let before = |server: &FleetServer| whole(server, &self.before);
        let after = |server: &FleetServer| whole(server, &self.after);
        let (kept, out): (Vec<&FleetServer>, Vec<&FleetServer>) =
            self.servers.iter().partition(|server| before(server) && after(server));
        let (later, never): (Vec<&FleetServer>, Vec<&FleetServer>) =
            out.into_iter().partition(|server| before(server));
        self.servers = kept;
        self.exclude_servers("with values in less than half of the intervals before the change", &never);
        self.exclude_servers("with values in less than half of the intervals after the change only", &later);
    }

    /// Tells servers that are left out, each group's by themselves.
    fn exclude_servers(&mut self, what: &str, out: &[&FleetServer]) {
        for group in [FleetGroup::Control, FleetGroup::Test] {
            let of_group = || out.iter().filter(|server| server.group == Some(group));
            let example = of_group().next().map_or_else(String::new, |server| server.name.clone());
            self.exclude(
                &format!("{} servers {what}", group.name()),
                of_group().count(),
                example,
                "left out",
            );
        }
    }

    /// Only servers whose levels have logarithms.
    fn with_levels(&mut self) {
        let has = |server: &FleetServer, intervals: &[usize]| {
            self.metric_level(server, intervals).is_some()
                && (!self.adjusted || self.load_level(server, intervals).is_some())
        };
        let before = |server: &FleetServer| has(server, &self.before);
        let (kept, out): (Vec<&FleetServer>, Vec<&FleetServer>) =
            self.servers.iter().partition(|server| before(server) && has(server, &self.after));
        let (later, never): (Vec<&FleetServer>, Vec<&FleetServer>) =
            out.into_iter().partition(|server| before(server));
        self.servers = kept;
        self.exclude_servers("without any load before the change", &never);
        self.exclude_servers("with no load after the change, load before", &later);
    }

    /// Numbers the strata, and leaves out those that have one group only. Where all do, they stay, and nothing can be compared.
    fn leave_out_strata(&mut self, by: &[Stratum]) {
        let stratum = strata::numbers(&self.servers, by);
        let mut groups = BTreeMap::<u32, BTreeSet<bool>>::new();
        for (stratum, test) in stratum.iter().zip(&self.test) {
            groups.entry(*stratum).or_default().insert(*test);
        }
        let mixed = |stratum: u32| groups[&stratum].len() == 2;
        self.mixed = stratum.iter().any(|stratum| mixed(*stratum));
        let kept: Vec<usize> = (0..stratum.len()).filter(|at| !self.mixed || mixed(stratum[*at])).collect();
        for group in [FleetGroup::Control, FleetGroup::Test] {
            let of_group = (0..stratum.len()).filter(|at| self.test[*at] == (group == FleetGroup::Test));
            let out: Vec<usize> = of_group.filter(|at| self.mixed && !mixed(stratum[*at])).collect();
            let example = out.first().map_or_else(String::new, |at| self.servers[*at].name.clone());
            let what = format!("{} servers of strata that have one group only", group.name());
            self.exclude(&what, out.len(), example, "left out");
            match group {
                FleetGroup::Control => self.left_out.control = out.len() as u64,
                FleetGroup::Test => self.left_out.test = out.len() as u64,
            }
        }
        self.servers = kept.iter().map(|at| self.servers[*at]).collect();
        self.test = kept.iter().map(|at| self.test[*at]).collect();
        self.stratum = kept.iter().map(|at| stratum[*at]).collect();
        self.strata = self.stratum.iter().collect::<BTreeSet<_>>().len() as u32;
    }

    fn both_there(&self, all: &[FleetServer]) -> Result<(), FleetError> {
        for group in [FleetGroup::Control, FleetGroup::Test] {
            if !self.servers.iter().any(|server| server.group == Some(group)) {
                let named = all.iter().filter(|server| server.group == Some(group)).count();
                return Err(FleetError::EmptyGroup { group, named });
            }
        }
        Ok(())
    }

    /// A metric or load that is the same everywhere in a group is no measurement.
    fn moves(&self, question: &FleetQuestion) -> Result<(), FleetError> {
        let intervals: Vec<usize> = self.before.iter().chain(&self.after).copied().collect();
        let load = question.load.as_deref().unwrap_or_default();
        for group in [FleetGroup::Control, FleetGroup::Test] {
            let of_group = || self.servers.iter().filter(|server| server.group == Some(group));
            for (quantity, metric) in [(question.metric.as_str(), true), (load, false)] {
                let mut values = of_group().flat_map(|server| {
                    if metric { self.metric(server, &intervals) } else { self.load(server, &intervals) }
                });
                let Some(value) = values.next() else { continue };
                // One server with one value on each side may well have the same one twice.
                if values.next().is_some() && values.all(|other| other == value) && of_group().count() > 1 {
                    let quantity = quantity.to_owned();
                    return Err(FleetError::Constant { quantity, group, value });
                }
            }
        }
        Ok(())
    }
}

/// Refuses a group without any value of the metric, or of the load.
fn anything(servers: &[&FleetServer], question: &FleetQuestion) -> Result<(), FleetError> {
    for group in [FleetGroup::Control, FleetGroup::Test] {
        let of_group = || servers.iter().filter(|server| server.group == Some(group));
        if of_group().next().is_none() {
            continue;
        }
        let metric = of_group().flat_map(|server| server.metric.iter().flatten()).any(believed);
        let mut loads =
            of_group().flat_map(|server| server.load.iter().flatten()).filter(|it| believed(it)).peekable();
        let load = question.load.clone();
        let no_values = |quantity| Err(FleetError::NoValues { quantity, group });
        match load {
            _ if !metric => return no_values(question.metric.clone()),
            Some(load) if loads.peek().is_none() => return no_values(load),
            Some(load) if loads.all(|load| *load == 0.0) => return Err(FleetError::NoLoad { load, group }),
            _ => {}
        }
    }
    Ok(())
}

/// A level that is often 0, such as the length of a queue, is a mean like that of counts: leaving its zeros out would leave out the good times.
fn kind(servers: &[&FleetServer], kind: SampleKind) -> SampleKind {
    let values =
        servers.iter().flat_map(|server| server.metric.iter().flatten()).filter(|value| believed(value));
    let (zeros, all) =
        values.fold((0u64, 0u64), |(zeros, all), value| (zeros + u64::from(*value == 0.0), all + 1));
    match kind {
        SampleKind::Level if zeros as f64 >= ZEROS_SHARE * all as f64 && zeros > 0 => SampleKind::Increments,
        kind => kind,
    }
}

/// Values that cannot be used, counted by kind.
fn unusable(servers: &[&FleetServer], kind: SampleKind, exclusions: &mut Vec<Exclusion>) {
    let rows = [
        ("values of the metric that are no number, negative or beyond 10^30", kind),
        ("values of the load that are no number, negative or beyond 10^30", SampleKind::Increments),
    ];
    for (row, (what, kind)) in rows.into_iter().enumerate() {
        let values = |server: &FleetServer| {
            let values = if row == 0 { &server.metric } else { &server.load };
            let bad = values.iter().flatten().filter(|value| usable(Some(**value), kind).is_none());
            bad.count() as u64
        };
        let counts: Vec<u64> = servers.iter().map(|server| values(server)).collect();
        let count = counts.iter().sum();
        if let Some(first) = counts.iter().position(|count| *count > 0) {
            let what = if kind == SampleKind::Level {
                "values of the metric that are not above 0, or beyond 10^30"
            } else {
                what
            };
            let example = format!(
                "{} ({} group)",
                servers[first].name,
                servers[first].group.map_or("no", FleetGroup::name)
            );
            exclusions.push(Exclusion {
                what: what.to_owned(),
                count,
                example,
                done: "taken as missing".to_owned(),
            });
        }
    }
}

/// Counts are added up, with an offset for servers without any; levels are not.
fn scale(compared: &Compared) -> Scale {
    if compared.scale == Scale::Level {
        return Scale::Level;
    }
    let sides = [&compared.before, &compared.after];
    let sum_is_zero = |server: &&FleetServer| {
        sides.iter().any(|intervals| compared.metric(server, intervals).iter().sum::<f64>() == 0.0)
    };
    let any_zero = compared.servers.iter().any(sum_is_zero);
    let values = compared.servers.iter().flat_map(|server| server.metric.iter().flatten().copied());
    Scale::Total { offset: offset(values, any_zero) }
}
