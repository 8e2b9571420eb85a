//! Sizes, contents and keys of the messages.

use super::{Workload, list};
use crate::omb::draft::{Setting, quoted};
use crate::omb::file::Entry;
use crate::omb::sizes;
use crate::yaml::Value;
use plumb_model::fault::UsageError;
use plumb_model::units::Bytes;
use std::path::{Path, PathBuf};

/// Keys that the benchmark's distributors draw from.
const KEYS: u32 = 10_000;

impl Workload<'_> {
    pub(super) fn values(&mut self) -> Result<(), UsageError> {
        if let Some(entry) = self.entry("messageSizeDistribution") {
            match sizes::mix(&entry.value) {
                Ok(mix) => {
                    let note = "the sizes of a range lie evenly in it; three stand for all";
                    self.fates.translated(&entry.place, &entry.key, format!("load.size: {mix}"), note);
                    self.load("size", &mix, &entry.place, &entry.key);
                }
                Err(reason) => self.fates.refused(&entry.place, &entry.key, reason),
            }
            if let Some(entry) = self.entry("messageSize") {
                self.fates.without_meaning(
                    &entry.place,
                    &entry.key,
                    "messageSizeDistribution takes its place",
                );
            }
        } else {
            let entry = self.required("messageSize")?;
            if let Some(bytes) = self.numbers(entry) {
                let value = list(bytes.into_iter().map(Bytes));
                self.fates.taken(&entry.place, &entry.key, format!("load.size: {value}"));
                self.load("size", &value, &entry.place, &entry.key);
            }
        }
        self.payload()
    }

    fn payload(&mut self) -> Result<(), UsageError> {
        let (random, file) = (self.entry("useRandomizedPayloads"), self.entry("payloadFile"));
        let is_random = random.is_some_and(|entry| entry.value == Value::Scalar("true".to_owned()));
        if let Some(entry) = random {
            match entry.value.to_string().as_str() {
                "true" => self.fates.taken(&entry.place, &entry.key, "load.payload"),
                "false" => self.fates.taken(&entry.place, &entry.key, "values come from payloadFile"),
                other => {
                    self.fates.refused(&entry.place, &entry.key, format!("{other} is neither true nor false"))
                }
            }
        }
        for key in ["randomBytesRatio", "randomizedPayloadPoolSize"] {
            match self.entry(key) {
                Some(entry) if !is_random => {
                    self.fates.without_meaning(&entry.place, key, "useRandomizedPayloads is not true");
                }
                Some(entry) if key == "randomizedPayloadPoolSize" => {
                    let reason = "every value is cut from 4 MiB of random bytes at a place of its own, so that a batch does \
                                  not compress by repetition";
                    self.fates.without_meaning(&entry.place, key, reason);
                }
                Some(_) | None => {}
            }
        }
        match (is_random, file) {
            (true, file) => {
                if let Some(entry) = file {
                    self.fates.without_meaning(&entry.place, &entry.key, "useRandomizedPayloads is true");
                }
                self.entropy();
                Ok(())
            }
            (false, Some(entry)) => {
                self.payload_file(entry);
                Ok(())
            }
            (false, None) => {
                let file = self.entries.first().map_or("the workload", |entry| entry.place.file.as_str());
                Err(UsageError::new(
                    format!("{file}: payloadFile is missing, and useRandomizedPayloads is not true"),
                    "the benchmark needs one of them to make values",
                ))
            }
        }
    }

    fn entropy(&mut self) {
        let Some(entry) = self.entry("randomBytesRatio") else {
            self.draft.load.push(Setting::added(
                "payload",
                "{entropy: 0}",
                "randomBytesRatio is 0 by default: zeros",
            ));
            return;
        };
        match entry.value.to_string().parse::<f64>() {
            Ok(ratio) if (0.0..=1.0).contains(&ratio) => {
                let value = format!("{{entropy: {ratio}}}");
                self.fates.taken(&entry.place, &entry.key, format!("load.payload: {value}"));
                self.load("payload", &value, &entry.place, &entry.key);
            }
            _ => {
                let reason = format!("{} is no share between 0 and 1", entry.value);
                self.fates.refused(&entry.place, &entry.key, reason);
            }
        }
    }

    fn payload_file(&mut self, entry: &Entry) {
        let path = entry.value.to_string();
        if Path::new(&path).is_dir() {
            let reason = "a directory: values here are cut from one file";
            self.fates.refused(&entry.place, &entry.key, reason);
            return;
        }
        let Some(path) = Self::find(&path, &entry.place.file) else {
            let reason = format!(
                "no such file here, nor at the workload or in the directory above it; it ships with the benchmark: import \
                 beside it, or write `useRandomizedPayloads: true` with a `randomBytesRatio` instead of {path}"
            );
            self.fates.refused(&entry.place, &entry.key, reason);
            return;
        };
        let value = format!("{{file: {}}}", quoted(&path));
        let note = "cut or repeated to the size; a header of each record carries Plumb's stamp";
        self.fates.translated(&entry.place, &entry.key, format!("load.payload: {value}"), note);
        self.load("payload", &value, &entry.place, &entry.key);
    }

    /// The path of the file: as it is named, as for the benchmark in its own directory, or seen from the workload, which lies in
    /// one of that directory's own.
    fn find(path: &str, workload: &str) -> Option<String> {
        let beside = Path::new(workload).parent().unwrap_or(Path::new(""));
        let places = [PathBuf::from(path), beside.join(path), beside.join("..").join(path)];
        let found = places.into_iter().find(|place| place.is_file())?;
        Some(found.display().to_string())
    }

    pub(super) fn keys(&mut self) {
        let Some(entry) = self.entry("keyDistributor") else { return };
        let value = match entry.value.to_string().as_str() {
            "NO_KEY" => {
                self.fates.taken(&entry.place, &entry.key, "load.keys: none");
                return;
            }
            "KEY_ROUND_ROBIN" => format!("{{round_robin: {{count: {KEYS}}}}}"),
            "RANDOM_NANO" => format!("{{uniform: {{count: {KEYS}}}}}"),
            other => {
                let reason = format!("{other} is none of NO_KEY, KEY_ROUND_ROBIN, RANDOM_NANO");
                self.fates.refused(&entry.place, &entry.key, reason);
                return;
            }
        };
        let note =
            "keys have 9 bytes, in the benchmark 7; random ones are really random, not read off the clock";
        self.fates.translated(&entry.place, &entry.key, format!("load.keys: {value}"), note);
        self.load("keys", &value, &entry.place, &entry.key);
    }
}
