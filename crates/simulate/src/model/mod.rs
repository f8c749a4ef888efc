//! A model that answers by script, on loopback, so that real engines can be run without one.
//!
//! It speaks the APIs that engines ask models through: OpenAI Responses, OpenAI Chat Completions, Anthropic Messages
//! and Gemini, in pieces and whole. The scenario is part of the base URL, and an answer follows from the request alone,
//! so runs beside each other are safe; `…once` and scripts are kept under a key of the caller's.
//!
//! ```text
//! http://127.0.0.1:PORT/s/SCENARIO[.KEY]/…       what a CLI gets as its base URL
//! GET  /health
//! GET  /control/requests                         the last 200 requests: model, scenario, API, tools, skills
//! GET  /control/requests?full=NUMBER             the body of one of them
//! POST /control/scripts/NAME                     keeps a script, see `script`, for /s/script.NAME
//! ```
//!
//! - A request without tools gets a harmless answer in every scenario but `err…` and `quota`: CLIs ask for titles and routes.
//! - Commands are run with the tool that the request offers for that. Where there is none, the answer says so.
//! - Bounds: 256 connections, 16 MiB a body, 64 MiB of remembered bodies, 64 scripts of 256 kB, 1024 keys, 5 minutes
//!   of a client's silence.
//!
//! - `server`, `http`: connections and bytes. `answer`: from a request to its answer. `log`: what was asked.
//! - `scenario`, `script`, `order`: what may be asked for. `plan`: what the model answers, pure. `texts`: its words.
//! - `shell`, `mcp`: the tools that it calls.
//! - `wire`: one file per API. `asked`: a request in no API's words. `tape`: a stream ready to be sent.
//! - `command`: `skillrun simulate-model`.

mod answer;
mod artifact;
mod asked;
mod command;
mod http;
mod log;
mod mcp;
mod memory;
mod order;
mod plan;
mod scenario;
mod script;
mod server;
mod shell;
mod tape;
#[cfg(test)]
mod tests;
mod texts;
mod wire;

pub use command::{SUBCOMMAND, main};
pub use log::Seen;
pub use scenario::{Choice, Scenario, UnknownScenario};
pub use script::{SCRIPT_MAX, SCRIPTS_MAX, Script, ScriptError};
pub use server::{Options, Server};
pub use wire::Wire;
