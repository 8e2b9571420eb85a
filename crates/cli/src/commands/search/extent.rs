//! How many blocks and how much time a search takes, with the trials that follow it, before it begins: at least and at most.

use super::proof::{OtherRate, Proof};
use super::request::Request;
use super::{CLIMBS_MOST, restart_plan};
use crate::progress::Estimate;
use anyhow::{Context, Result};
use plumb_judge::settings_search::{BLOCKS_LEAST, Course, EXPLORING_LEAST, TRIALS_MOST};
use plumb_model::figure::{self, counted};
use plumb_model::plan::{Plan, Properties};
use plumb_model::settings_search::{SearchDimension, SettingsSearch, SettingsSearchResult};

/// Blocks, and the time that they take.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Extent {
    blocks: u64,
    estimate: Estimate,
}

impl Extent {
    fn of(plan: &Plan) -> Self {
        Extent { blocks: u64::from(plan.blocks) * plan.steps.len() as u64, estimate: Estimate::of(plan) }
    }

    fn plus(self, other: Extent) -> Extent {
        Extent { blocks: self.blocks + other.blocks, estimate: self.estimate.plus(other.estimate) }
    }

    /// `38 blocks, 5m 10s`: all of what is known of its time.
    fn words(self, seconds: fn(Estimate) -> f64) -> String {
        let blocks = counted(usize::try_from(self.blocks).unwrap_or(usize::MAX), "block");
        match self.estimate.known_s() {
            Some(_) => format!("{blocks}, {}", figure::estimate(seconds(self.estimate))),
            None => blocks,
        }
    }

    fn at_least(self) -> String {
        self.words(|estimate| estimate.s)
    }

    fn at_most(self) -> String {
        self.words(Estimate::most_s)
    }
}

/// The trials that follow a search which finds something, beside those of starts of the brokers.
struct Trials<'a> {
    request: &'a Request,
    search: &'a Plan,
    space: &'a SettingsSearch,
}

impl Trials<'_> {
    /// As many changes as the space has settings.
    fn all(&self) -> Properties {
        let another = |dimension: &SearchDimension| {
            let other = dimension.values.iter().enumerate().find(|(at, _)| *at != dimension.current)?.1;
            Some((dimension.setting.clone(), other.clone()))
        };
        self.space.dimensions.iter().filter_map(another).collect()
    }

    /// Of the proof of these changes and the looks at other rates. `fewer` are proven beside them, and one of those alone.
    fn proof(&self, winner: &Properties, fewer: &Properties) -> Result<Extent> {
        let alone: Properties = fewer.clone().into_iter().take(1).collect();
        let proof = self.of(winner, fewer, &alone);
        let rates = proof.other_rates(self.search);
        // What has too few messages at a rate is not looked at there.
        let looks = rates.into_iter().filter_map(|rate: OtherRate| proof.rate_plan(rate).ok());
        Ok(looks.fold(Extent::of(&proof.plan()?), |sum, plan| sum.plus(Extent::of(&plan))))
    }

    /// Changes of a usual winner: as many as the largest preset has.
    fn usual(&self, one: &Properties) -> Properties {
        let presets = self.space.presets.iter().map(|preset| &preset.settings);
        presets
            .max_by_key(|settings| settings.len())
            .filter(|settings| settings.len() > 1)
            .unwrap_or(one)
            .clone()
    }

    /// Of taking them back once: each one's part, and a race of fewer.
    fn taking_back_once(&self, winner: &Properties) -> Result<Option<Extent>> {
        let fewer: Properties = winner.clone().into_iter().skip(1).collect();
        if fewer.is_empty() {
            return Ok(None);
        }
        let proof = self.of(winner, winner, winner);
        let race = Extent::of(&proof.race_plan(winner, &fewer)?);
        Ok(Some(Extent::of(&proof.parts_plan(winner, 1)?).plus(race)))
    }

    /// Of taking changes back at most: each one's part in turn, once more where too much is disturbed, and a race of fewer after each time.
    fn taking_back(&self, winner: &Properties) -> Result<Option<Extent>> {
        if winner.len() < 2 {
            return Ok(None);
        }
        let fewer: Properties = winner.clone().into_iter().skip(1).collect();
        let proof = self.of(winner, winner, winner);
        let [once, again] = [1, 2].map(|times| proof.parts_plan(winner, times));
        let parts = Extent::of(&once?).plus(Extent::of(&again?));
        let race = Extent::of(&proof.race_plan(winner, &fewer)?);
        let trials = (0..TRIALS_MOST).map(|at| if at % 2 == 0 { parts } else { race });
        Ok(trials.reduce(Extent::plus))
    }

    fn of<'p>(&'p self, winner: &'p Properties, smallest: &Properties, shown: &Properties) -> Proof<'p> {
        Proof {
            request: self.request,
            winner,
            smallest: smallest.clone(),
            shown: shown.clone(),
            unpruned: None,
            rate_per_s: None,
        }
    }
}

/// The search alone, up to its budget and with the blocks in which changes are taken back.
fn of_search(plan: &Plan) -> Result<(Extent, Extent)> {
    let none = SettingsSearchResult::default();
    let most = Course::of(plan, &none).context("the plan of the search has no space")?.blocks_most() as u64;
    let budget = Extent::of(plan);
    let share = most as f64 / budget.blocks.max(1) as f64;
    Ok((budget, Extent { blocks: most, estimate: budget.estimate.times(share) }))
}

/// What a search takes that has nothing to try; none where it has something.
fn nothing_to_try(request: &Request, plan: &Plan, space: &SettingsSearch) -> Result<Option<String>> {
    let none = SettingsSearchResult::default();
    let course = Course::of(plan, &none).context("the plan of the search has no space")?;
    if space.budget as usize >= EXPLORING_LEAST || course.presets_left() > 0 {
        return Ok(None);
    }
    let budget = Extent::of(plan);
    let of_noise = |blocks: usize| Extent {
        blocks: blocks as u64,
        estimate: budget.estimate.times(blocks as f64 / budget.blocks.max(1) as f64),
    };
    let [least, most] = [BLOCKS_LEAST, 2 * BLOCKS_LEAST].map(of_noise);
    let why = match space.presets.len() {
        0 => "none of these is among the settings that may change".to_owned(),
        1 => "the load rules the one of them out".to_owned(),
        presets => format!("the load rules all {presets} of them out"),
    };
    let restart = restart_plan(request, plan)?.filter(|_| !request.trial_only);
    let restart = restart.map(|plan| {
        format!("\nplumb: the trial of what needs a restart takes {}.", Extent::of(&plan).at_least())
    });
    Ok(Some(format!(
        "plumb: nothing but your own settings is tried: a search of fewer than {EXPLORING_LEAST} blocks (--budget) has presets alone, and {why}.\n\
         plumb: that takes {}, or {} where equal blocks do not agree. Only a change that a finding of the first block advises would be tried, and \
         proven, on top.{}",
        least.at_least(),
        most.at_most(),
        restart.unwrap_or_default()
    )))
}

/// What a search takes, and what follows it, each at least and at most.
pub(super) fn sentences(request: &Request, plan: &Plan) -> Result<String> {
    let space = plan.settings_search.as_ref().context("the plan of the search has no space")?;
    if let Some(nothing) = nothing_to_try(request, plan, space)? {
        return Ok(nothing);
    }
    let (budget, most) = of_search(plan)?;
    let least = Extent {
        blocks: BLOCKS_LEAST as u64,
        estimate: budget.estimate.times(BLOCKS_LEAST as f64 / budget.blocks.max(1) as f64),
    };
    let search = format!(
        "{}, or up to {} where changes are taken back in it; fewer where nothing is left to try",
        budget.at_least(),
        most.at_most()
    );
    if request.climbs()? {
        return Ok(format!(
            "plumb: each search takes {search}. There is one at each rate that is tried, {CLIMBS_MOST} at most, and the proof takes as long \
             as one or more."
        ));
    }
    if request.trial_only {
        return Ok(format!("plumb: the search takes {search}."));
    }
    let trials = Trials { request, search: plan, space };
    let all = trials.all();
    let one: Properties = all.clone().into_iter().take(1).collect();
    let fewer: Properties = all.clone().into_iter().take(all.len().saturating_sub(1).max(1)).collect();
    let restart = restart_plan(request, plan)?.map(|plan| Extent::of(&plan));
    let with = |first: Extent, more: Option<Extent>| more.map_or(first, |more| first.plus(more));
    let found_least = with(trials.proof(&one, &one)?, restart);
    let usual = trials.usual(&one);
    let found = with(with(trials.proof(&usual, &usual)?, trials.taking_back_once(&usual)?), restart);
    let found_most = with(with(trials.proof(&all, &fewer)?, trials.taking_back(&all)?), restart);
    Ok(format!(
        "plumb: the search takes {search}.\n\
         plumb: the trials of what it finds take at least {} (one change), about {} where it finds {}, at most {} (each of {} changed, most of it to take \
         them back one by one).\n\
         plumb: all of it takes at least {} (nothing to find), at most {}.",
        found_least.at_least(),
        found.at_least(),
        counted(usual.len(), "change"),
        found_most.at_most(),
        counted(all.len(), "setting"),
        least.at_least(),
        most.plus(found_most).at_most()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::search::SearchArgs;
    use clap::Parser as _;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        search: SearchArgs,
    }

    fn said(search: &str, flags: &[&str]) -> String {
        said_of(&format!("search: {search}"), flags)
    }

    fn said_of(rest: &str, flags: &[&str]) -> String {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s.yaml");
        std::fs::write(
            &path,
            format!("cluster: {{bootstrap: b:1}}\nload: {{rate: 1000, warm_up: 0s}}\nsettle: 0s\n{rest}\n"),
        )
        .unwrap();
        let words = ["x", path.to_str().unwrap()].into_iter().chain(flags.iter().copied());
        let request = Request::new(&Line::parse_from(words).search).unwrap();
        sentences(&request, &request.search_plan().unwrap()).unwrap()
    }

    #[test]
    fn a_search_says_how_many_blocks_and_how_long_it_takes_with_all_that_follows() {
        let said = said("{budget: 14, block: 10s, settings: [producer.linger.ms, producer.batch.size]}", &[]);
        // A block has 10 s and what is around it. Proof of one change: 12 pairs of three arms, and twice three pairs of three at other rates.
        // Two changes: their parts in 9 pairs of four, a race in 8 of three, the proof with one of them beside; at most that three times, each part again in 18 pairs, and the
        // proof with all changes beside.
        assert_eq!(
            said,
            "plumb: the search takes 14 blocks, 2m 31s, or up to 38 blocks, 6m 50s where changes are taken back in it; fewer where nothing \
             is left to try.\n\
             plumb: the trials of what it finds take at least 54 blocks, 9m 43s (one change), about 126 blocks, 22m 41s where it finds 2 \
             changes, at most 462 blocks, 1h 23m (each of 2 settings changed, most of it to take them back one by one).\n\
             plumb: all of it takes at least 2 blocks, 22 s (nothing to find), at most 500 blocks, 1h 30m."
        );
    }

    #[test]
    fn a_search_that_has_nothing_to_try_says_so_and_what_it_runs_instead() {
        let none = said("{budget: 14, block: 10s, settings: [producer.sticky.partitioning.linger.ms]}", &[]);
        assert_eq!(
            none,
            "plumb: nothing but your own settings is tried: a search of fewer than 20 blocks (--budget) has presets alone, and none of these \
             is among the settings that may change.\n\
             plumb: that takes 2 blocks, 22 s, or 4 blocks, 43 s where equal blocks do not agree. Only a change that a finding of the first \
             block advises would be tried, and proven, on top."
        );
        let lingers = "search: {budget: 14, block: 10s, settings: [producer.linger.ms], goal: p50<100us}\n\
                       setups: [{producer: {linger.ms: 0}}]";
        let ruled_out = said_of(lingers, &[]);
        assert!(ruled_out.contains("has presets alone, and the load rules all "), "{ruled_out}");
        // With a model, or a preset, there is something to try.
        for more in [lingers.replace("14", "20"), lingers.replace("linger.ms: 0", "linger.ms: 50")] {
            let said = said_of(&more, &[]);
            assert!(!said.contains("nothing but your own settings"), "{said}");
        }
    }

    #[test]
    fn a_search_without_its_trials_says_what_it_takes_itself() {
        let said = said("{budget: 20, block: 10s}", &["--trial-only"]);
        assert_eq!(
            said,
            "plumb: the search takes 20 blocks, 3m 36s, or up to 44 blocks, 7m 55s where changes are taken back in it; fewer where nothing \
             is left to try."
        );
    }
}
