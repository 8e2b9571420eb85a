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

/// What a probe says of a file system of its own in memory, mounted with these options. None where this user may make no
/// namespace for it.
fn in_small(options: &str) -> Option<String> {
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let allowed = Command::new(namespace[0]).args(&namespace[1..]).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!("mkdir small && mount -t tmpfs -o {options} none small && exec \"$0\" \"$@\"");
    let wrapper: Vec<&str> = namespace.into_iter().chain(["sh", "-c", &script]).collect();
    let program =
        Program::new(["probe", "storage", "small", "--no-streams", "--method", "fsync"]).under(&wrapper);
    Some(refused(&program.run(), Path::new("/nowhere")))
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
    let limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""];
    let ended = probe(place.path(), "--no-streams --method fsync --overwrite").under(&limit).run();
    insta::assert_snapshot!(refused(&ended, place.path()), @r"
    exit 3
    error: [place] is full: it could not fill a file
    hint: make room, probe smaller blocks or fewer committers (--block, --committers), or give another directory
    ");
    assert!(names_in(place.path()).is_empty());
}
