//! Webhooks with a real receiver on the loopback.
//!
//! - `events`: Logs for the tests. `world`: a data folder and everything in it.
//! - `delivery`: messages that arrive. `failures`: messages that do not.

mod delivery;
pub(super) mod events;
mod failures;
mod world;
