//! Journals that somebody has cut, and those that never came to be.

use super::*;
use plumb_observe::HostRoot;

fn owner() -> JournalOwner {
    JournalOwner::Plan { confirm_within_s: None, changes: 1, bootstrap: None }
}

/// A host of no files, and a place with the journal of a plan.
fn opened() -> (tempfile::TempDir, Host, Places, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::below(HostRoot::new(folder.path().join("host")));
    let places = Places { own: folder.path().join("state"), others: Vec::new() };
    let journal = Journal::open(&places, &host, owner(), Timestamp::UNIX_EPOCH).unwrap();
    let path = journal.path.clone();
    (folder, host, places, path)
}

#[test]
fn a_journal_that_was_cut_within_its_first_line_is_named_wherever_journals_are_asked_for() {
    let (_folder, host, places, path) = opened();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(all(&places).len(), 1);
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let [Err(JournalError::CutOff { path: named })] = &all(&places)[..] else { panic!("{length}") };
        assert_eq!(named, &path);
        assert!(matches!(check(&places, &host), Err(JournalError::CutOff { .. })), "{length}");
        let again = Journal::open(&places, &host, owner(), Timestamp::UNIX_EPOCH);
        assert!(matches!(again, Err(JournalError::CutOff { .. })), "{length}");
    }
}

#[test]
fn one_whose_head_was_never_whole_has_changed_nothing_and_is_in_nobodys_way() {
    let (_folder, host, places, path) = opened();
    std::fs::rename(&path, path.with_extension(BEGUN)).unwrap();
    assert_eq!(all(&places).len(), 0);
    let next = Journal::open(&places, &host, owner(), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!((next.path.as_path(), all(&places).len()), (path.as_path(), 1));
    assert!(!path.with_extension(BEGUN).exists());
}

#[test]
fn two_journals_of_one_second_have_two_names() {
    let (_folder, host, places, path) = opened();
    std::fs::remove_file(places.own.join(LOCK)).unwrap();
    let mut first = Journal::reopen(&places, &path.file_stem().unwrap().to_string_lossy()).unwrap();
    first.append(Record::Reverted { at: Timestamp::UNIX_EPOCH }).unwrap();
    drop(first);
    let second = Journal::open(&places, &host, owner(), Timestamp::UNIX_EPOCH).unwrap();
    assert_ne!(second.path, path);
    assert_eq!(all(&places).len(), 2);
}

#[test]
fn what_is_left_of_a_trial_whose_directory_is_gone_is_undone_by_hand_and_else_by_going_on() {
    let (folder, host, places, path) = opened();
    std::fs::remove_file(&path).unwrap();
    let run = folder.path().join("run");
    let owner = JournalOwner::Trial { run: run.clone(), bootstrap: None };
    let mut journal = Journal::open(&places, &host, owner, Timestamp::UNIX_EPOCH).unwrap();
    let command =
        PendingCommand { arm: "a".into(), pair: 1, bootstrap: "b:1".into(), command: "undo it".into() };
    journal.append(Record::CommandBegun(command)).unwrap();
    let gone = journal.state().way_out(&journal.path);
    let file = journal.path.display();
    assert_eq!(gone, format!("its directory is gone: see that \"undo it\" is run, then remove {file}"));
    std::fs::create_dir(&run).unwrap();
    let there = journal.state().way_out(&journal.path);
    let run = run.display();
    assert_eq!(there, format!("plumb trial run --resume {run} runs the command and goes on with it"));
}
