//! `skillrun ask`: sends one prompt to an engine and prints the answer.

use std::process::ExitCode;

use skillrun_model::delegation::ChildRequest;

use super::prompt_text;
use super::run::follow::Style;
use super::run::{delegate, request, submit};
use crate::args::{Ask, Global, RequestArgs, Wait, WorkspaceWait};
use crate::failure::Failure;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: &Ask) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    if let Some(parent) = &args.child.parent {
        let request = request::of_child(&settings, &RequestArgs::of_prompt(&args.request), &args.child)?;
        let request = ChildRequest { prompt: Some(prompt_text::prompt(&args.prompt)?), ..request };
        return delegate(global, &settings, parent, &request, Wait::default(), Style::answer(args.json));
    }
    let new = request::of_prompt(&settings, prompt_text::prompt(&args.prompt)?, &args.request)?;
    submit(global, &settings, new, Wait::default(), Style::answer(args.json), WorkspaceWait::default(), false)
}
