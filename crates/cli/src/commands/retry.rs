//! `skillrun retry`: a new run with the request of an old one. Nothing is added to the old run.

use std::process::ExitCode;

use skillrun_runs::record::Sharing;
use skillrun_runtime::retry::{Again, Overrides, SkillFrom, again};

use super::run::follow::Style;
use super::run::{request, submit};
use crate::args::{Global, RequestArgs, RetryArgs};
use crate::failure::Failure;
use crate::place::{CommandContext, note};
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: &RetryArgs) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let record = place.record(run)?;
    let overrides = overrides(&place.settings, &args.request)?;
    let Again { new, skill_from } = again(&record, &place.folder(run), overrides)?;
    match skill_from {
        SkillFrom::Source | SkillFrom::NoSkill => {}
        SkillFrom::OwnCopy { gone } => {
            note(&format!("{} cannot be used any more; the copy of the skill in the old run is used", gone.display()));
        }
    }
    submit(global, &place.settings, new, args.wait, Style::of(args.wait), args.workspace, false)
}

/// The flags of this command.
fn overrides(settings: &Settings, now: &RequestArgs) -> Result<Overrides, Failure> {
    let sharing = if now.share { Sharing::Allowed } else { Sharing::Alone };
    let absolute = |path: &std::path::PathBuf| settings.surroundings.absolute_path(path);
    Ok(Overrides {
        engine: now.engine.clone(),
        mode: now.mode,
        input: request::values(&now.input, "--input", settings)?,
        parameter: request::values(&now.param, "--param", settings)?,
        files: request::files(&now.file, settings)?,
        workspace: now.workspace.as_ref().map(|path| (absolute(path), sharing)),
        script: now.script.as_ref().map(absolute),
        profile: now.profile,
        continuation: now.continuation,
        options: request::options(now),
    })
}
