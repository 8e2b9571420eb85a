//! `plumb explain`: what a finding means, how it was found, what to do.

use super::End;
use crate::args::ExplainArgs;
use crate::errors::UsageError;
use crate::printer;
use anyhow::Result;

pub(super) fn explain(arguments: &ExplainArgs) -> Result<End> {
    let Some(id) = &arguments.finding else {
        let width = plumb_judge::registry().iter().map(|rule| rule.id.len()).max().unwrap_or(0);
        for rule in plumb_judge::registry() {
            printer::out(&format!("{:width$}  {}\n", rule.id, rule.summary));
        }
        return Ok(End::Done);
    };
    let Some(rule) = plumb_judge::explain(id) else {
        let ids: Vec<&str> = plumb_judge::registry().iter().map(|rule| rule.id).collect();
        let message = format!("there is no finding called {id:?}");
        return Err(UsageError::new(message, format!("one of: {}", ids.join(", "))).into());
    };
    printer::out(rule.page);
    Ok(End::Done)
}
