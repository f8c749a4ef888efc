//! Tools that have nothing to do with runs and that many crates need. Each exists once, here.
//!
//! - [`files`]: reads files with a limit, and creates files and folders that only their owner may access.
//! - [`whole_file`]: replaces files as a whole, with an explicit choice of what is synced.
//! - [`file_lock`]: locks between processes. [`sync`]: locks between threads.
//! - [`wait`]: waits for a condition, and retries, with a time limit.
//! - [`fields`]: reads TOML, JSON and YAML field by field. [`yaml`]: YAML with limits against hostile text.
//! - [`lines`]: the line on which a part of a JSON text begins.
//! - [`unix_socket`]: sockets at long paths, one line each way.
//! - [`suggest`]: "did you mean". [`text`]: the beginning of a text.

pub mod amounts;
pub mod fields;
pub mod file_lock;
pub mod files;
pub mod lines;
pub mod suggest;
pub mod sync;
pub mod text;
pub mod unix_socket;
pub mod wait;
pub mod whole_file;
pub mod yaml;
