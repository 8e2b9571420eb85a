//! The broker of a run's own lab ends while the run is under way: so does the run, with what was measured, and says why.

use crate::program::{Ended, Program, Running};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// Far less than the loads below would last, and than all exchanges with a broker that is gone would be waited for in turn.
const SOON: Duration = Duration::from_secs(120);

#[test]
fn a_run_whose_lab_has_ended_ends_at_once_with_what_was_measured() {
    let arguments = ["latency", "--lab", "--rate", "200", "--duration", "900s", "--blocks", "1"];
    let ended = with_a_killed_broker(&arguments, "measured seconds", |running| {
        let log = running.path("run/01-as-asked.acknowledge.hlog");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        log.lines().any(|line| line.starts_with(|first: char| first.is_ascii_digit()))
    });
    // What is waited for is told meanwhile.
    let told = "every broker of the lab has ended: the run ends with what was measured";
    assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    let text = std::fs::read_to_string(ended.path("run/run.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["run"]["state"]["kind"], "failed");
    assert!(document["steps"][0]["counts"]["acked"].as_u64().unwrap() > 0);
}

#[test]
fn a_rate_search_whose_lab_has_ended_tries_no_further_rate() {
    let arguments =
        ["throughput", "--lab", "--goal", "p99=10s", "--size", "100B", "--duration", "20s", "--blocks", "1"];
    let ended = with_a_killed_broker(&arguments, "the first rate that was tried", |running| {
        running.complained().contains("try 1:")
    });
    let tried = ended.stderr.lines().filter(|line| line.contains("  try ")).count();
    assert!(tried <= 2, "{}", ended.stderr);
}

#[test]
fn a_log_directory_that_is_full_ends_a_run_with_its_name_and_nothing_is_left_in_it() {
    let namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
    let mount = "mkdir small && mount -t tmpfs -o size=450m none small";
    let place = tempfile::tempdir().unwrap();
    let mut allowed = std::process::Command::new(namespace[0]);
    let allowed = allowed.args(&namespace[1..]).arg(mount).current_dir(place.path()).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let arguments =
        ["throughput", "--lab", "--log-dir", "small=small", "--size", "10KB", "--duration", "600s"];
    let script = format!(
        "mkdir again && cd again && {mount} && {{ \"$0\" \"$@\"; code=$?; ls -A small; exit $code; }}"
    );
    let wrapper: Vec<&str> = namespace.into_iter().chain([script.as_str()]).collect();
    let program = Program::new(arguments).args(["--driver", "wire", "--blocks", "1"]);
    let ended = program.env("XDG_STATE_HOME", state.path()).under(&wrapper).run();
    assert_eq!((ended.code(), ended.stdout.as_str()), (Some(4), ""), "{}", ended.stderr);
    let told = "error: every broker of the lab has ended: log directory ";
    let said = ended
        .stderr
        .lines()
        .find(|line| line.starts_with(told))
        .unwrap_or_else(|| panic!("{}", ended.stderr));
    assert!(said.ends_with("went offline (No space left on device)"), "{said}");
    assert!(ended.stderr.contains("hint: make room there"), "{}", ended.stderr);
}

/// The program with a lab of its own, whose broker is killed once the run has come so far.
fn with_a_killed_broker(arguments: &[&str], what: &str, is_there: impl Fn(&Running) -> bool) -> Ended {
    let state = tempfile::tempdir().unwrap();
    let program = Program::new(arguments).args(["--out", "run"]).env("XDG_STATE_HOME", state.path());
    let mut running = program.within(SOON).start();
    running.wait_for(what, |running| is_there(running).then_some(()));
    let brokers = children(running.pid());
    assert_eq!(brokers.len(), 1, "{}", running.complained());
    kill_process(Pid::from_raw(brokers[0]).unwrap(), Signal::KILL).unwrap();
    let ended = running.wait();
    assert_eq!(ended.code(), Some(4), "{}", ended.stderr);
    assert!(ended.stderr.contains("error: every broker of the lab has ended\n"), "{}", ended.stderr);
    ended
}

/// The Java processes that a process started.
fn children(parent: u32) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let processes = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |process: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The command in parentheses, the state, and then the parent (proc_pid_stat(5)).
        stat.split_once(" (java) ")
            .is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&parent.to_string()))
    };
    processes.filter(is_child).collect()
}
