//! stub
use crate::ReportError;
use plumb_model::document::RunDocument;
/// stub
pub fn render(_document: &RunDocument) -> Result<String, ReportError> {
    Ok(String::new())
}
