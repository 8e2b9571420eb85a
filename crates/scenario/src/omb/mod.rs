//! Workload and driver files of the Open Messaging Benchmark as a scenario.
//!
//! Strict, as the benchmark itself is not: every key of both files has a fate, and one that is not known or cannot be
//! honoured stops the import. Pure but for reading the two files; whoever asks for it prints, writes and runs.

pub mod client;
mod dialect;
mod draft;
mod driver;
pub mod fate;
mod file;
mod placeholder;
mod sizes;
mod workload;

pub use dialect::Dialect;
use draft::{Draft, Setting};
use fate::Fates;
use plumb_model::fault::UsageError;
use plumb_model::plan::Driver as Client;
use plumb_model::resolve::Sources;
use std::path::Path;

/// The files to import, with the user's wishes.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The workload file.
    pub workload: &'a Path,
    /// The driver file.
    pub driver: &'a Path,
    /// The benchmark that the workload was written for, where the user says.
    pub dialect: Option<Dialect>,
    /// The latency that producerRate: 0 has to hold.
    pub goal: Option<&'a str>,
    /// Several topics may become one.
    pub merge_topics: bool,
    /// Instead of the driver's address.
    pub bootstrap: Option<&'a str>,
    /// The client properties file that says how to connect.
    pub config: Option<&'a str>,
    /// The client that drives the load.
    pub client: Client,
}

/// An import that went through.
#[derive(Debug)]
pub struct Import {
    /// The scenario, as YAML that a person can read and keep.
    pub text: String,
    /// The places of its values in the benchmark's files.
    pub sources: Sources,
    /// Content for the client properties file; empty when the driver says nothing of it.
    pub connection: String,
}

/// Translates the two files. The fates are of all keys, also where it fails.
///
/// # Errors
/// A file that cannot be read, or a key that is not known or cannot be honoured.
pub fn import(request: &Request<'_>, fates: &mut Fates) -> Result<Import, UsageError> {
    let workload = file::read(request.workload)?;
    let driver = file::read(request.driver)?;
    translate(&workload, &driver, request, fates)
}

fn translate(
    workload: &[file::Entry],
    driver: &[file::Entry],
    request: &Request<'_>,
    fates: &mut Fates,
) -> Result<Import, UsageError> {
    let (workload, placeholders) = placeholder::filled(workload);
    let workload = &workload[..];
    let dialect = dialect::of(workload, driver, request.dialect)?;
    let mut draft = Draft::default();
    let wishes = workload::Wishes { goal: request.goal, merge_topics: request.merge_topics };
    let reach = driver::Reach { bootstrap: request.bootstrap, config: request.config };
    // Both files are read to their ends, so that whoever has to change something is told all of it.
    let of_workload = workload::translate(workload, dialect, wishes, &mut draft, fates);
    let of_driver = driver::translate(driver, reach, &mut draft, fates);
    placeholders.tell(fates);
    let file = |path: &Path| path.display().to_string();
    // The workload's fates come first, each file's in the order of its lines.
    let driver_file = file(request.driver);
    fates.0.sort_by_key(|key| (key.place.file == driver_file, key.place.line));
    let (connection, of_driver) = match of_driver {
        Ok(connection) => (connection, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    if let Some(error) = obstacles(fates, of_workload.into_iter().chain(of_driver).collect()) {
        return Err(error);
    }
    draft.heading = vec![
        format!(
            "Imported from {} and {} of the Open Messaging Benchmark.",
            file(request.workload),
            driver_file
        ),
        "Behind each value stands the line that it comes from.".to_owned(),
    ];
    // The benchmark runs a setting once. Several blocks would tell settings apart from noise.
    draft.top.push(Setting::added("blocks", "1", "as the benchmark does; 5 tell settings apart from noise"));
    draft.top.push(match request.client {
        Client::Wire => {
            Setting::added("driver", "wire", "Plumb's own client; librdkafka by --client librdkafka")
        }
        // An import chooses between the two.
        Client::Librdkafka | Client::External => Setting::added("driver", "librdkafka", "--client"),
    });
    Ok(Import {
        text: draft.text(),
        sources: draft.sources(),
        connection: connection.into_iter().map(|line| line + "\n").collect(),
    })
}

/// Everything that stands in the way, in one error; none where nothing does.
fn obstacles(fates: &Fates, mut errors: Vec<UsageError>) -> Option<UsageError> {
    let mut all = fates.refusals();
    if all.is_empty() && errors.len() <= 1 {
        return errors.pop();
    }
    all.extend(errors.into_iter().map(|error| match error.hint {
        Some(hint) => format!("{}: {hint}", error.message),
        None => error.message,
    }));
    let message = match &all[..] {
        [one] => one.clone(),
        several => format!("{} things stand in the way:\n{}", several.len(), several.join("\n")),
    };
    let hint = "plumb imports a file as a whole or not at all: change it, or a copy of it";
    Some(UsageError::new(message, hint))
}

#[cfg(test)]
mod tests;
