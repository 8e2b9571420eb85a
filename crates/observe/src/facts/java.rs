//! Java runtimes: those in the usual places, and those that a visible process runs.
//!
//! None is started: its `release` file says what it is.

use std::collections::BTreeMap;

use plumb_model::facts::{Fact, JavaRuntime};

use crate::HostRoot;

/// The directories in which distributions, vendors' packages and container images put a Java.
const PLACES: [&str; 4] = ["/usr/lib/jvm", "/usr/java", "/opt/java", "/opt"];
const ONE: [&str; 1] = ["/usr/local/openjdk"];

pub(super) fn runtimes(root: &HostRoot) -> Fact<Vec<JavaRuntime>> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    for place in PLACES {
        for name in root.list(place).unwrap_or_default() {
            let home = format!("{place}/{name}");
            // A link leads to another one of the list, or is how distributions name the chosen one.
            if root.link(&home).is_none() && root.exists(&format!("{home}/bin/java")) {
                found.insert(home, false);
            }
        }
    }
    for home in ONE.into_iter().filter(|home| root.exists(&format!("{home}/bin/java"))) {
        found.insert(home.to_owned(), false);
    }
    let processes = root.list("/proc");
    let looked = processes.is_ok() || PLACES.iter().any(|place| root.exists(place));
    for pid in processes.unwrap_or_default() {
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let program = root.link(&format!("/proc/{pid}/exe")).unwrap_or_default();
        if let Some(home) = program.trim_end_matches(" (deleted)").strip_suffix("/bin/java") {
            found.insert(home.to_owned(), true);
        }
    }
    let source = "/usr/lib/jvm, /usr/java, /opt, /proc/*/exe";
    if found.is_empty() {
        return match looked {
            true => Fact::known(Vec::new(), source),
            false => Fact::unknown(format!("none of {source} can be looked into")),
        };
    }
    let runtime = |(home, running): (String, bool)| {
        let release = root.read(&format!("{home}/release")).unwrap_or_default();
        let value = |key: &str| {
            let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty())
        };
        JavaRuntime {
            version: value("JAVA_RUNTIME_VERSION").or_else(|| value("JAVA_VERSION")),
            vendor: value("IMPLEMENTOR").filter(|vendor| vendor != "N/A"),
            home: without_owner(&home),
            running,
        }
    };
    Fact::known(found.into_iter().map(runtime).collect(), format!("{source}, release files"))
}

/// `/home/somebody/jdk` as `~/jdk`.
fn without_owner(home: &str) -> String {
    match home.strip_prefix("/home/").and_then(|rest| rest.split_once('/')) {
        Some((_, rest)) => format!("~/{rest}"),
        None => home.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_directory_is_shown_without_its_owner() {
        assert_eq!(without_owner("/home/somebody/.sdk/java/21"), "~/.sdk/java/21");
        assert_eq!(without_owner("/usr/lib/jvm/java-17"), "/usr/lib/jvm/java-17");
    }
}
