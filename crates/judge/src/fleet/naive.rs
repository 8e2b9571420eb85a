//! The results of the usual methods on the same figures, each with the reason against it.

use super::compared::Compared;
use super::question::FleetQuestion;
use plumb_model::fleet::{FleetServer, NaiveFigure};
use plumb_stats::ends::Ends;
use plumb_stats::fleet::change::Scale;
use plumb_stats::fleet::design::{Design, Groups};
use plumb_stats::fleet::naive::{Naive, Rate, poisson, samples};

const EVENTS: &str = "Every event counts as a sample, though a server's come together: far too narrow";
const DAYS: &str = "Every interval counts as a sample, though a server's are alike: far too narrow";

/// All of them.
pub(super) fn naive(compared: &Compared, question: &FleetQuestion) -> Vec<NaiveFigure> {
    let levels = compared.scale == Scale::Level;
    let why = if levels { DAYS } else { EVENTS };
    let pooled = |over: &[Cell], under: &[Cell]| match levels {
        true => of_samples(compared, over, under, question.level),
        false => of_events(compared, over, under, question.level),
    };
    let (test_after, test_before) = (Cell { test: true, after: true }, Cell { test: true, after: false });
    let (control_after, control_before) =
        (Cell { test: false, after: true }, Cell { test: false, after: false });
    let mut figures = vec![
        figure(
            "test group, after over before",
            pooled(&[test_after], &[test_before]),
            format!("Whatever else happened at that time is in it. {why}."),
        ),
        figure(
            "after the change, test over control",
            pooled(&[test_after], &[control_after]),
            format!("The groups may have differed before. {why}."),
        ),
        figure(
            "difference in differences, all pooled",
            pooled(&[test_after, control_before], &[test_before, control_after]),
            format!("{why}."),
        ),
    ];
    if compared.adjusted {
        figures.push(figure(
            "by server, load left out",
            by_server(compared, question, false),
            "A surge that hits the groups differently is taken for the change.".to_owned(),
        ));
        figures.push(figure(
            "by server, metric over load",
            by_server(compared, question, true),
            "It takes the metric to grow as the load does; drops and latencies grow faster, and what is left of a surge is taken for \
             the change."
                .to_owned(),
        ));
    }
    figures
}

/// A group on one side of the change.
#[derive(Debug, Clone, Copy)]
struct Cell {
    test: bool,
    after: bool,
}

impl Cell {
    fn values<'c>(self, compared: &'c Compared<'_>) -> impl Iterator<Item = (&'c FleetServer, &'c [usize])> {
        let intervals = if self.after { &compared.after } else { &compared.before };
        let of_group =
            compared.servers.iter().zip(&compared.test).filter(move |(_, test)| **test == self.test);
        of_group.map(move |(server, _)| (*server, intervals.as_slice()))
    }
}

fn of_events(compared: &Compared, over: &[Cell], under: &[Cell], level: f64) -> Option<Naive> {
    let rates = |cells: &[Cell]| -> Vec<Rate> {
        let rate = |cell: &Cell| {
            let mut rate = Rate { events: 0.0, exposure: 0.0 };
            for (server, intervals) in cell.values(compared) {
                let metric = compared.metric(server, intervals);
                let load: f64 = compared.load(server, intervals).iter().sum();
                rate.exposure += if compared.adjusted { load } else { metric.len() as f64 };
                rate.events += metric.iter().sum::<f64>();
            }
            rate
        };
        cells.iter().map(rate).collect()
    };
    poisson(&rates(over), &rates(under), level)
}

fn of_samples(compared: &Compared, over: &[Cell], under: &[Cell], level: f64) -> Option<Naive> {
    let logs = |cells: &[Cell]| -> Vec<Vec<f64>> {
        let of = |cell: &Cell| {
            let values =
                cell.values(compared).flat_map(|(server, intervals)| compared.metric(server, intervals));
            values.map(f64::ln).collect()
        };
        cells.iter().map(of).collect()
    };
    let (over, under) = (logs(over), logs(under));
    samples(
        &over.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        &under.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        level,
    )
}

/// Servers as the units, the load left out or divided by.
fn by_server(compared: &Compared, question: &FleetQuestion, per_load: bool) -> Option<Naive> {
    let change = |server: &&FleetServer| {
        let metric = compared.metric_level(server, &compared.after)?
            - compared.metric_level(server, &compared.before)?;
        let load =
            compared.load_level(server, &compared.after)? - compared.load_level(server, &compared.before)?;
        Some(if per_load { metric - load } else { metric })
    };
    let changes: Vec<f64> = compared.servers.iter().map(change).collect::<Option<_>>()?;
    let groups = Groups { test: &compared.test, stratum: &compared.stratum, load: None };
    let effect = Design::new(&groups)?.effect(&changes)?;
    let Ends { low, high } = effect.interval(question.level)?;
    Some(Naive { ratio: effect.log_ratio.exp(), low: low.exp(), high: high.exp(), p: effect.p()? })
}

fn figure(name: &str, naive: Option<Naive>, why_not: String) -> NaiveFigure {
    NaiveFigure {
        name: name.to_owned(),
        estimate_ratio: naive.map(|it| it.ratio),
        interval_low: naive.map(|it| it.low),
        interval_high: naive.map(|it| it.high),
        p: naive.map(|it| it.p),
        why_not,
    }
}
