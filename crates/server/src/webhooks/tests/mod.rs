//! Webhooks with a real receiver on the loopback.
//!
//! - `events`: Logs to tell of. `receiver`: who is told. `world`: a data folder and everything in it.
//! - `telling`: what arrives. `trouble`: what happens when it does not.

pub(super) mod events;
mod receiver;
mod telling;
mod trouble;
mod world;
