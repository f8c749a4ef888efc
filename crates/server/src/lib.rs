//! The service: the same runs for programs and browsers, over HTTP.
//!
//! ```text
//! connection ─▶ listen ─▶ front (guard: Host, Origin) ─▶ routes (guard: token, scope) ─▶ runtime, summaries, feed
//! ```
//!
//! - `serve`: the life of the service. `service`: what handlers have. `housekeeping`: what is done without being asked.
//! - `listen`, `front`: connections and the door. `places`: who may hold a connection. `guard`, `auth`: who may do what.
//! - `routes`: what can be asked, one file per thing. `extract`, `upload`: requests taken apart. `api`: their types, `integers` in them.
//! - `download`: answers that are files. `page`: the web page, and a few that need no program around them.
//! - `feed`, `sse`: streams of one run. `summaries`: all runs in a few words, and what changes about them.
//! - `webhooks`: tells addresses of ends and of questions.
//! - `problem`: what is said when something cannot be done. `openapi`: all of it described. `metrics`: numbers.
//! - `blocking`: work that waits for files. `stopping`: the word to stop.
//!
//! No engine's name is known here.

mod api;
pub mod auth;
mod blocking;
mod download;
mod extract;
mod feed;
mod front;
mod guard;
mod housekeeping;
mod integers;
mod listen;
mod metrics;
pub mod openapi;
mod page;
mod places;
pub mod problem;
mod routes;
pub mod serve;
mod service;
mod sse;
mod stopping;
pub mod summaries;
mod upload;
pub mod webhooks;

pub use serve::{ServeError, Serving, Setup, Stop, Stopped, serve};
pub use service::{Around, Complain, Door};
