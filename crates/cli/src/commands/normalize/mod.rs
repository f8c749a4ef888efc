//! `skillrun normalize`: recorded bytes to events, conversation and verdict.

mod outputs;

use skillrun_evidence::{Folder, Patterns};
use skillrun_inspect::normalize::{NormalizeOptions, Recording};
use skillrun_lifecycle::{OutputValidator, ProcessExit};
use skillrun_model::{AttemptNumber, ErrorClass};
use skillrun_skill::OutputSchema;

use crate::args::{Global, Normalize};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::ProcessContext;
use outputs::Outputs;

pub(crate) fn run(global: &Global, args: &Normalize) -> Result<(), Failure> {
    let schema = args.schema.as_deref().map(OutputSchema::read).transpose()?;
    let folder = Folder::open(&args.dir)?;
    let patterns = [folder.recorded_patterns()?, args.redact.clone()].concat();
    let patterns = Patterns::new(&patterns).map_err(|error| Failure::of_class(ErrorClass::Usage, error))?;
    let folder = folder.hiding(&patterns);
    let exit = args.exit_code.map(ProcessExit::Code).or_else(|| args.signal.clone().map(ProcessExit::Signal));
    let options = NormalizeOptions {
        engine: args.engine.clone(),
        profile: args.profile,
        mode: args.mode,
        attempt: args.attempt.map(AttemptNumber),
        max_attempt: args.max_attempt,
        require_marker: args.require_marker,
        no_skill: args.no_skill,
        exit,
        ended_by: args.ended_by,
    };
    let recording = Recording::open(&folder, &options)?;
    let mut outputs =
        Outputs::open(args.format, args.out.as_deref(), Output::new(global.color, &ProcessContext::read()?))?;
    recording.normalize(schema.as_ref().map(|schema| schema as &dyn OutputValidator), &mut outputs)?;
    outputs.finish()
}
