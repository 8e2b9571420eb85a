//! `plumb explain`: what a finding means, how it was found, what to do.

use super::End;
use crate::args::ExplainArgs;
use crate::errors::UsageError;
use crate::{near, printer};
use anyhow::Result;

pub(super) fn explain(arguments: &ExplainArgs) -> Result<End> {
    let Some(id) = &arguments.finding else {
        let width = plumb_judge::summaries().map(|(id, _)| id.len()).max().unwrap_or(0);
        for (id, summary) in plumb_judge::summaries() {
            printer::out(&format!("{id:width$}  {summary}\n"));
        }
        return Ok(End::Done);
    };
    let Some(page) = plumb_judge::page(id) else {
        let ids: Vec<&str> = plumb_judge::summaries().map(|(id, _)| id).collect();
        let message = format!("there is no finding called {id:?}");
        let meant = near::question(&near::near(id, ids.iter().copied())).unwrap_or_default();
        return Err(UsageError::new(message, format!("{meant} one of: {}", ids.join(", ")).trim()).into());
    };
    // A program that reads it has the page as it was written.
    match printer::for_people() {
        true => printer::out(&plumb_report::page_text::render(page, printer::style())),
        false => printer::out(page),
    }
    Ok(End::Done)
}
