//! Places that cannot take a run.

use super::{assert_says, complaint, latency, said};
use plumb_lab::sink::{SinkBroker, SinkOptions};
use std::path::Path;

#[test]
fn a_run_that_exists_already_is_not_overwritten() {
    let program = latency("127.0.0.1:1").args(["--out", "first"]);
    let place = program.directory().join("first");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("run.json"), "{}").unwrap();
    let ended = program.run();
    assert_eq!(std::fs::read_to_string(ended.path("first/run.json")).unwrap(), "{}");
    assert_says!(complaint(&ended), @r"
    exit 2
    error: first exists already
    hint: choose another --out, or remove it: a run never overwrites another
    ");
}

#[test]
fn a_directory_in_which_something_else_lies_is_not_written_between() {
    let program = latency("127.0.0.1:1").args(["--out", "notes"]);
    let place = program.directory().join("notes");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("mine"), "").unwrap();
    let ended = program.run();
    assert_eq!(std::fs::read_dir(ended.path("notes")).unwrap().count(), 1);
    assert_says!(complaint(&ended), @r"
    exit 2
    error: notes is not empty, and what is in it is no run's
    hint: name a directory of its own, such as --out runs/NAME: it is made if it is not there
    ");
}

#[test]
fn a_file_where_a_directory_belongs() {
    let program = latency("127.0.0.1:1").args(["--out", "notes"]);
    std::fs::write(program.directory().join("notes"), "mine").unwrap();
    let ended = program.run();
    assert_eq!(std::fs::read_to_string(ended.path("notes")).unwrap(), "mine");
    assert_says!(complaint(&ended), @r"
    exit 2
    error: notes exists already
    hint: choose another --out, or remove it: a run never overwrites another
    ");
}

#[test]
fn a_place_where_no_directory_can_be_made() {
    let program = latency("127.0.0.1:1").args(["--out", "notes/deep/run"]);
    std::fs::write(program.directory().join("notes"), "mine").unwrap();
    assert_says!(complaint(&program.run()), @r"
    exit 3
    error: cannot write the run's directory
      cause: failed to create directory `notes/deep/run`: Not a directory (os error 20)
    hint: is there space, and may you write there? --out DIR chooses another place
    ");
}

#[test]
fn a_disk_that_is_full_from_the_beginning_keeps_no_directory() {
    let program = latency("127.0.0.1:1").args(["--out", "deep/er/run"]).under(&limited(512));
    let ended = program.run();
    assert!(!ended.path("deep").exists());
    assert_says!(complaint(&ended), @r"
    exit 3
    error: cannot write the run's directory
      cause: failed to write to file `deep/er/run/.run.json.partial`: File too large (os error 27)
    hint: is there space, and may you write there? --out DIR chooses another place
    ");
}

#[test]
fn a_disk_that_fills_up_during_the_run_ends_it_and_leaves_the_last_whole_document() {
    let sink = SinkBroker::start(SinkOptions::default()).unwrap();
    // The document of a run that begins has about 10 KB; with a measured step, more than 30.
    let arguments = [
        "--bootstrap",
        &sink.bootstrap(),
        "--rate",
        "200",
        "--count",
        "200",
        "--warm-up",
        "0s",
        "--out",
        "out",
    ];
    let ended = crate::program::Program::new(["latency"]).args(arguments).under(&limited(24 * 1024)).run();
    let document: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(ended.path("out/run.json")).unwrap()).unwrap();
    assert_eq!(document["run"]["state"]["kind"], "running", "it could not say more");
    assert_eq!(document["steps"][0]["counts"]["acked"], serde_json::Value::Null, "nothing was counted yet");
    assert!(!partial_files(&ended.path("out")));
    assert_eq!(ended.stdout, "");
    assert_says!(said(&ended), @r"
    exit 3
    plumb: latency in 1 block, about [n] s
    plumb: block 1/1  as asked: mean [n] ms, p50 [n] ms
    error: cannot write the run's directory
      cause: failed to write to file `out/.01-as-asked.state.json.partial`: File too large (os error 27)
    hint: is there space, and may you write there? --out DIR chooses another place
    ");
    let stats = sink.control().stats();
    assert!(stats.partitions.is_empty(), "the topic is left: {stats:?}");
}

#[test]
fn a_document_that_is_none() {
    let program = crate::program::Program::new(["report", "notes.json"]);
    std::fs::write(program.directory().join("notes.json"), "{\"schema_version\": \"one\"}").unwrap();
    assert_says!(complaint(&program.run()), @r#"
    exit 2
    error: notes.json is not a document of plumb
      cause: invalid type: string "one", expected u32
    hint: give the directory of a result, such as runs/2026-11-20T15-04-05Z-latency, or the document in it (run.json, path.json)
    "#);
}

#[test]
fn a_run_that_is_not_there() {
    assert_says!(complaint(&crate::program::Program::new(["report", "runs/nowhere"]).run()), @r"
    exit 2
    error: cannot read the result
      cause: failed to open file `runs/nowhere`: No such file or directory (os error 2)
    hint: give the directory of a result, such as runs/2026-11-20T15-04-05Z-latency, or the document in it (run.json, path.json)
    ");
}

/// A wrapper under which no file may grow beyond so many bytes: like a full disk, whoever the user is.
fn limited(bytes: u64) -> [&'static str; 3] {
    // The signal is ignored, so that the write fails as on a full disk (setrlimit(2), RLIMIT_FSIZE).
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", bytes / 512);
    ["sh", "-c", script.leak()]
}

fn partial_files(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).any(|name| name.to_string_lossy().ends_with(".partial"))
}
