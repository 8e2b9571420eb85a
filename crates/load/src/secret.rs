//! Properties whose values must never be shown, of either driver: the table of the model.

pub use plumb_model::secret::{REDACTED, is_secret};
