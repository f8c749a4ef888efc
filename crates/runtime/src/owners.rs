//! Every process that owns runs listens on a socket of its own, `owners/<pid>.sock` in the data folder, so that others
//! can answer questions, cancel, and hand runs over. A socket that does not answer shows that its owner died.
//!
//! One JSON line each way per connection; the first key of a request is the version.
//!
//! ```text
//! {"skillrun_client":1,"do":"reply","run":"…","reply":{"interaction_id":1,"text":"blue","files":[],"request_id":null}}
//! {"skillrun_client":1,"do":"cancel","run":"…","by":"user"}
//! {"skillrun_client":1,"do":"take_up","run":"…"}
//! {"skillrun_client":1,"do":"let_go","run":"…"}
//! {"skillrun_client":1,"do":"hello"}
//!
//! {"ok":true}
//! {"error":{"kind":"stale","message":"run …: question 1 is not open; question 2 is"}}
//! ```

mod client;
mod listen;
mod message;

pub use client::ask;
pub use listen::Listening;
pub use message::{OwnerError, OwnerErrorKind, OwnerReply, OwnerRequest};
