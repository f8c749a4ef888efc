//! The network of a box that reaches only some hosts.
//!
//! ```text
//! in the box                                          │ outside
//! api.example.com ─▶ 127.77.0.1:443 ──── door ────────┼──▶ threads of the host process ──▶ api.example.com:443
//! any client with proxy variables ─▶ proxy ───────────┼──▶ threads ─▶ what the patterns allow
//! names ─▶ 127.0.0.1:53 ─── name server ──────────────┼──▶ threads ─▶ the address of a door, or "there is no such name"
//! any other address ─▶ refused at once ─── observer ──┼──▶ threads: what was asked for
//! ```
//!
//! - A socket belongs to the network namespace it was made in. So the starter makes all sockets inside (`inside`) and
//!   hands them to the host process, which accepts outside: no process in the box takes part.
//! - `doors`: which listeners there are, and which name leads to which; pure. `serve`: serves them. `relay`: copies
//!   bytes between two connections. `proxy`, `dns`, `packets`: what is read from clients and the kernel; pure.
//! - [`Refusals`]: what was asked for and refused, without repetitions, up to a limit.
//!
//! A door copies bytes, so TLS stays between the client and the host outside. Every address of the namespace is local
//! there, so a connection to any other host is refused at once, and the observer sees the refusal.

mod dns;
pub(crate) mod doors;
pub(crate) mod inside;
mod packets;
mod proxy;
mod refusals;
mod relay;
mod serve;

pub use doors::{PATTERNS_MAX, PROXY};
pub use inside::BoxSockets;
pub use refusals::{Refusal, RefusalKind, RefusalList, Refusals};
pub use serve::BoxNetwork;
