//! `plumb judge`: finds what bounds a path that was watched earlier, here or on another machine, by the rules of this version.

use super::End;
use super::watched::show;
use crate::args::observe::JudgeArgs;
use crate::result_dir::{self, OF_PROFILES};
use anyhow::Result;
use std::path::Path;

pub(super) fn judge(arguments: &JudgeArgs) -> Result<End> {
    result_dir::check_places(&arguments.result, &OF_PROFILES)?;
    let mut path = result_dir::read_path(&arguments.path)?;
    // What a flip has shown stays shown.
    let before = path.diagnosis.take();
    let mut diagnosis = plumb_judge::diagnosis::diagnose(&path);
    plumb_judge::diagnosis::keep_confirmations(&mut diagnosis, before.as_ref());
    path.diagnosis = Some(diagnosis);
    let place = match arguments.path.is_dir() {
        true => arguments.path.as_path(),
        false => arguments.path.parent().unwrap_or(Path::new(".")),
    };
    result_dir::carry_profiles(&mut path, place, arguments.result.out.as_deref());
    show(&path, &arguments.result)
}
