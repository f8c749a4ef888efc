//! `skillrun retry`: a new run with the request of an old one. Nothing is added to the old run.

use std::process::ExitCode;

use skillrun_runtime::Options;
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
    Ok(Overrides {
        engine: now.common.engine.clone(),
        mode: now.mode,
        input: request::values(&now.input, "--input", settings)?,
        parameter: request::values(&now.param, "--param", settings)?,
        files: request::files(&now.file, settings)?,
        workspace: request::workspace(&now.common, settings),
        copy_of: request::copy_of(&now.common, settings),
        script: request::script(&now.common, settings),
        profile: now.profile,
        continuation: now.continuation,
        options: Options { mcp_servers: request::mcp_servers(&now.common, settings)?, ..request::options(now) },
    })
}
