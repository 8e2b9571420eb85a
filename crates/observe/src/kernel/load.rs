//! Brings one part's programs into the kernel and takes them out again.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::io;

use aya::maps::Map;
use aya::programs::{BtfTracePoint, ProgramError, RawTracePoint, TracePoint};
use aya::{Btf, Ebpf, EbpfError, EbpfLoader};

use super::part::{Hook, Part};

/// The longest reason that is of use to a reader.
const REASON_CHARS_MAX: usize = 240;

/// Why a part could not be had.
#[derive(Debug)]
pub(super) struct LoadError {
    reason: String,
    permission: bool,
}

impl LoadError {
    /// True if the kernel would have let somebody else.
    pub(super) fn is_permission(&self) -> bool {
        self.permission
    }

    /// The error, its causes, and the last line of what the kernel's verifier said.
    fn new(doing: &str, error: &(dyn Error + 'static)) -> Self {
        let mut text = format!("{doing}: ");
        let mut permission = false;
        let mut next = Some(error);
        let mut said = Vec::new();
        while let Some(error) = next {
            permission |= error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            said.push(match error.downcast_ref::<ProgramError>() {
                Some(ProgramError::LoadError { io_error, verifier_log }) => {
                    let log = verifier_log.to_string();
                    let last = log.lines().rev().find(|line| !line.trim().is_empty() && !is_statistic(line));
                    [io_error.to_string(), last.unwrap_or_default().to_owned()].join("; ")
                }
                _ => error.to_string(),
            });
            next = error.source();
        }
        // A cause is often in the text of what it caused.
        said.dedup_by(|cause, caused| caused.contains(cause.as_str()));
        text += &said.join(": ");
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        LoadError { reason: one_line.chars().take(REASON_CHARS_MAX).collect(), permission }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.trim_end_matches([';', ' ']))
    }
}

/// The verifier ends with how much it looked at.
fn is_statistic(line: &str) -> bool {
    ["processed ", "verification time", "stack depth"].iter().any(|start| line.starts_with(start))
}

/// Loads a part that is to watch these processes, if it is of processes, and attaches it in the first way that the kernel has.
pub(super) fn load(part: &Part, pids: &[u32], btf: &Btf) -> Result<Ebpf, LoadError> {
    let mut refusal = None;
    for way in part.ways {
        match load_way(part, way, pids, btf) {
            Ok(programs) => return Ok(programs),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or_else(|| LoadError { reason: "no way to attach".to_owned(), permission: false }))
}

/// All or nothing: what was attached goes when one cannot be.
fn load_way(part: &Part, way: &[Hook], pids: &[u32], btf: &Btf) -> Result<Ebpf, LoadError> {
    let (lowest, highest) =
        (pids.iter().min().copied().unwrap_or(0), pids.iter().max().copied().unwrap_or(u32::MAX));
    let (fsync, fdatasync) = (libc::SYS_fsync as u64, libc::SYS_fdatasync as u64);
    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf));
    // Each is in those objects alone that use it.
    loader.override_global("lowest", &lowest, false).override_global("highest", &highest, false);
    loader.override_global("number_fsync", &fsync, false);
    loader.override_global("number_fdatasync", &fdatasync, false);
    if let Some(watched) = &part.watched {
        loader.map_max_entries(watched.map(), u32::try_from(pids.len()).unwrap_or(u32::MAX));
    }
    let mut programs =
        loader.load(part.object).map_err(|error: EbpfError| LoadError::new("cannot load", &error))?;
    // A program that is attached must know whom it watches.
    if let Some(watched) = &part.watched {
        watched
            .enter(&mut programs, pids)
            .map_err(|error| LoadError::new("cannot enter the processes", &error))?;
    }
    for hook in way {
        attach(&mut programs, hook, btf)
            .map_err(|error| LoadError::new(&format!("cannot attach to {}", hook.point()), &error))?;
    }
    Ok(programs)
}

fn attach(programs: &mut Ebpf, hook: &Hook, btf: &Btf) -> Result<(), ProgramError> {
    let program = programs.program_mut(hook.program()).ok_or(ProgramError::NotLoaded)?;
    match hook {
        Hook::Typed { point, .. } => {
            let program: &mut BtfTracePoint = program.try_into()?;
            program.load(point, btf)?;
            program.attach()?;
        }
        Hook::Raw { point, .. } => {
            let program: &mut RawTracePoint = program.try_into()?;
            program.load()?;
            program.attach(point)?;
        }
        Hook::Event { category, point, .. } => {
            let program: &mut TracePoint = program.try_into()?;
            program.load()?;
            program.attach(category, point)?;
        }
    }
    Ok(())
}

/// Detaches the programs, so that their maps no longer change, and keeps the maps.
pub(super) fn detach(mut programs: Ebpf) -> HashMap<String, Map> {
    let names: Vec<String> = programs.maps().map(|(name, _)| name.to_owned()).collect();
    names.into_iter().filter_map(|name| programs.take_map(&name).map(|map| (name, map))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_line_of_limited_length_and_knows_whether_privilege_would_help() {
        let error = io::Error::new(io::ErrorKind::PermissionDenied, "no\nno ".repeat(200));
        let refusal = LoadError::new("cannot load", &error);
        assert!(refusal.is_permission());
        assert!(refusal.to_string().starts_with("cannot load: no no no"));
        assert!(refusal.to_string().chars().count() <= REASON_CHARS_MAX);
    }
}
