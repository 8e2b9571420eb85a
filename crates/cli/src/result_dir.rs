//! The directory of a result that is no run (a probe, a sizing, a trial on a fleet, a watched path): one document, named by what it is, and the page.
//!
//! A run's directory is `plumb_session::run_dir`; the page has the same name in all of them, and `plumb report` opens any.

use crate::args::result::{ResultArgs, ResultOutput};
use crate::commands::search::{REQUEST, SEARCH};
use crate::errors::UsageError;
use crate::printer;
use crate::whole_file::{self, WholeFile};
use anyhow::{Context, Result};
use plumb_judge::capacity::Sizing;
use plumb_judge::settings_search::{Runs, report};
use plumb_model::check::HostCheck;
use plumb_model::diagnosis::{Diagnosis, DiagnosisVerdict};
use plumb_model::fleet::FleetResult;
use plumb_model::observed::{ObservedPath, PathKind, profile_file};
use plumb_model::probe::{ProbeKind, SCHEMA_VERSION};
use plumb_model::search_report::{SearchOutcome, SearchReport};
use plumb_model::verdict::Verdict;
use plumb_report::sheet::{self, Sheet};
use plumb_report::{fleet, host, path, probe, search};
use plumb_session::run_dir::{DOCUMENT as RUN, RunDirError, read_document};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::path::{Path, PathBuf};

/// The page's name in every directory.
pub(crate) const PAGE: &str = "report.html";

/// The kind of result in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    Probe,
    Size,
    Fleet,
    Path,
    Check,
    Search,
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
    /// The other files of its directory.
    pub(crate) beside: Vec<Beside>,
    /// True where it ends a command with exit code 1.
    pub(crate) found: bool,
}

/// A file beside a document.
#[derive(Debug)]
pub(crate) struct Beside {
    name: String,
    text: String,
}

impl ResultKind {
    const ALL: [ResultKind; 6] = [
        ResultKind::Probe,
        ResultKind::Size,
        ResultKind::Fleet,
        ResultKind::Path,
        ResultKind::Check,
        ResultKind::Search,
    ];

    /// Name of its document.
    pub(crate) fn document(self) -> &'static str {
        match self {
            ResultKind::Probe => "probe.json",
            ResultKind::Size => "size.json",
            ResultKind::Fleet => "fleet.json",
            ResultKind::Path => "path.json",
            ResultKind::Check => "check.json",
            ResultKind::Search => "search.json",
        }
    }

    /// What it is, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            ResultKind::Probe => "a probe",
            ResultKind::Size => "a sizing",
            ResultKind::Fleet => "a trial on a fleet",
            ResultKind::Path => "a watched path",
            ResultKind::Check => "the check of a host",
            ResultKind::Search => "a search",
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
            beside: Vec::new(),
            found: !sheet.findings.is_empty(),
        })
    }

    /// The answer of a search for settings.
    pub(crate) fn search(report: &SearchReport) -> Result<Self> {
        let found =
            !matches!(report.outcome, SearchOutcome::Better | SearchOutcome::AsGood | SearchOutcome::ToProve);
        Ok(Shown { found, ..Shown::sheet(report, &search::sheet(report), "search")? })
    }

    /// A trial on a fleet, whose page has charts.
    pub(crate) fn fleet(result: &FleetResult) -> Result<Self> {
        Ok(Shown {
            text: fleet::text::render(result, printer::style()),
            json: json(result)?,
            page: fleet::page::render(result)?,
            beside: Vec::new(),
            found: !matches!(result.verdict, Verdict::Better | Verdict::Equivalent),
        })
    }
}

impl Shown {
    /// A path that was watched, with its diagnosis if there is one.
    pub(crate) fn path(path: &ObservedPath) -> Result<Self> {
        let bound = |diagnosis: &Diagnosis| diagnosis.verdict == DiagnosisVerdict::Bound;
        let mut beside = Vec::new();
        for process in &path.processes {
            let name = profile_file(FLAME, process.pid, path.processes.len(), "svg");
            let flame = path::flame::file(process)?;
            beside.extend(flame.map(|text| Beside { name, text }));
        }
        Ok(Shown {
            text: path::text::render(path, printer::style()),
            json: json(path)?,
            page: path::page::render(path)?,
            beside,
            found: path.diagnosis.as_ref().is_some_and(bound),
        })
    }
}

/// Names of the files of a profile, before their endings.
const PROFILE: &str = "profile";
const FLAME: &str = "flame";

/// The files beside a watched path's document; where several processes are watched, the names have their numbers.
pub(crate) const OF_PROFILES: [&str; 2] = ["profile.collapsed", "flame.svg"];

/// Takes the whole profiles of a watched path along into another directory. One that is not there, or goes by another name than Plumb's, is
/// no longer spoken of.
pub(crate) fn carry_profiles(path: &mut ObservedPath, from: &Path, to: Option<&Path>) {
    let processes = path.processes.len();
    for process in &mut path.processes {
        let pid = process.pid;
        let Some(profile) = process.profile.as_mut() else { continue };
        let ours = profile_file(PROFILE, pid, processes, "collapsed");
        let carried = to.filter(|_| profile.file.as_deref() == Some(ours.as_str())).is_some_and(|to| {
            fs_err::create_dir_all(to).is_ok() && fs_err::copy(from.join(&ours), to.join(&ours)).is_ok()
        });
        if to.is_some() && !carried {
            profile.file = None;
        }
    }
}

/// The kind of a result that is no run, by its directory or document.
pub(crate) fn kind(path: &Path) -> Option<ResultKind> {
    find(path).map(|(kind, _)| kind)
}

/// True if a directory, or a document, is of a watched path.
pub(crate) fn is_path(path: &Path) -> bool {
    kind(path) == Some(ResultKind::Path)
}

/// A watched path: the document in a directory, or the file itself.
pub(crate) fn read_path(path: &Path) -> Result<ObservedPath> {
    let document = match path.is_dir() {
        true => path.join(ResultKind::Path.document()),
        false => path.to_owned(),
    };
    let text = fs_err::read_to_string(&document).map_err(RunDirError::Read)?;
    parse_path(&document, &text)
}

fn parse_path(path: &Path, text: &str) -> Result<ObservedPath> {
    let document: ObservedPath = parse(path, text)?;
    if document.schema_version > plumb_model::observed::SCHEMA_VERSION {
        return Err(RunDirError::Newer { path: path.to_owned(), got: document.schema_version.into() }.into());
    }
    Ok(document)
}

/// A check of a host: the document in a directory, or the file itself.
pub(crate) fn read_check(path: &Path) -> Result<HostCheck> {
    let document = match path.is_dir() {
        true => path.join(ResultKind::Check.document()),
        false => path.to_owned(),
    };
    let text =
        fs_err::read_to_string(&document).map_err(|error| UsageError::new(error.to_string(), A_CHECK))?;
    parse_check(&document, &text).map_err(|error| match error.downcast::<RunDirError>() {
        Ok(RunDirError::NotADocument { path, source }) => {
            let message = format!("{} is not the check of a host: {source}", path.display());
            UsageError::new(message, A_CHECK).into()
        }
        Ok(other) => other.into(),
        Err(error) => error,
    })
}

/// What a check is read from.
const A_CHECK: &str = "give what `plumb check --output json` printed, or a directory of `plumb check --out` with its check.json";

fn parse_check(path: &Path, text: &str) -> Result<HostCheck> {
    let document: HostCheck = parse(path, text)?;
    if document.schema_version > plumb_model::check::SCHEMA_VERSION {
        return Err(RunDirError::Newer { path: path.to_owned(), got: document.schema_version.into() }.into());
    }
    Ok(document)
}

pub(crate) fn json(document: &impl Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(document)?))
}

/// Refuses places in which the result could not be kept, before anything is measured. `further` names what else would be written.
pub(crate) fn check_places(result: &ResultArgs, further: &[&str]) -> Result<()> {
    if let Some(directory) = &result.out {
        refuse_taken(directory, further)?;
        whole_file::may_be_made_in(directory).context("cannot make the directory of --out")?;
    }
    let folder = result.html.as_ref().and_then(|page| page.parent());
    match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        None => {}
        Some(folder) => {
            let message = format!("--html: there is no directory {}", folder.display());
            return Err(UsageError::new(message, "make it, or name another place for the page").into());
        }
    }
    if let Some(page) = &result.html {
        // Made and left unfinished: nothing of it stays.
        WholeFile::create(page).context("cannot write the page of --html")?;
    }
    Ok(())
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

/// Prints a result, and keeps it where that was asked for.
pub(crate) fn show(shown: &Shown, kind: ResultKind, result: &ResultArgs) -> Result<()> {
    printer::out(match result.output {
        ResultOutput::Text => &shown.text,
        ResultOutput::Json => &shown.json,
    });
    if let Some(path) = &result.html {
        write_page(path, shown)?;
    }
    result.out.as_ref().map_or(Ok(()), |directory| write(directory, kind, shown))
}

/// Writes the page alone, and says where it is.
pub(crate) fn write_page(path: &Path, shown: &Shown) -> Result<()> {
    whole_file::write(path, &shown.page).context("cannot write the page")?;
    printer::remark(&format!("report: {}", path.display()));
    Ok(())
}

/// Writes document and page, and says where the page is.
pub(crate) fn write(directory: &Path, kind: ResultKind, shown: &Shown) -> Result<()> {
    keep(directory, kind, shown)?;
    printer::remark(&format!("report: {}", directory.join(PAGE).display()));
    Ok(())
}

/// Writes document and page.
pub(crate) fn keep(directory: &Path, kind: ResultKind, shown: &Shown) -> Result<()> {
    fs_err::create_dir_all(directory).context("cannot make the directory of --out")?;
    whole_file::write(&directory.join(kind.document()), &shown.json)?;
    for file in &shown.beside {
        whole_file::write(&directory.join(&file.name), &file.text)?;
    }
    Ok(whole_file::write(&directory.join(PAGE), &shown.page)?)
}

/// The answer of a search: of its directory, of its document, or of its own run in it; one that has no answer yet says what its run saw. None
/// of any other result.
pub(crate) fn read_search(path: &Path) -> Result<Option<SearchReport>> {
    let document = match find(path) {
        Some((ResultKind::Search, document)) => document,
        Some(_) => return Ok(None),
        None => {
            let run = match path.parent() {
                Some(run) if path.file_name().is_some_and(|name| name == RUN) => run.to_owned(),
                _ if has_run(path) => path.to_owned(),
                _ => path.join(SEARCH),
            };
            let Ok(of_run) = read_document(&run) else { return Ok(None) };
            let whole = run.parent().map(|whole| whole.join(ResultKind::Search.document()));
            match whole.filter(|whole| whole.is_file() && of_run.plan.settings_search.is_some()) {
                Some(whole) => whole,
                None => return Ok(report(Runs::of(&of_run))),
            }
        }
    };
    let text = fs_err::read_to_string(&document).map_err(RunDirError::Read)?;
    Ok(Some(parse(&document, &text)?))
}

/// True if a directory is a run's.
pub(crate) fn has_run(directory: &Path) -> bool {
    directory.join(RUN).is_file()
}

/// The runs of a search, by their names below its directory; `None` of any other directory.
pub(crate) fn runs_of_search(directory: &Path) -> Option<Vec<String>> {
    let has = |name: &str| directory.join(name).is_file();
    if has(RUN) || !(has(REQUEST) || has(ResultKind::Search.document())) {
        return None;
    }
    let entries = fs_err::read_dir(directory).ok()?;
    let runs = entries.flatten().filter(|entry| entry.path().join(RUN).is_file());
    let mut names: Vec<String> = runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Some(names)
}

/// The result that a directory has, or that a document of one is; `None` where it is a run's, or none at all.
pub(crate) fn read(path: &Path) -> Result<Option<Shown>> {
    let Some((kind, document)) = find(path) else { return without_document(path) };
    let text = fs_err::read_to_string(&document).map_err(RunDirError::Read)?;
    let shown = match kind {
        ResultKind::Probe => read_probe(&document, &text)?,
        ResultKind::Size => {
            let sizing: Sizing = parse(&document, &text)?;
            Shown::sheet(&sizing, &crate::commands::size::sheet::sheet(&sizing), "size")?
        }
        ResultKind::Fleet => Shown::fleet(&parse(&document, &text)?)?,
        ResultKind::Search => Shown::search(&parse(&document, &text)?)?,
        ResultKind::Path => Shown::path(&parse_path(&document, &text)?)?,
        ResultKind::Check => {
            let check = parse_check(&document, &text)?;
            Shown::sheet(&check, &host::check::sheet(&check, true), "check")?
        }
    };
    Ok(Some(shown))
}

/// Refuses the directory of a search that has no answer yet: nothing in it is a result by itself.
fn without_document(path: &Path) -> Result<Option<Shown>> {
    let Some(runs) = runs_of_search(path) else { return Ok(None) };
    let directory = path.display();
    let message = format!("{directory} is a search that has no answer yet");
    let so_far = runs.first().map(|run| format!("; what there is of it: plumb report {directory}/{run}"));
    let hint = format!("go on with it: plumb search --resume {directory}{}", so_far.unwrap_or_default());
    Err(UsageError::new(message, hint).into())
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
        .find(|kind| path.file_name().is_some_and(|name| name == kind.document()))
        .or_else(|| said_kind(path))?;
    Some((kind, path.to_owned()))
}

/// The kind of a file of another name, such as what `--output json` printed, by fields that no other document has.
fn said_kind(path: &Path) -> Option<ResultKind> {
    #[derive(serde::Deserialize)]
    struct OfPath {
        #[serde(rename = "kind")]
        _kind: PathKind,
    }
    #[derive(serde::Deserialize)]
    struct OfCheck {
        #[serde(rename = "checks")]
        _checks: IgnoredAny,
        #[serde(rename = "also_changed_by")]
        _also_changed_by: IgnoredAny,
    }
    let text = path.is_file().then(|| fs_err::read_to_string(path).ok()).flatten()?;
    if serde_json::from_str::<OfPath>(&text).is_ok() {
        return Some(ResultKind::Path);
    }
    serde_json::from_str::<OfCheck>(&text).is_ok().then_some(ResultKind::Check)
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
        ProbeKind::ClockOffset => probed(path, text, probe::clock_offset::sheet, "probe clock"),
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

pub(crate) fn parse<D: DeserializeOwned>(path: &Path, text: &str) -> Result<D, RunDirError> {
    serde_json::from_str(text).map_err(|source| RunDirError::NotADocument { path: path.to_owned(), source })
}
