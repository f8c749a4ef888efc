//! Engines as data: one TOML file per engine says how it is found, started, resumed and ended.
//!
//! ```text
//!  engines/*.toml in the binary ┐
//!                               ├─ load ──▶ Engines ── get ──▶ Descriptor ── start, resume ──▶ Launch ──▶ host
//!  the operator's folder ───────┘                                  │
//!                                                                  └── find, version: the program
//! ```
//!
//! - [`descriptor`]: the content of a file, as types. [`load`]: all files. `read`, `keys`: one file, checked key by
//!   key.
//! - [`template`]: `{{name}}` in arguments, values and files; a closed list of names.
//! - [`mod@find`], [`version`]: the executable and its version. [`launch`]: what to start. [`files`]: what to write
//!   first. [`workspace`]: what files of the workspace could start. [`input`]: messages to a running process. [`acp`]: the Agent Client Protocol.
//! - [`install`]: private installs. [`login`]: whether the user is logged in. [`mcp`]: the MCP servers of a run.
//!
//! An operator's file with the name of a shipped engine replaces it; another name adds an engine. A broken file makes
//! that engine unusable and reports why; the shipped engine does not silently take its place.
//!
//! No environment and no home folder is read here; the caller passes them in.
//!
//! # The format
//!
#![doc = concat!("```toml\n", include_str!("reference.toml"), "```")]

pub mod acp;
pub mod descriptor;
pub mod error;
pub mod files;
pub mod find;
pub mod input;
pub mod install;
mod keys;
pub mod launch;
pub mod load;
pub mod login;
pub mod mcp;
mod read;
pub mod template;
pub mod version;
pub mod workspace;

pub use descriptor::{Descriptor, DescriptorOrigin, Permission, Posture};
pub use error::{GetError, LoadError, LoadErrorKind};
pub use find::{Disk, EngineProgram, FindContext, FindError, Probe, find};
pub use launch::{Home, Launch, LaunchError, StartRequest, resume, start};
pub use load::Engines;
pub use login::LoginFound;
