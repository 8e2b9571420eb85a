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
        let meant = near::question(&near::near(id, ids.iter().copied())).unwrap_or_default();
        return Err(UsageError::new(message, format!("{meant} one of: {}", ids.join(", ")).trim()).into());
    };
    let page = row.explanation();
    // A program that reads it has the page as it was written.
    match printer::for_people() {
        true => printer::out(&plumb_report::page_text::render(&page, printer::style())),
        false => printer::out(&page),
    }
    Ok(End::Done)
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
