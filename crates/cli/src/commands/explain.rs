//! `plumb explain`: what a finding means, how it was found, what to do.

use super::End;
use crate::args::ExplainArgs;
use crate::errors::UsageError;
use crate::{near, printer};
use anyhow::Result;

pub(super) fn explain(arguments: &ExplainArgs) -> Result<End> {
    let Some(id) = &arguments.finding else {
        list();
        return Ok(End::Done);
    };
    let Some(row) = plumb_judge::row(id) else {
        let ids: Vec<&str> = plumb_judge::rows().map(|row| row.id).collect();
        let message = format!("there is no finding called {id:?}");
        let meant = near::question(&meant(id, &ids)).unwrap_or_default();
        let hint = format!("{meant} plumb explain, without a name, lists all {}", ids.len());
        return Err(UsageError::new(message, hint.trim()).into());
    };
    let page = row.explanation();
    // A program that reads it has the page as it was written.
    match printer::for_people() {
        true => printer::out(&plumb_report::page_text::render(&page, printer::style())),
        false => printer::out(&page),
    }
    Ok(End::Done)
}

/// Letters of a part of a name that says something by itself (ours): `lost`, not `of`.
const PART_LEAST: usize = 4;
/// Most proposals.
const MEANT_MOST: usize = 3;

/// The ids that are like the one that was written; where none is, those that have a part of it.
fn meant<'a>(id: &str, ids: &[&'a str]) -> Vec<&'a str> {
    let whole = near::near(id, ids.iter().copied());
    if !whole.is_empty() {
        return whole;
    }
    let parts = id.split(['-', '_', '.', ' ']).filter(|part| part.len() >= PART_LEAST);
    let mut found: Vec<&str> = Vec::new();
    for of_part in parts.flat_map(|part| near::near(part, ids.iter().copied())) {
        if !found.contains(&of_part) {
            found.push(of_part);
        }
    }
    found.truncate(MEANT_MOST);
    found
}

/// Every id with its line, under the output that shows it.
fn list() {
    let width = plumb_judge::rows().map(|row| row.id.len()).max().unwrap_or(0);
    let mut family = None;
    for row in plumb_judge::rows() {
        if family != Some(row.family) {
            let above = if family.is_some() { "\n" } else { "" };
            printer::out(&format!("{above}{}\n", row.family.title()));
            family = Some(row.family);
        }
        printer::out(&format!("  {:width$}  {}\n", row.id, row.summary));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_like_none_is_given_those_that_share_a_part_with_it() {
        let ids = ["messages-lost", "messages-failed", "linger-bound", "slow-disk", "acks-of-all"];
        assert_eq!(meant("lingr-bound", &ids), ["linger-bound"]);
        assert_eq!(meant("records-lost-by-brokers", &ids), ["messages-lost"]);
        assert_eq!(meant("all-of-it", &ids), Vec::<&str>::new());
    }
}
