//! The house as drawn: which crate may lean on which, and what only one of them may use.
