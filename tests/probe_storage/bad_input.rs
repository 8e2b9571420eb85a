//! Directories that cannot be probed, and words that say nothing.

use super::{Ended, Program, names_in, probe};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Exit code and message, without where the test ran.
fn refused(ended: &Ended, place: &Path) -> String {
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    let said = ended.stderr.replace(&place.display().to_string(), "[place]");
    let said = said.lines().filter(|line| !line.starts_with("plumb: ")).collect::<Vec<_>>().join("\n");
    format!("exit {}\n{said}", ended.code().unwrap())
}

#[test]
fn a_path_that_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let ended = probe(&place.path().join("none"), "").run();
    insta::assert_snapshot!(refused(&ended, place.path()), @r"
    exit 2
    error: [place]/none does not exist
    hint: give a directory that exists: PATH is where the files of the probe go
    ");
}

#[test]
fn a_file_is_refused_and_keeps_its_content() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let ended = probe(&file, "").run();
    insta::assert_snapshot!(refused(&ended, place.path()), @r"
    exit 2
    error: [place]/file is not a directory
    hint: give the directory that the file is in
    ");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_raw_device_is_never_written_to() {
    let ended = probe(Path::new("/dev/null"), "").run();
    insta::assert_snapshot!(refused(&ended, Path::new("/nowhere")), @r"
    exit 2
    error: /dev/null is a raw device; expected a directory of a mounted file system
    hint: plumb writes only into files of its own: mount a file system on the device and give a directory of it
    ");
}

#[test]
fn a_file_system_of_the_kernels_own_takes_no_files_and_did_not_vanish() {
    let ended = probe(Path::new("/proc"), "").run();
    insta::assert_snapshot!(refused(&ended, Path::new("/nowhere")), @r"
    exit 2
    error: /proc takes no files: what is in it is the kernel's
    hint: give a directory of a file system on the storage to be probed
    ");
}

#[test]
fn nothing_measured_of_what_was_asked_for_is_no_success() {
    let place = tempfile::tempdir().unwrap();
    let ended =
        probe(place.path(), "--no-streams --method direct,direct_dsync --block 777 --duration 30ms").run();
    assert_eq!(ended.code(), Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("none of the ways to commit"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("direct: O_DIRECT") || ended.stderr.contains("direct: this"),
        "{}",
        ended.stderr
    );
    let document = ended.json();
    assert_eq!((&document["complete"], super::rates(&document)), (&true.into(), 0), "{document}");
    let both = "--no-streams --method direct,fsync --block 777 --duration 30ms --committers 1";
    let ended = probe(place.path(), both).run();
    assert!(matches!(ended.code(), Some(0 | 1)), "one of them was measured: {}", ended.stderr);
}

#[test]
fn words_that_are_no_method_block_or_count_list_what_is() {
    let place = tempfile::tempdir().unwrap();
    for (words, expected) in [
        ("--method sync", "fdatasync"),
        ("--block 2MiB", "1 byte to 1MiB"),
        ("--block 0", "1 byte to 1MiB"),
        ("--committers 0", "1 to 1024"),
        ("--committers 9..3", "1..16"),
        ("--duration 5", "10s"),
        ("--duration 0s", "at least 10ms"),
        ("--duration 4ns", "at least 10ms"),
        ("--rounds 0", "1..=1000"),
    ] {
        let ended = probe(place.path(), words).run();
        assert_eq!(ended.code(), Some(2), "{words}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words}: {}", ended.stderr);
    }
}

#[test]
fn a_directory_in_which_this_user_may_not_write() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("theirs");
    std::fs::create_dir(&directory).unwrap();
    std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o555)).unwrap();
    let mut program = probe(&directory, "");
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere; in a name space of its own it is an owner like any other (user_namespaces(7)).
        program = program.under(&["unshare", "--user"]);
    }
    insta::assert_snapshot!(refused(&program.run(), place.path()), @r"
    exit 3
    error: [place]/theirs: this user may not make a file
    hint: run it as a user who may write there, or give another directory
    ");
}

#[test]
fn more_files_than_this_process_may_open_are_told_before_any_is_made() {
    let place = tempfile::tempdir().unwrap();
    let limit = ["sh", "-c", "ulimit -n 64; exec \"$0\" \"$@\""];
    let words = "--no-streams --method fsync --overwrite --committers 100";
    let said = refused(&probe(place.path(), words).under(&limit).run(), place.path());
    insta::assert_snapshot!(said, @r"
    exit 3
    error: this process may open 64 files; expected at least 132 for the committers' files
    hint: fewer --committers, ways to commit (--method) or paths, or a higher limit of open files (ulimit -n)
    ");
}

/// The end of a probe in a name space of its own, in which this was done before. None where this user may make no namespace for
/// it, or not do that there.
fn in_namespace(before: &str, words: &str) -> Option<Ended> {
    let namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
    let place = tempfile::tempdir().unwrap();
    let allowed =
        Command::new(namespace[0]).args(&namespace[1..]).arg(before).current_dir(place.path()).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!("mkdir again && cd again && {before} && {words}");
    let wrapper: Vec<&str> = namespace.into_iter().chain([script.as_str()]).collect();
    Some(
        Program::new(["probe", "storage", "small", "--no-streams", "--method", "fsync"])
            .under(&wrapper)
            .run(),
    )
}

/// The words of a probe on a file system of its own in memory, mounted with these options.
fn in_small(options: &str) -> Option<String> {
    let mount = format!("mkdir small && mount -t tmpfs -o {options} none small");
    Some(refused(&in_namespace(&mount, "exec \"$0\" \"$@\"")?, Path::new("/nowhere")))
}

#[test]
fn files_with_names_go_however_it_ends_and_with_them_what_a_killed_probe_left() {
    // What an overlay lies on need not sync a file without links as others.
    let overlay = "mkdir lower upper work small \
        && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none small \
        && : > small/.plumb-probe-4194305-7 && : > small/.plumb-probe-of-mine";
    let short = "--duration 30ms --rounds 3 --committers 1";
    for how in ["", "timeout -s INT 1", "timeout -s TERM 1"] {
        let longer = if how.is_empty() { short } else { "--duration 600s" };
        let words = format!("{{ {how} \"$0\" \"$@\" {longer} > out; ls -A small; }}");
        let Some(ended) = in_namespace(overlay, &words) else { return };
        assert_eq!(ended.stdout, ".plumb-probe-of-mine\n", "{how}: {}", ended.stderr);
    }
    // In the foreground timeout(1) kills the probe alone and waits until it has ended; else it is killed with it, and the next
    // probe may start, and end, while the killed one still waits for a commit with its files locked.
    let killed = format!(
        "{{ timeout --foreground -s KILL 1 \"$0\" \"$@\" --duration 600s; ls -A small | wc -l; \"$0\" \"$@\" {short} > out; ls -A small; }}"
    );
    let Some(ended) = in_namespace(overlay, &killed) else { return };
    let left: Vec<&str> = ended.stdout.lines().map(str::trim).collect();
    assert!(left[0].parse::<u32>().unwrap() > 1, "files that are synced have names here: {left:?}");
    assert_eq!(left[1..], [".plumb-probe-of-mine"], "{}", ended.stderr);
}

#[test]
fn a_full_disk_is_told_before_anything_is_written() {
    let Some(said) = in_small("size=64k") else { return };
    assert!(said.starts_with("exit 3\nerror: small has 65536 bytes free; expected at least"), "{said}");
    assert!(said.contains("hint: make room"), "{said}");
}

#[test]
fn a_read_only_file_system() {
    let Some(said) = in_small("ro") else { return };
    assert!(said.starts_with("exit 3\nerror: small is on a read-only file system\nhint: "), "{said}");
}

#[test]
fn a_disk_that_fills_up_meanwhile_ends_it_and_nothing_is_left() {
    let place = tempfile::tempdir().unwrap();
    // No file may grow beyond 64 KiB: as on a full disk, whoever the user is (setrlimit(2), RLIMIT_FSIZE).
    let limit = ["sh", "-c", "ulimit -f 128; exec \"$0\" \"$@\""];
    let ended = probe(place.path(), "--no-streams --method fsync --overwrite").under(&limit).run();
    insta::assert_snapshot!(refused(&ended, place.path()), @r"
    exit 3
    error: [place] is full: it could not fill a file
    hint: make room, probe smaller blocks or fewer committers (--block, --committers), or give another directory
    ");
    assert!(names_in(place.path()).is_empty());
}
