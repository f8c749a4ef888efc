//! Notifies addresses of the ends and questions of runs, signed as specified by Standard Webhooks.
//!
//! ```text
//! Log ─▶ message ─▶ record ─▶ outbox (disk) ─▶ queue ─▶ send ─▶ receiver
//!                     ▲                          │
//!                     └───────── outcome ────────┘
//! ```
//!
//! - `service`: the interface for the service. `queue`: the records in memory, and the threads that send.
//!   `due`: which message is next.
//! - `message`: from an event to a message. `record`: messages of a run and their states. `outbox`: the files of
//!   records.
//! - `address`, `public_ip`: which addresses are allowed. `send`: one try. `secret`: signatures and their secret.
//!
//! # Invariants
//!
//! - A message is on the disk before it is sent. After a crash it is sent again, with the same id.
//! - A message may arrive twice, never with two ids. A later one may arrive before an earlier that failed.
//! - No address in a private network is connected to, whatever its name or spelling, unless that is allowed.
//!
//! # Bounds
//!
//! 10 addresses and 1,000 messages for each run, then only its end; 12 KiB for a message; 4 tries at once, 2 to the
//! same host; 9 tries in about 22 hours, then it is given up; 15 seconds for a try.

mod address;
mod due;
mod message;
mod outbox;
mod public_ip;
mod queue;
mod record;
mod secret;
mod send;
mod service;

#[cfg(test)]
mod tests;

pub use address::{AddressError, MAX_ADDRESSES, PrivateAddresses, Url, WhyRefused};
pub use message::{Body, BodyData, MessageType, WebhookQuestion};
pub use queue::WebhookCounts;
pub use record::{Delivery, DeliveryState, LastTry};
pub use secret::{Random, Secret, SecretError, system_random};
pub use service::{Config, WebhookError, WebhookSetup, Webhooks};
