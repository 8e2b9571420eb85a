//! The topic of a step.

use super::trail::Trail;
use super::{ResolveError, sweep};
use crate::plan::{Origin, TopicPlan};
use crate::scenario::{OneOrMany, TopicWords};
use std::collections::BTreeMap;

/// The topic of a step: one of its own, or the user's.
pub(super) fn topic(
    words: &TopicWords,
    at: &str,
    trail: &mut Trail,
    variant: &sweep::Variant,
) -> Result<TopicPlan, ResolveError> {
    let path = |name: &str| format!("{at}.topic.{name}");
    if let Some(name) = &words.name {
        for (other, given) in [
            ("topic.partitions", words.partitions.is_some()),
            ("topic.replication", words.replication.is_some()),
            ("topic.configs", !words.configs.is_empty()),
            ("topic.log_dir", words.log_dir.is_some()),
        ] {
            if given {
                return Err(ResolveError::Conflict {
                    place: trail.place(variant, other),
                    first: "topic.name".into(),
                    second: other.into(),
                    reason: "a topic that you name is used as it is and never altered",
                });
            }
        }
        let name = trail.step(path("name"), "topic.name", variant, Some(name.clone()), String::new);
        trail.same_origin(&path("kind"), &path("name"));
        return Ok(TopicPlan::Existing { name });
    }
    trail.origins.insert(path("kind"), Origin::Default);
    let first = |value: &Option<OneOrMany<u32>>| value.as_ref().map(|v| v.values()[0]);
    let log_dir = words.log_dir.as_ref().map(|name| Some(name.values()[0].0.clone()));
    let mut configs = BTreeMap::new();
    for (key, value) in &words.configs {
        let words_path = format!("topic.configs.{key}");
        let value = value.values()[0].0.clone();
        let value =
            trail.step(path(&format!("configs.{key}")), &words_path, variant, Some(value), String::new);
        configs.insert(key.clone(), value);
    }
    Ok(TopicPlan::Own {
        partitions: trail.step(
            path("partitions"),
            "topic.partitions",
            variant,
            first(&words.partitions),
            || 1,
        ),
        replication: trail.step(
            path("replication"),
            "topic.replication",
            variant,
            first(&words.replication),
            || 1,
        ),
        configs,
        log_dir: trail.step(path("log_dir"), "topic.log_dir", variant, log_dir, || None),
    })
}
