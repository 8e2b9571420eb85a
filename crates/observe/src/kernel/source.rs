//! What a part is read from.

use crate::HostRoot;
use aya::maps::{Map, MapError};
use std::collections::{BTreeMap, HashMap};

/// What a part is read from.
pub(super) struct Source<'a> {
    /// The part's maps, no longer written to.
    pub(super) maps: HashMap<String, Map>,
    /// For the names of devices and functions.
    pub(super) root: &'a HostRoot,
    /// The names of the kernel's drop reasons.
    pub(super) reasons: &'a BTreeMap<u32, String>,
}

impl Source<'_> {
    /// A map by its name in the object, for `try_into` of its kind.
    pub(super) fn take(&mut self, name: &'static str) -> Result<Map, MapError> {
        self.maps.remove(name).ok_or(MapError::InvalidName { name: name.to_owned() })
    }
}
