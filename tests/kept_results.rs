//! Results that are no run, kept in a directory and shown again from it.

use crate::program::{Ended, Program};
use std::path::Path;

fn plumb(words: &str, out: &Path) -> Ended {
    Program::new(words.split_whitespace()).args(["--out".as_ref(), out.as_os_str()]).run()
}

fn report(directory: &Path, more: &[&str]) -> Ended {
    Program::new(["report".as_ref(), directory.as_os_str()]).args(more).run()
}

/// Kept, shown again as text and as JSON just as it was, with a page that loads nothing; a second result is not written over it.
fn assert_kept(words: &str, document: &str) {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("kept");
    let first = plumb(words, &out);
    assert_eq!(first.code(), Some(0), "{}", first.stderr);
    let again = report(&out, &[]);
    assert_eq!((again.code(), &again.stdout), (Some(0), &first.stdout), "{}", again.stderr);
    let json = std::fs::read_to_string(out.join(document)).unwrap();
    assert_eq!(report(&out.join(document), &["--output", "json"]).stdout, json);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("<table"), "{page}");
    let second = plumb(words, &out);
    assert_eq!(second.code(), Some(2), "{}", second.stderr);
    assert!(second.stderr.contains("exists already"), "{}", second.stderr);
}

#[test]
fn a_sizing_is_kept_and_shown_again_as_it_was() {
    assert_kept("size --bytes 100MB/s --disk 200MB/s --retention 1d --storage 1TB", "size.json");
}

#[test]
fn probes_are_kept_and_shown_again_as_they_were() {
    assert_kept("probe facts", "probe.json");
    assert_kept("probe clock --duration 20ms", "probe.json");
}

#[test]
fn what_only_a_run_has_is_refused_and_a_document_of_another_version_or_shape_is_told() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("kept");
    assert_eq!(plumb("probe facts", &out).code(), Some(0));
    for flag in [["--fail-if", "p99>1ms"], ["--output", "csv"], ["--install", "there"]] {
        let ended = report(&out, &flag);
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("is for a run"), "{}", ended.stderr);
    }
    let path = out.join("probe.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"schema_version\": 1", "\"schema_version\": 99")).unwrap();
    let newer = report(&out, &[]);
    assert!(newer.code() == Some(2) && newer.stderr.contains("schema version 99"), "{}", newer.stderr);
    std::fs::write(&path, "{}").unwrap();
    let other = report(&out, &[]);
    assert!(
        other.code() == Some(2) && other.stderr.contains("is not a document of plumb"),
        "{}",
        other.stderr
    );
}
