//! `plumb tune export`: the files are there, and what they say is done and undone on a real kernel.
//!
//! Settings of a network of its own are changed, so that this machine's are not.

use crate::program::{Ended, Program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Below a user and a network of its own: root there, whoever runs the test.
const ALONE: [&str; 3] = ["unshare", "--map-root-user", "--net"];

/// A plan of the profile, made in a network of its own, and its files beside it.
fn exported(more: &[&str], files: &[(&str, &str)]) -> Ended {
    let profile = "net.ipv4.tcp_max_syn_backlog: 3072\nnet.ipv4.tcp_rmem: 4096 65536 1048576\n";
    // Both in one network, as its settings end with it.
    let script = format!(
        "\"$0\" tune plan --profile profile.yaml --only profile --window 0s --out plan.json && exec \"$0\" tune export plan.json --out files {}",
        more.join(" ")
    );
    let program = Program::new([""; 0]);
    std::fs::write(program.directory().join("profile.yaml"), profile).unwrap();
    for (name, text) in files {
        std::fs::write(program.directory().join(name), text).unwrap();
    }
    program.under(&[ALONE[0], ALONE[1], ALONE[2], "sh", "-c", &script]).run()
}

/// All files below a directory, by their paths there.
fn paths(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(below).unwrap().to_owned()),
            }
        }
    }
    found
}

/// What a shell says, in a network of its own.
fn said(directory: &Path, script: &str) -> String {
    let mut command = Command::new(ALONE[0]);
    command.args(&ALONE[1..]).args(["sh", "-c", script]).current_dir(directory);
    let ended = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{stdout}{stderr}");
    stdout.into_owned()
}

#[test]
fn a_readme_names_every_file_that_is_written() {
    let ended = exported(&[], &[]);
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    let files = ended.path("files");
    let readme = std::fs::read_to_string(files.join("README.md")).unwrap();
    let paths = paths(&files);
    for path in paths.iter().filter(|path| *path != Path::new("README.md")) {
        assert!(readme.contains(&format!("- `{}`: ", path.display())), "{}\n{readme}", path.display());
    }
    for expected in
        ["sysctl.d/99-plumb.conf", "tuned/plumb/tuned.conf", "apply.sh", "undo.sh", "ansible/site.yml"]
    {
        assert!(paths.contains(&PathBuf::from(expected)), "{expected}");
    }
}

#[test]
fn the_scripts_set_the_kernel_and_put_it_back() {
    let ended = exported(&[], &[]);
    let settings =
        "cat /proc/sys/net/ipv4/tcp_max_syn_backlog /proc/sys/net/ipv4/tcp_rmem | tr -s '\\t\\n' '  '; echo";
    let script =
        format!("{settings}; ./apply.sh && {settings}; ./apply.sh && {settings}; ./undo.sh && {settings}");
    let said = said(&ended.path("files"), &script);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines[1], "3072 4096 65536 1048576", "{said}");
    assert_eq!(lines[1], lines[2], "{said}");
    assert_eq!(lines[0], lines[3], "{said}");
    assert_ne!(lines[0], lines[1], "{said}");
}

#[test]
fn groups_that_were_drawn_become_the_inventory() {
    let groups = "server,group,site\nb,test,x\na,control,x\n";
    let ended = exported(&["--groups", "groups.csv"], &[("groups.csv", groups)]);
    let inventory = std::fs::read_to_string(ended.path("files/ansible/inventory.ini")).unwrap();
    assert!(inventory.ends_with("[test]\nb\n\n[control]\na\n\n"), "{inventory}");
    let bad = exported(&["--groups", "groups.csv"], &[("groups.csv", "server,group\na,test\na,control\n")]);
    assert_eq!(bad.code(), Some(2), "{bad:?}");
    assert!(bad.stderr.contains("a is named twice"), "{}", bad.stderr);
}

#[test]
fn a_plan_that_hosts_refuse_without_force_says_so_and_forces_only_where_that_was_asked_for() {
    let script = r#"
        printf 'net.ipv4.conf.lo.rp_filter: 2\nnet.core.somaxconn: 8191\n' > risky.yaml
        "$0" tune plan --profile risky.yaml --only profile --window 0s --out risky.json > /dev/null || exit 91
        "$0" tune export risky.json --out plain > /dev/null && "$0" tune export risky.json --out forced --force > /dev/null"#;
    let ended = Program::new([""; 0]).under(&[ALONE[0], ALONE[1], ALONE[2], "sh", "-c", script]).run();
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    assert_eq!(
        ended.stderr.matches("net.ipv4.conf.lo.rp_filter can take down").count(),
        1,
        "{}",
        ended.stderr
    );
    let vars = |out: &str| {
        let path = format!("{out}/ansible/roles/plumb_tune/vars/main.yml");
        std::fs::read_to_string(ended.path(&path)).unwrap()
    };
    assert!(!vars("plain").contains("plumb_tune_force"), "{}", vars("plain"));
    assert!(vars("forced").contains("plumb_tune_force: true"), "{}", vars("forced"));
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let program = Program::new(["tune", "export", "plan.json", "--out", "."]);
    let plan = r#"{"schema_version": 1, "plumb_version": "1", "made_at": "", "role": "kafka-broker", "host_digest": null, "changes": [], "left_out": [], "cpus": []}"#;
    std::fs::write(program.directory().join("plan.json"), plan).unwrap();
    let ended = program.run();
    assert_eq!(ended.code(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("is there already"), "{}", ended.stderr);
}
