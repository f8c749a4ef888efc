//! Delegation: runs that the open turn of another run asks for.
//!
//! ```text
//! engine ─▶ skillrun mcp ─▶ socket of the parent ─▶ desk ─▶ mailbox ─▶ worker of the parent: the request is in its Log
//!                                                    ▲                      │ makes the child, or finds it made
//!                                                    │ board                ▼
//!                                                    └──────────── the child is a run like every other
//! ```
//!
//! - `listen`: the socket of a parent, while its worker works; the messages are in the crate `plan`. `token`: what its
//!   engine shows.
//! - `desk`: carries out the requests of one parent. `board`: what the worker of the parent knows of its children.
//! - `make`: a request becomes a new run. How a child ended, from its own Log, is in `skillrun_runs::children`.

pub(crate) mod board;
pub(crate) mod desk;
mod listen;
pub(crate) mod make;
pub(crate) mod token;

pub(crate) use listen::DelegationSocket;

/// Longest time of one wait. Engines end calls of tools after 60 s.
pub const WAIT_MAX_SEC: f64 = 45.0;
