//! The manifest against the types of the Kubernetes API, which are made from its published OpenAPI schema. What the types do not
//! know they would drop, so that each object has to come out of them as it went in.

use super::*;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PodSpec, Service};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

const SCENARIO: &str = "name: two\n\ncluster: {bootstrap: \"kafka:9092\", config: client.properties}\nload: {rate: 100, count: 10}\n";

fn manifest() -> Manifest {
    Manifest {
        experiment: Experiment::Run,
        scenario: SCENARIO.to_owned(),
        image: "registry.example.com/plumb:0.1".to_owned(),
        name: Name::new("ingest").unwrap(),
        namespace: Name::new("load").unwrap(),
        workers: 3,
        cpus: 4,
        memory: Bytes(2 << 30),
        client_files: BTreeSet::from(["client.properties".to_owned()]),
        results: Some("plumb-results".to_owned()),
        end_s: 70,
    }
}

fn objects(manifest: &Manifest) -> Vec<Value> {
    let text = manifest.render();
    assert!(!text.contains("{{"), "{text}");
    // The first part is the comment.
    let documents = text.split("\n---\n").skip(1);
    documents
        .map(|text| serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .collect()
}

/// An object of an API's type, all of which the type knows.
fn typed<T: DeserializeOwned + Serialize>(object: &Value) -> T {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}\n{object:#}"));
    assert_eq!(serde_json::to_value(&typed).unwrap(), *object);
    typed
}

struct Objects {
    scenario: ConfigMap,
    service: Service,
    run: Job,
    workers: Job,
}

fn typed_objects(manifest: &Manifest) -> Objects {
    let [scenario, service, run, workers] = &objects(manifest)[..] else { panic!("expected four objects") };
    Objects { scenario: typed(scenario), service: typed(service), run: typed(run), workers: typed(workers) }
}

fn pod(job: &Job) -> &PodSpec {
    job.spec.as_ref().unwrap().template.spec.as_ref().unwrap()
}

fn arguments(job: &Job) -> Vec<&str> {
    pod(job).containers[0].args.as_ref().unwrap().iter().map(String::as_str).collect()
}

#[test]
fn a_type_of_the_api_drops_what_it_does_not_know_so_that_a_misspelt_field_is_found() {
    let mut object = objects(&manifest())[3].clone();
    let spec = object["spec"].as_object_mut().unwrap();
    let limit = spec.remove("backoffLimitPerIndex").unwrap();
    spec.insert("backOffLimitPerIndex".to_owned(), limit);
    let job: Job = serde_json::from_value(object.clone()).unwrap();
    assert_ne!(serde_json::to_value(&job).unwrap(), object);
}

#[test]
fn every_object_is_of_the_api_with_and_without_clients_and_results() {
    typed_objects(&manifest());
    let bare = Manifest { client_files: BTreeSet::new(), results: None, ..manifest() };
    let Objects { scenario, run, .. } = typed_objects(&bare);
    assert_eq!(scenario.data.unwrap()["scenario.yaml"], SCENARIO);
    let volumes = pod(&run).volumes.as_ref().unwrap();
    assert!(volumes.iter().any(|volume| volume.name == "results" && volume.empty_dir.is_some()));
    assert!(!bare.render().contains("ingest-clients"));
}

#[test]
fn workers_are_an_indexed_job_of_so_many_pods_whose_index_is_their_name() {
    let Objects { workers, .. } = typed_objects(&manifest());
    let spec = workers.spec.as_ref().unwrap();
    assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
    assert_eq!((spec.completions, spec.parallelism), (Some(3), Some(3)));
    // The API refuses a limit for each index with any other policy of restarts.
    assert_eq!(pod(&workers).restart_policy.as_deref(), Some("Never"));
    assert!(spec.backoff_limit_per_index.is_some_and(|limit| limit > 0) && spec.backoff_limit.is_none());
    assert_eq!(spec.pod_replacement_policy.as_deref(), Some("Failed"));
    let env = pod(&workers).containers[0].env.as_ref().unwrap();
    let field = env[0].value_from.as_ref().unwrap().field_ref.as_ref().unwrap();
    assert_eq!(field.field_path, "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    assert!(arguments(&workers).contains(&format!("worker-$({})", env[0].name).as_str()));
    let rules = &spec.pod_failure_policy.as_ref().unwrap().rules;
    let container = rules[0].on_exit_codes.as_ref().unwrap().container_name.as_deref();
    assert_eq!(container, Some(pod(&workers).containers[0].name.as_str()));
}

#[test]
fn a_run_is_never_tried_again_and_workers_lie_on_nodes_of_their_own() {
    let Objects { run, workers, .. } = typed_objects(&manifest());
    assert_eq!(run.spec.as_ref().unwrap().backoff_limit, Some(0));
    let affinity = pod(&workers).affinity.as_ref().unwrap().pod_anti_affinity.as_ref().unwrap();
    let [term] = &affinity.required_during_scheduling_ignored_during_execution.as_ref().unwrap()[..] else {
        panic!()
    };
    assert_eq!(term.topology_key, "kubernetes.io/hostname");
    let selected = term.label_selector.as_ref().unwrap().match_labels.as_ref().unwrap();
    let template = &workers.spec.as_ref().unwrap().template;
    let labels = template.metadata.as_ref().unwrap().labels.as_ref().unwrap();
    assert!(!selected.is_empty() && selected.iter().all(|(key, value)| labels.get(key) == Some(value)));
}

#[test]
fn the_service_leads_to_the_coordinator_and_workers_join_it_there() {
    let Objects { service, run, workers, .. } = typed_objects(&manifest());
    let spec = service.spec.unwrap();
    assert_eq!(spec.cluster_ip.as_deref(), Some("None"));
    let template = run.spec.as_ref().unwrap().template.metadata.as_ref().unwrap();
    assert!(
        spec.selector
            .unwrap()
            .iter()
            .all(|(key, value)| template.labels.as_ref().unwrap().get(key) == Some(value))
    );
    let port = spec.ports.unwrap()[0].port;
    let address = format!("{}:{port}", service.metadata.name.unwrap());
    assert!(arguments(&workers).windows(2).any(|two| two == ["--join", address.as_str()]));
    assert!(arguments(&run).windows(2).any(|two| two == ["--listen", format!("0.0.0.0:{port}").as_str()]));
}

#[test]
fn processors_are_whole_and_requests_are_limits_so_that_pods_are_guaranteed_theirs() {
    let Objects { run, workers, .. } = typed_objects(&manifest());
    for job in [&run, &workers] {
        let resources = pod(job).containers[0].resources.as_ref().unwrap();
        assert_eq!(resources.requests, resources.limits);
        assert_eq!(resources.limits.as_ref().unwrap()["cpu"].0, "4");
        assert_eq!(resources.limits.as_ref().unwrap()["memory"].0, "2Gi");
        assert_eq!(pod(job).termination_grace_period_seconds, Some(70));
    }
}

#[test]
fn workers_have_the_token_and_the_certificate_and_not_its_key() {
    let Objects { run, workers, .. } = typed_objects(&manifest());
    let link = |job: &Job| {
        let volumes = pod(job).volumes.clone().unwrap();
        volumes.into_iter().find(|volume| volume.name == "link").unwrap().secret.unwrap()
    };
    let keys: Vec<String> = link(&workers).items.unwrap().into_iter().map(|item| item.key).collect();
    assert_eq!(keys, ["token", "certificate.pem"]);
    assert_eq!(link(&run).items, None);
    // Plumb refuses a secret that everybody may read.
    assert_eq!(
        (link(&run).default_mode.unwrap() & 0o007, link(&workers).default_mode.unwrap() & 0o007),
        (0, 0)
    );
}

#[test]
fn client_properties_come_from_a_secret_into_the_directory_of_the_scenario() {
    let Objects { run, workers, .. } = typed_objects(&manifest());
    for job in [&run, &workers] {
        let volumes = pod(job).volumes.clone().unwrap();
        let sources = volumes[0].projected.as_ref().unwrap().sources.as_ref().unwrap();
        assert!(
            sources
                .iter()
                .any(|source| source.secret.as_ref().is_some_and(|secret| secret.name == "ingest-clients"))
        );
        let container = &pod(job).containers[0];
        assert_eq!(
            container.working_dir.as_deref(),
            Some(container.volume_mounts.as_ref().unwrap()[0].mount_path.as_str())
        );
    }
}

#[test]
fn the_program_understands_what_its_pods_are_told() {
    use crate::args::{Arguments, command};
    use clap::FromArgMatches;
    let trial = typed_objects(&Manifest { experiment: Experiment::Trial, ..manifest() });
    let usual = typed_objects(&manifest());
    for job in [&usual.run, &usual.workers, &trial.run] {
        let words = ["plumb"].into_iter().chain(arguments(job));
        let read = command().try_get_matches_from(words).and_then(|read| Arguments::from_arg_matches(&read));
        assert!(read.is_ok(), "{:?} {}", arguments(job), read.unwrap_err());
    }
}

#[test]
fn a_trial_is_run_as_one() {
    let trial = Manifest { experiment: Experiment::Trial, ..manifest() };
    assert_eq!(arguments(&typed_objects(&trial).run)[..3], ["trial", "run", "scenario.yaml"]);
    assert_eq!(arguments(&typed_objects(&manifest()).run)[..2], ["run", "scenario.yaml"]);
}

#[test]
fn a_scenario_comes_out_of_its_config_map_as_it_went_in() {
    let texts = [
        "a: 1",
        "a: 1\n",
        "a: 1\n\n\n",
        "\n\na: 1\n",
        "  a: 1\n  b: \"x: {{name}}\"\n",
        "a: \"\u{e9}\"\n# ---\n---\n",
        "a:\t1\r\n",
        "\u{feff}a: 1\n",
        "",
        "   \n",
    ];
    for text in texts {
        let manifest = Manifest { scenario: text.to_owned(), ..manifest() };
        let document = manifest.render();
        // The line's end before the mark is the document's.
        let document = format!("{}\n", document.split("\n---\n").nth(1).unwrap());
        let object: Value =
            serde_saphyr::from_str(&document).unwrap_or_else(|error| panic!("{text:?} {error}"));
        assert_eq!(object["data"]["scenario.yaml"], text, "{document}");
    }
}

#[test]
fn a_name_is_one_that_a_service_can_have() {
    for good in ["a", "plumb", "run-2", &"a".repeat(63)] {
        assert!(Name::new(good).is_some(), "{good}");
    }
    for bad in ["", "-a", "a-", "2a", "A", "a.b", "a b", "a\nb", &"a".repeat(64)] {
        assert!(Name::new(bad).is_none(), "{bad}");
    }
}

#[test]
fn memory_is_written_as_kubernetes_does() {
    let written = [2 << 30, 1536 << 20, 1_000_000_000].map(|bytes| quantity(Bytes(bytes)));
    assert_eq!(written, ["2Gi", "1536Mi", "1000000000"]);
}
