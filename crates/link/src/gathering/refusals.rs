//! Those who were turned away: of each name and address once for what happens, however often it tries.

use crate::greeting::Refusal;
use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

/// Those that are kept to be shown: the last ones.
const KEPT: usize = 20;

/// Somebody who was turned away, from one address for one reason.
#[derive(Debug)]
pub(super) struct TurnedAway {
    /// Known only of one that knows the token.
    name: Option<String>,
    from: IpAddr,
    reason: String,
    times: u64,
    /// Its number among all.
    number: u64,
}

impl TurnedAway {
    /// Who, from where, why.
    pub(super) fn who(&self) -> String {
        let name = self.name.as_deref().unwrap_or("somebody");
        format!("{name} from {} ({})", self.from, self.reason)
    }
}

impl fmt::Display for TurnedAway {
    /// The same with how often.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who())?;
        if self.times > 1 { write!(f, ", {} times", self.times) } else { Ok(()) }
    }
}

/// All who were turned away.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    kept: VecDeque<TurnedAway>,
    /// Different ones so far.
    different: u64,
    times: u64,
}

impl Refusals {
    /// Notes one; whoever is turned away again for the same reason is no new one.
    pub(super) fn note(&mut self, name: Option<&str>, from: IpAddr, refusal: &Refusal) {
        self.times += 1;
        let reason = refusal.to_string();
        let is_it = |one: &&mut TurnedAway| one.name.as_deref() == name && one.from == from;
        if let Some(known) = self.kept.iter_mut().rev().find(is_it).filter(|last| last.reason == reason) {
            known.times += 1;
            return;
        }
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.different += 1;
        let name = name.map(str::to_owned);
        self.kept.push_back(TurnedAway { name, from, reason, times: 1, number: self.different });
    }

    /// How often anybody was turned away.
    pub(super) fn times(&self) -> u64 {
        self.times
    }

    /// How many different ones were.
    pub(super) fn different(&self) -> u64 {
        self.different
    }

    /// Those of the last ones that came after so many.
    pub(super) fn after(&self, different: u64) -> impl Iterator<Item = &TurnedAway> {
        self.kept.iter().filter(move |one| one.number > different)
    }

    /// The last ones, in words.
    pub(super) fn words(&self) -> Vec<String> {
        self.kept.iter().map(TurnedAway::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_tries_again_and_again_is_one_until_what_happens_changes() {
        let mut refusals = Refusals::default();
        let [here, there] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
        let taken = Refusal::NameTaken { name: "two".to_owned() };
        for _ in 0..57 {
            refusals.note(Some("two"), here, &taken);
            refusals.note(None, there, &Refusal::Token);
        }
        let said =
            |refusals: &Refusals, after| refusals.after(after).map(TurnedAway::who).collect::<Vec<_>>();
        let two = "two from 10.0.0.1 (a worker called two is there and lives)".to_owned();
        let somebody = "somebody from 10.0.0.2 (the token is not this run's)".to_owned();
        assert_eq!(said(&refusals, 0), [two.clone(), somebody.clone()]);
        assert_eq!(refusals.words(), [format!("{two}, 57 times"), format!("{somebody}, 57 times")]);
        assert_eq!((refusals.times(), refusals.different()), (114, 2));
        refusals.note(Some("two"), here, &Refusal::Full { workers: 2 });
        refusals.note(Some("two"), there, &taken);
        assert_eq!(
            said(&refusals, 2),
            [
                "two from 10.0.0.1 (all 2 workers are there)",
                "two from 10.0.0.2 (a worker called two is there and lives)"
            ]
        );
        refusals.note(Some("two"), here, &taken);
        assert_eq!(said(&refusals, 4), [two]);
    }

    #[test]
    fn the_last_ones_are_kept() {
        let mut refusals = Refusals::default();
        for host in 0..=KEPT as u8 {
            refusals.note(None, IpAddr::from([10, 0, 0, host]), &Refusal::Token);
        }
        assert_eq!(refusals.words().len(), KEPT);
        assert!(refusals.words()[0].starts_with("somebody from 10.0.0.1 "), "{:?}", refusals.words());
    }
}
