//! The page of the ways in which figures lie names findings and tests that there are, and all forty ways.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A row of the page.
#[derive(Debug)]
struct Row {
    number: u32,
    answer: String,
    tests: String,
}

impl Row {
    /// Of a line of a table; absent for a heading.
    fn of(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &["", number, way, answer, tests, ""] = cells.as_slice() else { return None };
        let number = number.parse().ok()?;
        assert!(!way.is_empty(), "{number} has no words");
        Some(Row { number, answer: answer.to_owned(), tests: tests.to_owned() })
    }
}

fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join("docs/guide/how-figures-lie.md")).unwrap();
    page.lines().filter_map(Row::of).collect()
}

/// The texts between back quotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of the tests in a source file: functions under `#[test]`, and those that are made for each driver.
fn tests_of(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_test = false;
    let mut in_macro = false;
    for line in source.lines().map(str::trim) {
        let function = line.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
        match function {
            Some(name) if is_test => drop(names.insert(name.to_owned())),
            _ if in_macro => names.extend(macro_names(line)),
            _ => (),
        }
        is_test = line == "#[test]" || is_test && (line.starts_with("#[") || function.is_none());
        if let Some((_, rest)) = line.split_once("on_both_drivers!(") {
            in_macro = true;
            names.extend(macro_names(rest));
        }
        in_macro &= !line.ends_with(");");
    }
    names
}

/// Names with commas between them.
fn macro_names(line: &str) -> impl Iterator<Item = String> + '_ {
    let words = line.split([',', '(', ')', ';']).map(str::trim);
    words.filter(|word| !word.is_empty() && !word.starts_with('#')).map(str::to_owned)
}

/// The module that a source file is: `judge::rules::saturated`, `timing::stall`.
fn module_of(file: &Path) -> String {
    let parts = file.with_extension("");
    let parts = parts.iter().map(|part| part.to_str().unwrap());
    parts.filter(|part| !["crates", "src", "tests", "mod"].contains(part)).collect::<Vec<_>>().join("::")
}

/// All tests of the sources, by their module. `tests` as a module within `src` is no part of the name above, so it is kept.
fn all_tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut directories = vec![root().join("crates"), root().join("tests")];
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = module_of(path.strip_prefix(root()).unwrap());
                let source = std::fs::read_to_string(&path).unwrap();
                tests.entry(module).or_default().extend(tests_of(&source));
            }
        }
    }
    tests
}

/// True if a test of this name is there; a name of fewer modules than it has is enough.
fn is_there(tests: &BTreeMap<String, BTreeSet<String>>, name: &str) -> bool {
    let Some((module, test)) = name.rsplit_once("::") else { return false };
    let module = module.replace("tests::", "").trim_end_matches("::tests").to_owned();
    tests.iter().any(|(known, tests)| {
        let fits = *known == module || known.ends_with(&format!("::{module}"));
        fits && tests.contains(test)
    })
}

#[test]
fn the_page_of_ways_to_lie_has_all_forty_and_names_what_there_is() {
    let rows = rows();
    let numbers: BTreeSet<u32> = rows.iter().map(|row| row.number).collect();
    assert_eq!((rows.len(), numbers), (40, (1..=40).collect()), "each way has one row");
    let findings: BTreeSet<&str> = plumb_judge::rows().map(|row| row.id).collect();
    let tests = all_tests();
    for row in rows {
        let named = quoted(&row.answer).filter(|word| !word.starts_with("--"));
        for id in named {
            assert!(findings.contains(id), "{}: there is no finding {id}", row.number);
        }
        for test in quoted(&row.tests) {
            assert!(is_there(&tests, test), "{}: there is no test {test}", row.number);
        }
        let has_test = quoted(&row.tests).next().is_some();
        assert!(has_test || row.answer.contains("**Open"), "{}: neither a test nor open", row.number);
    }
}

#[test]
fn names_that_there_are_not_are_found() {
    let source =
        "on_both_drivers!(\n    one,\n    two,\n);\n#[test]\n#[ignore]\nfn three() {}\nfn four() {}\n";
    let tests = BTreeMap::from([("judge::rules::saturated".to_owned(), tests_of(source))]);
    for name in ["rules::saturated::one", "saturated::two", "judge::rules::saturated::three"] {
        assert!(is_there(&tests, name), "{name}: {tests:?}");
    }
    for name in ["saturated::four", "saturated::five", "rated::one", "steady::one", "one"] {
        assert!(!is_there(&tests, name), "{name}: {tests:?}");
    }
}
