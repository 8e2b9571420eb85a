//! A run with workers as Kubernetes objects: pure text out of settings.
//!
//! Two Jobs, because they end differently: the run's is never tried again (a second one would load the cluster twice), a worker's pod is,
//! under the same completion index and so under the same name, to which the run gives the same part. What is set and why stands in the
//! template `kubernetes/manifest.yaml`, which keeps its comments.

use plumb_model::units::Bytes;
use std::collections::BTreeSet;

/// Where workers join: any port will do, as the coordinator has an address of its own.
const PORT: u16 = 7587;
const TEMPLATE: &str = include_str!("kubernetes/manifest.yaml");
const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// A name as a Service can have it (RFC 1035): small letters, digits and hyphens, from a letter to no hyphen, at most 63.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    /// None of what is no such name.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = text.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        let ends = text.as_bytes().last().is_some_and(|byte| *byte != b'-');
        (begins && ends && text.len() <= 63 && text.bytes().all(inner)).then(|| Name(text.to_owned()))
    }
}

/// The command that carries the scenario out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Experiment {
    /// `plumb run`
    Run,
    /// `plumb trial run`
    Trial,
}

/// The settings of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    pub(crate) experiment: Experiment,
    pub(crate) scenario: String,
    pub(crate) image: String,
    pub(crate) name: Name,
    pub(crate) namespace: Name,
    pub(crate) workers: u32,
    /// Of each pod.
    pub(crate) cpus: u32,
    /// Of each pod.
    pub(crate) memory: Bytes,
    /// The client properties files that the scenario names, in one Secret.
    pub(crate) client_files: BTreeSet<String>,
    /// The claim that keeps the run's directory.
    pub(crate) results: Option<String>,
    /// Longest time that a pod takes from the wish to its end.
    pub(crate) end_s: u64,
}

impl Manifest {
    /// The objects, as one YAML file with a document for each.
    pub(crate) fn render(&self) -> String {
        let name = &self.name.0;
        let words = [
            ("name", name.clone()),
            ("namespace", self.namespace.0.clone()),
            ("image", quoted(&self.image)),
            ("port", PORT.to_string()),
            ("workers", self.workers.to_string()),
            ("cpus", quoted(&self.cpus.to_string())),
            ("memory", quoted(&quantity(self.memory))),
            ("end_s", self.end_s.to_string()),
            ("command", self.command()),
            ("create_clients", self.create_clients()),
            ("clients", self.clients()),
            ("results", self.results_volume()),
            ("scenario", block(&self.scenario)),
        ];
        words
            .iter()
            .fold(TEMPLATE.to_owned(), |text, (word, value)| text.replace(&format!("{{{{{word}}}}}"), value))
    }

    fn command(&self) -> String {
        let words: &[&str] = match self.experiment {
            Experiment::Run => &["run"],
            Experiment::Trial => &["trial", "run"],
        };
        words.iter().map(|word| format!("            - {word}\n")).collect()
    }

    fn create_clients(&self) -> String {
        let files: String = self.client_files.iter().map(|file| format!(" --from-file={file}")).collect();
        match files.is_empty() {
            true => String::new(),
            false => format!(
                "#   kubectl -n {} create secret generic {}-clients{files}\n",
                self.namespace.0, self.name.0
            ),
        }
    }

    /// The Secret with the client properties, beside the scenario. The files that they name (certificates, key stores) may be in it too.
    fn clients(&self) -> String {
        match self.client_files.is_empty() {
            true => String::new(),
            false => format!("              - secret:\n                  name: {}-clients\n", self.name.0),
        }
    }

    fn results_volume(&self) -> String {
        match &self.results {
            Some(claim) => format!("persistentVolumeClaim:\n            claimName: {}", quoted(claim)),
            None => "emptyDir: {}".to_owned(),
        }
    }
}

/// A text as YAML takes it: JSON's form is one of YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// As Kubernetes writes amounts of memory.
fn quantity(bytes: Bytes) -> String {
    match bytes.0 {
        bytes if bytes.is_multiple_of(GIB) => format!("{}Gi", bytes / GIB),
        bytes if bytes.is_multiple_of(MIB) => format!("{}Mi", bytes / MIB),
        bytes => bytes.to_string(),
    }
}

/// A text as a literal block below a key that stands two deep; one that no block can hold in quotes.
fn block(text: &str) -> String {
    let is_plain =
        |c: char| c == '\n' || (!c.is_control() && c != '\u{feff}' && c != '\u{2028}' && c != '\u{2029}');
    if text.trim().is_empty() || !text.chars().all(is_plain) {
        return quoted(text);
    }
    let (lines, chomping) = match text.strip_suffix('\n') {
        Some(lines) => (lines, '+'),
        None => (text, '-'),
    };
    let indented = lines.split('\n').map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("\n    {line}"),
    });
    format!("|2{chomping}{}", indented.collect::<String>())
}

#[cfg(test)]
mod tests;
