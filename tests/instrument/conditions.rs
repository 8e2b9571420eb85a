//! A user's conditions on a run: what is met fails, what is absent fails too and says so, what is not met passes.

use super::Path;
use crate::program::Program;

#[test]
fn a_run_fails_by_its_user_s_conditions_and_tells_continuous_integration() {
    let path = Path::new("wire");
    let run = path
        .latency(100, 300)
        .args(["--fail-if", "acknowledge p50>10s", "--fail-if", "lost>0", "--junit", "passes.xml"])
        .run();
    let kept = run.path("run");
    assert!(run.stderr.contains("fail-if lost>0: passed"), "{}", run.stderr);
    let xml = std::fs::read_to_string(run.path("passes.xml")).unwrap();
    assert!(xml.contains("name=\"lost&#62;0\"><system-out>"), "{xml}");

    let again = |conditions: &[&str]| {
        Program::new(["report"]).args([&kept]).args(conditions).args(["--junit", "again.xml"]).run()
    };
    let met = again(&["--fail-if", "max>1ns"]);
    assert_eq!(met.code(), Some(1), "{}", met.stderr);
    assert!(met.stderr.contains("fail-if max>1ns: FAILED"), "{}", met.stderr);
    let xml = std::fs::read_to_string(met.path("again.xml")).unwrap();
    assert!(xml.contains("<failure message=\"it fails on max&#62;1ns, and "), "{xml}");

    let absent = again(&["--fail-if", "p99.9>10s"]);
    assert_eq!(absent.code(), Some(1), "{}", absent.stderr);
    assert!(absent.stderr.contains("NOT KNOWN, which fails"), "{}", absent.stderr);
    assert!(absent.stderr.contains("it needs 10,000 samples, and has 300"), "{}", absent.stderr);
}

#[test]
fn a_condition_that_is_none_is_refused_before_anything_runs() {
    let ended = Program::new(["latency", "--lab", "--fail-if", "p98>3ms"]).run();
    assert_eq!(ended.code(), Some(2));
    assert!(ended.stderr.contains("p50, p75, p95, p99, p99.9"), "{}", ended.stderr);
}

#[test]
fn a_junit_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let path = Path::new("wire");
    let ended = path.latency(100, 300).args(["--junit", "no/such/place.xml"]).run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert_eq!(path.stored(), 0, "nothing was sent");
}
