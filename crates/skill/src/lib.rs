//! Skill packages: a folder with `SKILL.md` and, if it likes, `assets/runner.json` and JSON Schemas.
//!
//! - `package`: reads a skill; its front matter, its `runner.json`, its hash, what is wrong with it.
//! - `search`: finds skills in an ordered list of folders.
//! - `schema`, `input`: JSON Schemas; input and parameter are checked before anything starts.
//! - `template`, `prompt`: the prompt for the engine.
//! - `copy`, `patch`: the copy inside a run, and the rules that are added to it. The source is never changed.
//! - `archive`: installs from zip packages and folders. `scaffold`: a new skill. `validate`: everything that is wrong with one, as data.
//! - `workflow`: workflow files, and the plans that they become.
//!
//! Skills, schemas, workflow files and archives are hostile input: all of it is bounded, and nothing leaves the folder it belongs to.
//! No environment and no home folder is read here; every path comes from the caller.

pub mod archive;
pub mod copy;
pub mod error;
pub mod input;
pub mod package;
pub mod patch;
pub mod prompt;
pub mod scaffold;
pub mod schema;
pub mod search;
pub mod template;
pub mod validate;
pub mod workflow;

mod bounded;
#[cfg(test)]
mod testing;

pub use archive::{ArchiveError, Existing, InstalledSkill};
pub use copy::SkillCopy;
pub use error::{SkillError, SkillErrorKind};
pub use input::{InputError, InputPart, PairError};
pub use package::finding::{Finding, FindingKind, Severity};
pub use package::hash::SkillHash;
pub use package::runner::{Runner, SchemaRole};
pub use package::{EngineSupport, Skill};
pub use patch::{Layer, Layers, Patch};
pub use prompt::{PromptError, PromptValues};
pub use schema::{OutputSchema, Schema, SchemaError};
pub use search::{FoundSkill, Listing, SearchFolder, SearchPath, SkillOrigin};
pub use validate::SkillReport;
