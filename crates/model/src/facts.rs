//! Facts about the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about the host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {}
