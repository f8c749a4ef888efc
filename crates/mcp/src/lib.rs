//! The MCP server: tools with which agents start runs on any engine, wait for them, answer their questions and read
//! their results. Requests and responses are those of `model::delegation`; the process that carries them out is behind
//! a [`RunDesk`].
//!
//! ```text
//! client ── stdio, HTTP ──▶ rmcp: versions, framing ──▶ server ──▶ tools: arguments ──▶ desk
//!                                                         ◀── answer: text and data ◀──┘
//! ```
//!
//! - `desk`: what carries out requests, and who asks. `attempt_desk`: the owner of the run that an attempt belongs to,
//!   over its socket.
//! - `tools`: names, descriptions and arguments of the tools. `answer`: what a model reads.
//! - `server`: the tools as a handler of the protocol. `stdio`, `http`: its transports.
//!
//! The versions of the protocol and the framing are those of `rmcp`. `stdio` adds what agents need beyond it: a message
//! that comes too early does not end the server, and the end of stdin ends it in the middle of a wait.

mod answer;
pub mod attempt_desk;
mod desk;
mod http;
mod server;
mod stdio;
mod tools;

pub use desk::{Access, Caller, DeskKind, RunDesk};
pub use http::HttpServer;
pub use stdio::serve_stdio;
pub use tools::WAIT_MAX;
