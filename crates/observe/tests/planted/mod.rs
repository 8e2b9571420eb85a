//! A recorded host from a list of its files, links and commands: `fixtures/*/*.tree`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use plumb_observe::{CommandError, RecordedCommands};

/// `path = line` adds a line to a file, `path -> target` is a link, `path/` a directory; `$ command = line` adds a line to
/// what a command prints, `$ command ! words` makes it fail with them.
pub(crate) fn planted(tree: &str) -> (tempfile::TempDir, RecordedCommands) {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(tree);
    let root = tempfile::tempdir().unwrap();
    let mut answers: BTreeMap<String, Result<String, String>> = BTreeMap::new();
    for line in fs::read_to_string(list).unwrap().lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            record(&mut answers, command);
        } else if line.starts_with('/') {
            plant(root.path(), line);
        }
    }
    let mut commands = RecordedCommands::default();
    for (command, answer) in answers {
        let failed = |message: &String| CommandError::Failed {
            program: command.split(' ').next().unwrap().to_owned(),
            status: "exit status: 1".to_owned(),
            message: message.clone(),
        };
        commands = commands.with(&command, answer.as_deref().map_err(failed));
    }
    (root, commands)
}

fn record(answers: &mut BTreeMap<String, Result<String, String>>, command: &str) {
    if let Some((command, words)) = command.split_once(" ! ") {
        answers.insert(command.to_owned(), Err(words.to_owned()));
        return;
    }
    let (command, printed) = command.split_once(" = ").unwrap();
    let answer = answers.entry(command.to_owned()).or_insert_with(|| Ok(String::new()));
    answer.as_mut().unwrap().push_str(&format!("{printed}\n"));
}

fn plant(root: &Path, line: &str) {
    let at = |path: &str| {
        let path = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    if let Some((path, target)) = line.split_once(" -> ") {
        symlink(target, at(path)).unwrap();
    } else if let Some((path, content)) = line.split_once(" = ") {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(at(path)).unwrap();
        writeln!(file, "{content}").unwrap();
    } else {
        fs::create_dir_all(at(line)).unwrap();
    }
}
