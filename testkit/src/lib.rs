//! Fixtures and helpers for tests of the other crates.
//!
//! - [`paths`]: where the repository, its corpus and the real recordings are.
//! - [`recorded`]: recorded attempts with what is expected of each, and how the two are compared.
//! - [`run_files`]: the record and the result of a run.
//! - [`parallel`]: the same test over many things, on all cores.
//! - [`streams`]: made-up output of engines, of any size: ordinary work, and text that is made to hurt.
//! - [`scratch`]: a folder of evidence that goes away by itself.
//! - [`http`], [`receiver`]: an HTTP client and an HTTP server with every byte in hand.
//! - [`measure`]: what a program costs, in time and memory.
//! - [`problem`]: what the programs `bench` and `e2e` report when they cannot do their work.

pub mod http;
pub mod measure;
pub mod parallel;
pub mod paths;
pub mod problem;
pub mod receiver;
pub mod recorded;
pub mod run_files;
pub mod scratch;
pub mod streams;
