//! The service: the same runs for programs and browsers, over HTTP.
//!
//! ```text
//! connection ─▶ listen ─▶ front (guard: Host, Origin) ─▶ routes (guard: token, scope) ─▶ runtime, summaries, feed
//! ```
//!
//! - `serve`: start and stop of the service. `service`: the state that handlers share. `housekeeping`: background
//!   tasks.
//! - `listen`, `front`: connections, and the front that every request passes. `places`: limits on connections. `guard`:
//!   access control, with the credentials of `skillrun-auth`.
//! - `routes`: the routes, one file per topic. `extract`, `upload`: extractors for requests. `api`: their types.
//! - `download`: responses that are files. `page`: the web page, and a few static pages.
//! - `feed`, `sse`: streams of one run. `event_stream`: their connections. `summaries`: summaries of all runs, and their changes.
//! - `problem`: error responses. `openapi`: the description of the service. `metrics`: metrics.
//! - `blocking`: blocking file work. `look_pace`: waits for a change. `stopping`: the stop signal.
//!
//! No engine's name is known here.

mod api;
mod blocking;
mod download;
mod event_stream;
mod extract;
mod feed;
mod front;
mod guard;
mod housekeeping;
mod listen;
mod look_pace;
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

pub use serve::{ServeError, ServerSetup, Serving, Stop, Stopped, serve};
pub use service::{Complain, ListenConfig, ServiceContext};
