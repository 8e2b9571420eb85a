//! What probes found, as terminal text: one file a resource. Only the layout: what is said is in the documents.

pub mod storage;
