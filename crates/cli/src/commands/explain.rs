//! `plumb explain`: what a finding means, how it was found, what to do.

use super::End;
use crate::args::ExplainArgs;
use crate::errors::UsageError;
use crate::printer;
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
        return Err(UsageError::new(message, format!("one of: {}", ids.join(", "))).into());
    };
    printer::out(page);
    Ok(End::Done)
}
