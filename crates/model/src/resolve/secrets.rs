//! Refuses secrets where they would be kept: a plan stands in the run's document, which is shown, copied and resumed from.

use super::ResolveError;
use crate::plan::{ClusterPlan, Plan};
use crate::secret::is_secret;

/// The reason why a lab's brokers take no secret.
const OF_BROKERS: &str = "its value would be kept in the run's document; a lab makes its own certificates and logins \
                          (cluster.lab.tls), and brokers of yours are reached with cluster.bootstrap";
/// The reason why a header takes none.
const OF_HEADERS: &str = "its value would be kept in the run's document; under another name, a value as long that is no secret \
                          loads the path the same";

pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    of_lab(plan, &plan.cluster, "cluster.lab")?;
    for (index, step) in plan.steps.iter().enumerate() {
        let at = format!("steps.{index}");
        if let Some(cluster) = &step.cluster {
            of_lab(plan, cluster, &format!("{at}.cluster"))?;
        }
        if let Some(name) = step.load.headers.keys().find(|name| is_secret(name)) {
            let place = place(plan, &[format!("{at}.load.headers")]);
            return Err(refused(place, format!("load.headers.{name}"), OF_HEADERS));
        }
    }
    Ok(())
}

fn of_lab(plan: &Plan, cluster: &ClusterPlan, at: &str) -> Result<(), ResolveError> {
    let ClusterPlan::Lab { broker_properties, jvm_flags, .. } = cluster else { return Ok(()) };
    if let Some(key) = broker_properties.keys().find(|key| is_secret(key)) {
        let place = place(plan, &[format!("{at}.broker_properties.{key}"), at.to_owned()]);
        return Err(refused(place, format!("cluster.lab.broker_properties.{key}"), OF_BROKERS));
    }
    let mut names = jvm_flags.iter().map(|flag| flag.split('=').next().unwrap_or_default());
    match names.find(|name| is_secret(name)) {
        Some(name) => {
            let place = place(plan, &[format!("{at}.jvm_flags"), at.to_owned()]);
            Err(refused(place, format!("cluster.lab.jvm_flags: {name}"), OF_BROKERS))
        }
        None => Ok(()),
    }
}

fn refused(place: String, path: String, reason: &'static str) -> ResolveError {
    ResolveError::Reserved { place, path, reason }
}

/// The first of these paths whose place is known.
fn place(plan: &Plan, paths: &[String]) -> String {
    let origin = paths.iter().find_map(|path| plan.origins.get(path));
    origin.map(|origin| format!("{origin}: ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::resolve::{Sources, resolve};
    use serde_json::{Value, json};

    fn refusal(scenario: Value) -> Option<String> {
        let scenario = serde_json::from_value(scenario).unwrap();
        resolve(&scenario, &Sources::new()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_secret_of_a_lab_or_a_header_is_refused_by_its_name_and_its_value_is_not_repeated() {
        let lab = |lab: Value| json!({"cluster": {"lab": lab}, "load": {"rate": 9}});
        let header = |name: &str| json!({"cluster": "lab", "load": {"rate": 9, "headers": {name: "S3CR"}}});
        for (scenario, named) in [
            (lab(json!({"broker_properties": {"ssl.keystore.password": "S3CR"}})), "ssl.keystore.password"),
            (lab(json!({"jvm_flags": ["-Djavax.net.ssl.keyStorePassword=S3CR"]})), "keyStorePassword"),
            (header("Authorization"), "load.headers.Authorization"),
        ] {
            let refusal = refusal(scenario).expect("it is refused");
            assert!(refusal.contains(named) && !refusal.contains("S3CR"), "{refusal}");
        }
        assert_eq!(refusal(header("traceparent")), None);
        assert_eq!(refusal(lab(json!({"broker_properties": {"log.segment.bytes": "1048576"}}))), None);
    }

    #[test]
    fn a_login_in_an_arms_own_lab_is_refused_too() {
        let arm = json!({"cluster": {"broker_properties": {"sasl.jaas.config": "S3CR"}}});
        let scenario = json!({
            "cluster": "lab",
            "load": {"rate": 50, "count": 500},
            "arms": {"a": {}, "b": arm},
        });
        let refusal = refusal(scenario).expect("it is refused");
        assert!(refusal.contains("sasl.jaas.config") && !refusal.contains("S3CR"), "{refusal}");
    }
}
