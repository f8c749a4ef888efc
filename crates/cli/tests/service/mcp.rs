//! The tools for agents, with raw messages of each version of the protocol, over stdio and over HTTP.
//!
//! - `client`: the smallest client of each. `tools`: every tool from beginning to end. `bad_input`: what is refused.
//! - `lines`: what agents do to a server on stdio.

mod bad_input;
mod client;
mod lines;
mod tools;
