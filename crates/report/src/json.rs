//! The run document as JSON: what `run.json` holds and `--output json` prints.

use crate::ReportError;
use plumb_model::document::RunDocument;

/// The whole document, indented, with a newline at its end. Absent figures are `null`.
///
/// # Errors
/// [`ReportError::Json`] when serialisation fails, which no document should cause.
pub fn render(document: &RunDocument) -> Result<String, ReportError> {
    Ok(document.to_json()?)
}
