//! From any cursor on, every event once: through disconnects, restarts, kills and slow reading.
//!
//! - `follower`: a client that keeps what it gets and comes again.
//! - `breaks`: connections that end, servers that stop, servers that are killed.
//! - `readers`: many who read slowly, and some who do not read.
//! - `resets`: cursors that do not hold, runs that are gone, streams with holes.
//! - `histories`: the same events page by page. `outlines`: in a few numbers each. `lists`: all runs in a few words.

mod breaks;
mod follower;
mod histories;
mod lists;
mod outlines;
mod readers;
mod resets;
