//! The shares of processor time: by class of work, of the whole and of each class of threads, and the flame graph.

use super::stacked::{Part, Stacked};
use crate::paint::printable;
use crate::path::flame::{Flame, flame};
use crate::path::words::{self, CPU_CLASSES};
use plumb_model::figure::{counted, percent};
use plumb_model::observed::{CpuClass, ProcessWindow, Profile, ProfileShare, ThreadClass};

/// The profile of one process.
pub(super) struct CpuView {
    pub(super) heading: String,
    pub(super) meaning: String,
    pub(super) bars: Vec<Stacked>,
    pub(super) legend: Vec<Share>,
    pub(super) flame: Option<Flame>,
}

/// A class with its share of the work.
pub(super) struct Share {
    pub(super) style: &'static str,
    pub(super) name: &'static str,
    /// Empty where it has none of the work, but of some threads.
    pub(super) share: String,
}

/// None where there is no profile with samples.
pub(super) fn view(process: &ProcessWindow) -> Option<CpuView> {
    let profile = process.profile.as_ref().filter(|profile| profile.samples > 0)?;
    let mut bars = vec![bar("all work", profile, None)];
    let mut threads: Vec<ThreadClass> = profile.shares.iter().filter_map(|share| share.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.sort_by_key(|class| std::cmp::Reverse(samples(profile, *class)));
    // What compilers and collections do is their name.
    threads.retain(|class| !matches!(class, ThreadClass::Gc | ThreadClass::Jit));
    bars.extend(threads.into_iter().map(|class| bar(words::threads(class), profile, Some(class))));
    Some(CpuView {
        heading: printable(&format!("process {} ({})", process.pid, process.command)),
        meaning: crate::path::profiled(profile),
        bars,
        legend: legend(profile),
        flame: flame(profile),
    })
}

fn is_work(class: CpuClass) -> bool {
    !matches!(class, CpuClass::Gc | CpuClass::Jit)
}

fn of(profile: &Profile, threads: Option<ThreadClass>) -> impl Iterator<Item = &ProfileShare> {
    profile.shares.iter().filter(move |share| share.threads == threads && is_work(share.class))
}

fn samples(profile: &Profile, threads: ThreadClass) -> u64 {
    of(profile, Some(threads)).fold(0, |sum, share| sum.saturating_add(share.samples))
}

fn bar(name: &str, profile: &Profile, threads: Option<ThreadClass>) -> Stacked {
    let part = |class: CpuClass| {
        let share = of(profile, threads).find(|share| share.class == class)?;
        Some(Part {
            style: words::cpu_style(class),
            share: share.share,
            label: percent(share.share),
            title: format!("{}: {}", words::cpu(class), percent(share.share)),
        })
    };
    let parts: Vec<Part> = CPU_CLASSES.into_iter().filter_map(part).collect();
    let samples = match threads {
        None => profile.samples_of_work,
        Some(threads) => samples(profile, threads),
    };
    Stacked::new(name.to_owned(), counted(samples, "sample"), &parts)
}

fn legend(profile: &Profile) -> Vec<Share> {
    let of_class = |class: CpuClass| {
        let whole = of(profile, None).find(|share| share.class == class).map(|share| share.share);
        let anywhere = profile.shares.iter().any(|share| share.class == class && share.samples > 0);
        let entry = LegendShare { class, share: whole };
        (anywhere && is_work(class)).then_some(entry)
    };
    let mut known: Vec<LegendShare> = CPU_CLASSES.into_iter().filter_map(of_class).collect();
    known.sort_by(|a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    known
        .into_iter()
        .map(|entry| Share {
            style: words::cpu_style(entry.class),
            name: words::cpu(entry.class),
            share: entry.share.map_or_else(String::new, percent),
        })
        .collect()
}

struct LegendShare {
    class: CpuClass,
    share: Option<f64>,
}
