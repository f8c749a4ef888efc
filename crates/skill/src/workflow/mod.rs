//! Workflow files: YAML or JSON that declares steps, and the [`WorkflowPlan`] that an accepted file becomes.
//!
//! - `file`: reads the text; every key, with defaults. `error`: what is wrong, with file, line and step.
//! - `pointer`: values that stand for inputs and outputs of other steps. The conductor replaces them with it too.
//! - `plan`: what the steps need and whether they fit each other: `graph`, `shape` and `fit`; nested files: `nested`.
//! - `inputs`: what a workflow is given. `fingerprint`: whether a step is the same as one of an earlier run.
//! - `schema`: the JSON Schema of the file, for editors.
//!
//! A file is hostile input: its size, its depth, its steps and the work to check it are bounded, and nothing that it
//! names leads out of its folder.
//!
//! [`WorkflowPlan`]: skillrun_model::workflow::WorkflowPlan

#![expect(clippy::result_large_err, reason = "inside of the reader an error is made once, and ends the reading")]

mod error;
mod file;
mod fingerprint;
mod fit;
mod graph;
mod inputs;
mod known;
mod plan;
pub mod pointer;
pub mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod times;

pub use error::{PointerPart, StepLabel, WorkflowError, WorkflowProblem};
pub use file::{FileStep, FileTask, WorkflowFile, WorkflowForm, read, read_file};
pub use fingerprint::{StepIdentity, fingerprint};
pub use inputs::{WorkflowInputError, inputs_of};
pub use plan::{PlanContext, SkillFinder, plan};
pub use pointer::{Pointer, PointerFault, pointers, resolve, resolve_fields};

/// Largest file.
pub const FILE_MAX: usize = 4 << 20;
/// Most bytes of a file and those that it contains, each counted as often as it is used: a plan contains them as often.
pub const EXPANDED_MAX: usize = 16 << 20;
/// Most child runs that work at the same time.
pub const CONCURRENCY_MAX: u32 = 256;
/// The same where the file does not say.
pub const CONCURRENCY: u32 = 8;
/// Most tries after the first.
pub const RETRIES_MAX: u32 = 100;
/// Most engines of a step, inputs of a workflow, checks of a step, and required files of a step.
pub const ENGINES_MAX: usize = 16;
pub const INPUTS_MAX: usize = 256;
pub const CHECKS_MAX: usize = 32;
pub const ARTIFACTS_MAX: usize = 256;
