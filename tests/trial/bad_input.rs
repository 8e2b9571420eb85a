//! Words of a trial that cannot be: each refused with its place, what was expected and what to do, before anything starts.

use crate::program::{Ended, Program};

fn run(command: &[&str], scenario: &str, flags: &[&str]) -> Ended {
    let program = Program::new(command).args(["s.yaml", "--out", "run"]).args(flags);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    program.run()
}

/// The refusal of a trial: exit code and words. It printed no result and left nothing.
fn refused(scenario: &str, flags: &[&str]) -> String {
    let ended = run(&["trial", "run"], scenario, flags);
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    assert!(!ended.path("run").exists());
    format!("exit {}\n{}", ended.code().unwrap(), ended.stderr)
}

const HEAD: &str = "cluster: lab\nload: {rate: 100, duration: 2s}\n";

fn arms(arms: &str) -> String {
    format!("{HEAD}arms:\n{arms}")
}

#[test]
fn a_scenario_without_arms_is_told_how_to_have_some() {
    insta::assert_snapshot!(refused(HEAD, &[]), @r"
    exit 2
    error: s.yaml has no arms to hold against each other
    hint: write `arms: {default: {}, low: {producer: {linger.ms: 0}}}` instead of setups, the reference first; `plumb run` measures setups
    ");
}

#[test]
fn a_scenario_with_arms_is_sent_from_run_to_trial_run() {
    let ended = run(&["run"], &arms("  a: {}\n  b: {producer: {linger.ms: 0}}\n"), &[]);
    insta::assert_snapshot!(format!("exit {}\n{}", ended.code().unwrap(), ended.stderr), @r"
    exit 2
    error: s.yaml:3: arms are held against each other in a trial
    hint: plumb trial run s.yaml
    ");
}

#[test]
fn arms_and_setups_are_one_too_many() {
    let scenario = format!("{}setups: [{{name: x}}]\n", arms("  a: {}\n  b: {}\n"));
    insta::assert_snapshot!(refused(&scenario, &[]), @r"
    exit 2
    error: s.yaml:6: setups and arms cannot both be given: a scenario has setups to measure or arms to hold against each other
    ");
}

#[test]
fn two_arms_of_one_name_are_refused_at_their_place() {
    let message = refused(&arms("  a: {}\n  a: {producer: {linger.ms: 0}}\n"), &[]);
    assert!(message.starts_with("exit 2\nerror: s.yaml:5:"), "{message}");
    assert!(message.contains("`a` is written twice"), "{message}");
}

#[test]
fn a_typing_error_in_an_arm_is_shown_with_the_choices() {
    let message = refused(&arms("  a: {}\n  b: {producers: {linger.ms: 0}}\n"), &[]);
    assert!(message.contains("s.yaml:5:") && message.contains("unknown field `producers`"), "{message}");
}

#[test]
fn a_list_in_an_arm_is_no_sweep_here() {
    insta::assert_snapshot!(refused(&arms("  a: {}\n  b: {producer: {linger.ms: [0, 5]}}\n"), &[]), @r"
    exit 2
    error: s.yaml:5: arms.b is several settings (b, linger.ms 0; b, linger.ms 5; ...); it must be a single setting, because a trial holds single settings against each other: give each value an arm of its own
    ");
}

#[test]
fn several_arms_take_more_pairs_as_each_comparison_is_another_chance() {
    let six = "  a: {}\n  b: {}\n  c: {}\n  d: {}\n  e: {}\n  f: {}\n";
    let message = refused(&arms(six), &["--pairs", "7"]);
    for part in ["with 5 comparisons to allow for", "8 pairs are the fewest that can"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn pairs_that_all_share_one_start_of_the_brokers_are_refused() {
    let message = refused(&arms("  a: {}\n  b: {}\n"), &["--pairs", "6", "--restart-every", "6"]);
    for part in ["6 pairs on 1 start of the brokers", "it takes 2", "--pairs 12 or more"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn too_few_pairs_are_refused_with_the_number_that_would_do() {
    insta::assert_snapshot!(refused(&arms("  a: {}\n  b: {}\n"), &["--pairs", "5"]), @r"
    exit 2
    error: --pairs: 5 pairs cannot show a difference at a level of 0.95: even if every pair pointed the same way, chance alone does that too often
    hint: 6 pairs are the fewest that can; --pairs 6 or more
    ");
}

#[test]
fn a_percentile_that_no_block_has_messages_for_is_refused_with_the_number_that_would_do() {
    insta::assert_snapshot!(refused(&arms("  a: {}\n  b: {}\n"), &["--primary", "end_to_end.p99"]), @r"
    exit 2
    error: --primary: trial.primary is end_to_end.p99 of blocks with 200 messages; it must be of blocks with at least 1000 (load.count, load.duration), or end_to_end.mean, because a quantile needs 10/(1-q) samples, and in a trial the length written is that of one block
    ");
}

#[test]
fn a_metric_that_says_nothing_at_a_fixed_rate_is_refused_with_those_that_do() {
    insta::assert_snapshot!(refused(&arms("  a: {}\n  b: {}\n"), &["--primary", "throughput.produced_per_s"]), @r"
    exit 2
    error: --primary: trial.primary is throughput.produced_per_s; it must be one of end_to_end.mean, end_to_end.p50, end_to_end.p95, acknowledge.mean, acknowledge.p50, acknowledge.p95, cpu.client_per_message, cpu.broker_per_message, cpu.per_message, loss.lost, errors.failed, loss.duplicated, host.packets_lost, because at a fixed rate the throughput is the one asked for, and what a block lacks of it is its last messages' latency
    ");
}

#[test]
fn a_quick_trial_keeps_as_many_pairs_as_its_comparisons_take() {
    let planned = |letters: &str| {
        let each: String = letters.chars().map(|arm| format!("  {arm}: {{}}\n")).collect();
        let scenario = format!("trial: {{against: each_other, pairs: 12}}\n{}", arms(&each));
        let ended = run(&["trial", "run"], &scenario, &["--quick", "--dry-run", "--output", "json"]);
        ended.json()["blocks"].as_u64().unwrap()
    };
    // 15 comparisons leave 0.05 / 15 to each: 2 of 2^10 orders of signs are fewer, 2 of 2^9 are not; two pairs to spare.
    assert_eq!((planned("ab"), planned("abcdef")), (8, 12));
}

#[test]
fn brokers_that_are_there_cannot_have_other_jvm_flags() {
    let scenario = arms("  a: {}\n  b: {cluster: {jvm_flags: [-XX:-UseAES]}}\n");
    let message = refused(&scenario, &["--bootstrap", "localhost:1"]);
    assert!(
        message.contains("s.yaml:5: arms.b.cluster and cluster.bootstrap cannot both be given"),
        "{message}"
    );
}

#[test]
fn a_kernel_setting_that_there_is_not_is_refused_before_anything_starts() {
    let message = refused(&arms("  a: {}\n  b: {host: {vm.no_such_thing: 1}}\n"), &[]);
    assert!(
        message.starts_with(
            "exit 3\nerror: host setting vm.no_such_thing: this kernel has no /proc/sys/vm/no_such_thing"
        ),
        "{message}"
    );
    let message = refused(&arms("  a: {}\n  b: {host: {/etc/hostname: x}}\n"), &[]);
    assert!(message.starts_with("exit 2\nerror: host setting \"/etc/hostname\" is no setting"), "{message}");
}

#[test]
fn a_margin_that_is_none_is_refused_by_the_flag() {
    let message = refused(&arms("  a: {}\n  b: {}\n"), &["--margin", "much"]);
    assert!(message.contains("write it as 3% or 0.03"), "{message}");
}

#[test]
fn labs_that_do_not_fit_into_memory_are_refused_before_any_is_started() {
    let message = refused(&arms("  a: {}\n  b: {cluster: {heap: 9000g}}\n"), &[]);
    assert!(
        message.starts_with(
            "exit 3\nerror: the brokers of 3 labs that are up at the same time need about 8.79 TiB"
        ),
        "{message}"
    );
    assert!(
        message.contains("iB are free on this machine") || message.contains("in this control group"),
        "{message}"
    );
    assert!(message.contains("hint: give the brokers less (cluster.lab.heap: 256m)"), "{message}");
}
