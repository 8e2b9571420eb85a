//! The place in a scenario's file of what a client refuses.

use crate::error::SessionError;
use plumb_load::LoadError;
use plumb_model::plan::{Origin, Plan};

/// The error with the place of what it is about, where a file says it. `step`: the one that is refused.
pub(crate) fn placed(plan: &Plan, step: usize, error: LoadError) -> SessionError {
    let of_step = |path: &str| plan.place_of(&format!("steps.{step}.{path}"));
    let place = match &error {
        LoadError::Property { role: Some(role), key, .. } => plan.place_of_property(step, role, key),
        LoadError::OfOtherRole { role, key, .. } => plan.place_of_property(step, role, key),
        LoadError::Properties { role: Some(role), reason } => named(plan, step, role, reason),
        LoadError::TooLargeForProducer { .. } => {
            plan.place_of_property(step, "producer", "message.max.bytes").or_else(|| of_step("load.size"))
        }
        LoadError::PayloadFile { .. } => of_step("load.payload"),
        _ => None,
    };
    match place.cloned() {
        Some(place) => SessionError::Placed { place, error },
        None => error.into(),
    }
}

/// The place of the first property that a client's words name and a file has.
fn named<'p>(plan: &'p Plan, step: usize, role: &str, words: &str) -> Option<&'p Origin> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let names = words.split(|c| !is_of_name(c)).map(|word| word.trim_matches('.'));
    names.filter(|name| !name.is_empty()).find_map(|name| plan.place_of_property(step, role, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::resolve::{Sources, resolve};

    /// A plan of two setups, whose properties stand in lines of their own.
    fn plan() -> Plan {
        let scenario = serde_json::json!({
            "cluster": "lab", "load": {"rate": 9, "count": 9},
            "setups": [
                {"name": "a"},
                {"name": "b", "producer": {"request.required.acks": 1, "enable.idempotence": true}, "consumer": {"linger.ms": 5}},
            ],
        });
        let line = |line| Origin::File { path: "s.yaml".into(), line };
        let sources: Sources = [
            ("setups.1.producer.request.required.acks".to_owned(), line(7)),
            ("setups.1.producer.enable.idempotence".to_owned(), line(8)),
            ("setups.1.consumer.linger.ms".to_owned(), line(9)),
        ]
        .into();
        resolve(&serde_json::from_value(scenario).unwrap(), &sources).unwrap()
    }

    fn said(step: usize, error: LoadError) -> String {
        placed(&plan(), step, error).to_string()
    }

    #[test]
    fn a_refused_property_is_told_where_it_stands_by_either_of_its_names() {
        let of = |role: Option<&'static str>| LoadError::Property {
            key: "acks".into(),
            value: "1".into(),
            reason: "no".into(),
            role,
        };
        assert_eq!(said(1, of(Some("producer"))), "s.yaml:7: client property acks = \"1\" is refused: no");
        for (step, error) in [(0, of(Some("producer"))), (1, of(Some("consumer"))), (1, of(None))] {
            assert!(said(step, error).starts_with("client property"), "that of nobody else");
        }
        let (role, of) = ("consumer", "producer");
        let misplaced = said(1, LoadError::OfOtherRole { key: "linger.ms".into(), role, of });
        assert!(
            misplaced.starts_with("s.yaml:9: client property linger.ms is one of producers"),
            "{misplaced}"
        );
    }

    #[test]
    fn properties_that_contradict_are_told_where_the_first_of_them_stands() {
        let reason = "`acks` must be set to `all` when `enable.idempotence` is true".to_owned();
        let told = said(1, LoadError::Properties { reason, role: Some("producer") });
        assert!(told.starts_with("s.yaml:7: the client library refuses the properties: `acks`"), "{told}");
        let other = LoadError::Properties { reason: "out of memory".into(), role: Some("producer") };
        assert!(said(1, other).starts_with("the client library"));
    }
}
