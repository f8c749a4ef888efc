//! Webhooks with a real receiver on the loopback.
//!
//! - `events`: Logs for the tests. `receiver`: a webhook receiver. `world`: a data folder and everything in it.
//! - `telling`: messages that arrive. `trouble`: messages that do not.

pub(super) mod events;
mod receiver;
mod telling;
mod trouble;
mod world;
