//! The directory of a result that is no run (a probe, a sizing, a trial on a fleet): one document, named by what it is, and the page.
//!
//! A run's directory is `plumb_session::run_dir`; the page has the same name in all of them, and `plumb report` opens any.

use crate::errors::UsageError;
use crate::{printer, whole_file};
use anyhow::{Context, Result};
use plumb_judge::capacity::Sizing;
use plumb_model::fleet::FleetResult;
use plumb_model::probe::{ProbeKind, SCHEMA_VERSION};
use plumb_model::verdict::Verdict;
use plumb_report::sheet::{self, Sheet};
use plumb_report::{fleet, probe};
use plumb_session::run_dir::{DOCUMENT as RUN, RunDirError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The page's name in every directory.
pub(crate) const PAGE: &str = "report.html";

/// What a directory has the result of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Probe,
    Size,
    Fleet,
}

/// A result in every form in which it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    /// For the terminal.
    pub(crate) text: String,
    /// For programs: the document.
    pub(crate) json: String,
    /// The page.
    pub(crate) page: String,
    /// True where it ends a command with exit code 1.
    pub(crate) found: bool,
}

impl ResultKind {
    const ALL: [ResultKind; 3] = [ResultKind::Probe, ResultKind::Size, ResultKind::Fleet];

    /// Name of its document.
    fn document(self) -> &'static str {
        match self {
            ResultKind::Probe => "probe.json",
            ResultKind::Size => "size.json",
            ResultKind::Fleet => "fleet.json",
        }
    }
}

impl Shown {
    /// A result that is shown as a sheet; `command` is the one that made it, such as `probe storage`.
    pub(crate) fn sheet(document: &impl Serialize, sheet: &Sheet, command: &str) -> Result<Self> {
        Ok(Shown {
            text: sheet::text::render(sheet, printer::style()),
            json: json(document)?,
            page: sheet::page::render(sheet, command)?,
            found: !sheet.findings.is_empty(),
        })
    }

    /// A trial on a fleet, whose page has charts.
    pub(crate) fn fleet(result: &FleetResult) -> Result<Self> {
        Ok(Shown {
            text: fleet::text::render(result, printer::style()),
            json: json(result)?,
            page: fleet::page::render(result)?,
            found: !matches!(result.verdict, Verdict::Better | Verdict::Equivalent),
        })
    }
}

fn json(document: &impl Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(document)?))
}

/// Refuses a directory that has a result already. Called before anything is measured or read: an hour's work must not end at this.
/// `further` names what else would be written.
pub(crate) fn refuse_taken(directory: &Path, further: &[&str]) -> Result<(), UsageError> {
    let documents = ResultKind::ALL.map(ResultKind::document);
    let names = documents.iter().chain(&[RUN, PAGE]).chain(further).map(|name| directory.join(name));
    match std::iter::once(directory.to_owned()).chain(names).find(|path| path.is_file()) {
        None => Ok(()),
        Some(path) => {
            let message = format!("{} exists already", path.display());
            Err(UsageError::new(message, "name another directory with --out"))
        }
    }
}

/// Writes document and page, and says where the page is.
pub(crate) fn write(directory: &Path, kind: ResultKind, shown: &Shown) -> Result<()> {
    fs_err::create_dir_all(directory).context("cannot make the directory of --out")?;
    whole_file::write(&directory.join(kind.document()), &shown.json)?;
    let page = directory.join(PAGE);
    whole_file::write(&page, &shown.page)?;
    printer::remark(&format!("report: {}", page.display()));
    Ok(())
}

/// The result that a directory has, or that a document of one is; `None` where it is a run's, or none at all.
pub(crate) fn read(path: &Path) -> Result<Option<Shown>> {
    let Some((kind, document)) = find(path) else { return Ok(None) };
    let text = fs_err::read_to_string(&document).map_err(RunDirError::Read)?;
    let shown = match kind {
        ResultKind::Probe => read_probe(&document, &text)?,
        ResultKind::Size => {
            let sizing: Sizing = parse(&document, &text)?;
            Shown::sheet(&sizing, &crate::commands::size::sheet::sheet(&sizing), "size")?
        }
        ResultKind::Fleet => Shown::fleet(&parse(&document, &text)?)?,
    };
    Ok(Some(shown))
}

fn find(path: &Path) -> Option<(ResultKind, PathBuf)> {
    if path.is_dir() {
        if path.join(RUN).exists() {
            return None;
        }
        let documents = ResultKind::ALL.map(|kind| (kind, path.join(kind.document())));
        return documents.into_iter().find(|(_, document)| document.exists());
    }
    let kind = ResultKind::ALL
        .into_iter()
        .find(|kind| path.file_name().is_some_and(|name| name == kind.document()))?;
    Some((kind, path.to_owned()))
}

fn read_probe(path: &Path, text: &str) -> Result<Shown> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema_version: u32,
        probe: ProbeKind,
    }
    let head: Head = parse(path, text)?;
    if head.schema_version > SCHEMA_VERSION {
        return Err(RunDirError::Newer { path: path.to_owned(), got: head.schema_version.into() }.into());
    }
    match head.probe {
        ProbeKind::Storage => probed(path, text, probe::storage::sheet, "probe storage"),
        ProbeKind::Crypto => probed(path, text, probe::crypto::sheet, "probe crypto"),
        ProbeKind::Memory => probed(path, text, probe::memory::sheet, "probe memory"),
        ProbeKind::Network => probed(path, text, probe::network::sheet, "probe network"),
        ProbeKind::Clock => probed(path, text, probe::clock::sheet, "probe clock"),
        ProbeKind::Facts => probed(path, text, |facts| probe::facts::sheet(facts, false), "probe facts"),
    }
}

fn probed<D: Serialize + DeserializeOwned>(
    path: &Path,
    text: &str,
    sheet: fn(&D) -> Sheet,
    command: &str,
) -> Result<Shown> {
    let document: D = parse(path, text)?;
    Shown::sheet(&document, &sheet(&document), command)
}

fn parse<D: DeserializeOwned>(path: &Path, text: &str) -> Result<D, RunDirError> {
    serde_json::from_str(text).map_err(|source| RunDirError::NotADocument { path: path.to_owned(), source })
}
