//! `plumb check` and `plumb tune` on the kernel itself, in namespaces of their own, so that nothing of this host is changed.

mod check;
mod cluster;
mod crash;
mod export;
mod firmware;
mod guard;
mod revert;
mod trial;
mod unprivileged;

use crate::program::{Ended, Program};

/// Settings that each network namespace has for itself, with values that none has by default.
const SETTINGS: [(&str, &str); 25] = [
    ("net.core.somaxconn", "8191"),
    ("net.ipv4.tcp_max_syn_backlog", "3333"),
    ("net.ipv4.tcp_rmem", "4097 131073 7000001"),
    ("net.ipv4.tcp_wmem", "4098 16385 4000001"),
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_fin_timeout", "31"),
    ("net.ipv4.tcp_keepalive_time", "601"),
    ("net.ipv4.tcp_keepalive_intvl", "61"),
    ("net.ipv4.tcp_keepalive_probes", "7"),
    ("net.ipv4.tcp_syn_retries", "4"),
    ("net.ipv4.tcp_synack_retries", "3"),
    ("net.ipv4.tcp_retries1", "4"),
    ("net.ipv4.tcp_retries2", "9"),
    ("net.ipv4.tcp_orphan_retries", "2"),
    ("net.ipv4.tcp_reordering", "5"),
    ("net.ipv4.tcp_notsent_lowat", "131071"),
    ("net.ipv4.tcp_limit_output_bytes", "262143"),
    ("net.ipv4.tcp_tw_reuse", "1"),
    ("net.ipv4.tcp_mtu_probing", "1"),
    ("net.ipv4.tcp_base_mss", "1100"),
    ("net.ipv4.tcp_autocorking", "0"),
    ("net.ipv4.tcp_ecn", "1"),
    ("net.ipv4.ip_local_port_range", "20000 60001"),
    ("net.ipv4.udp_rmem_min", "8192"),
    ("net.ipv4.igmp_max_memberships", "21"),
];

/// A shell function that prints every setting of the plan.
fn all_settings() -> String {
    let paths: Vec<String> =
        SETTINGS.iter().map(|(name, _)| format!("/proc/sys/{}", name.replace('.', "/"))).collect();
    format!("all() {{ cat {}; }}", paths.join(" "))
}

/// The settings as a user's profile.
fn profile() -> String {
    SETTINGS.iter().map(|(name, value)| format!("{name}: \"{value}\"\n")).collect()
}

/// A shell script in a network namespace of its own, with the program as `$1`, journals of its own, and a plan of [`SETTINGS`] in
/// `plan.json`. None where this machine makes no namespace: the reason is printed.
pub(crate) fn in_a_namespace(script: &str) -> Option<Ended> {
    let usable = std::process::Command::new("unshare").args(["--net", "true"]).output();
    if !usable.is_ok_and(|tried| tried.status.success()) {
        passed_over("no network namespace can be made here (root and unshare are needed)");
        return None;
    }
    let whole = format!(
        "set -u; ip link set lo up; {}\n\"$1\" tune plan --profile profile.yaml --only profile --window 0s --out plan.json > plan.txt || exit 90\n{script}",
        all_settings()
    );
    let program = Program::new::<&str>([]);
    std::fs::write(program.directory().join("profile.yaml"), profile()).unwrap();
    let state = program.directory().join("state");
    Some(
        program
            .env("PLUMB_STATE_DIR", state)
            .under(&["unshare", "--net", "bash", "-c", &whole, "bash"])
            .run(),
    )
}

/// Says why a test proves nothing on this machine.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn passed_over(why: &str) {
    eprintln!("passed over: {why}");
}
