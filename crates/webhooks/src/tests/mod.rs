//! Webhooks with a real receiver on the loopback.
//!
//! - `events`: Logs for the tests. `receiver`: a webhook receiver. `world`: a data folder and everything in it.
//! - `delivery`: messages that arrive. `failures`: messages that do not.

mod delivery;
pub(super) mod events;
mod failures;
mod receiver;
mod world;
