//! The pairs of published rows and our steps that stand beside each other.

use plumb_model::document::{ReferenceRow, ReferenceTable, StepResult};

/// The published rows of the same setup at the same rate. A step's name may go on after the setup's name
/// (`optimised, 100/s`), because a sweep makes names unique that way; a row of just the step's name goes before. Several rows: it was published several times.
pub(crate) fn published<'t>(table: Option<&'t ReferenceTable>, step: &StepResult) -> Vec<&'t ReferenceRow> {
    let rows: Vec<&ReferenceRow> =
        table.map_or_else(Vec::new, |table| table.rows.iter().filter(|row| same(row, step)).collect());
    let exact: Vec<&ReferenceRow> = rows.iter().filter(|row| row.name == step.name).copied().collect();
    if exact.is_empty() { rows } else { exact }
}

/// The published rows that belong to no step of this run.
pub(crate) fn unpaired<'t>(table: &'t ReferenceTable, steps: &[StepResult]) -> Vec<&'t ReferenceRow> {
    table.rows.iter().filter(|row| !steps.iter().any(|step| same(row, step))).collect()
}

fn same(row: &ReferenceRow, step: &StepResult) -> bool {
    let same_name = step
        .name
        .strip_prefix(&row.name)
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()));
    same_name
        && step
            .asked_per_s
            .is_some_and(|asked| (row.rate_per_s - asked).abs() < 1e-6 * row.rate_per_s.abs().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, rate_per_s: f64) -> ReferenceRow {
        ReferenceRow {
            name: name.to_owned(),
            rate_per_s,
            min_ms: 1.0,
            max_ms: 1.0,
            mean_ms: 1.0,
            p75_ms: 1.0,
            p95_ms: 1.0,
            p99_ms: 1.0,
        }
    }

    #[test]
    fn a_row_stands_beside_the_step_of_its_name_and_rate_only() {
        let table = ReferenceTable {
            title: String::new(),
            source: String::new(),
            caveat: String::new(),
            rows: vec![
                row("fetch 10", 100.0),
                row("fetch 10", 300.0),
                row("fetch 1", 100.0),
                row("other", 5.0),
            ],
            ratios: Vec::new(),
        };
        let step =
            |name: &str| StepResult { name: name.to_owned(), asked_per_s: Some(100.0), ..Default::default() };
        assert_eq!(published(Some(&table), &step("fetch 10 ms, 100/s")), [&table.rows[0]]);
        assert_eq!(published(Some(&table), &step("fetch 100")), Vec::<&ReferenceRow>::new());
        let steps = [step("fetch 10"), step("fetch 1")];
        assert_eq!(unpaired(&table, &steps), [&table.rows[1], &table.rows[3]]);
    }
}
