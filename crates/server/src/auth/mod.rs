//! Who may do what. No HTTP here: types and files alone; time and random bytes are handed in.
//!
//! - [`scope`]: how far somebody may go. [`token`]: a token and its hash.
//! - [`token_file`]: the first token, which the server makes. [`token_list`]: more of them, by `skillrun token`.
//! - [`tokens`]: whether what somebody presents is one of them, now.
//! - [`sessions`]: browsers, each with a token of its own, which outlives the server and ends when the browser logs out.
//! - [`links`]: one-time links, with which a browser gets its token. [`tickets`]: addresses of downloads, good for a minute.
//! - [`server_note`]: where the running server listens. [`random`]: random bytes of the machine.
//!
//! ```text
//! DATA/  server.token     the first token, may do everything; or another file that `--token-file` names
//!        server.key       32 bytes, the key of the tickets
//!        sessions.json    browsers that were let in, as hashes, see [`sessions`]
//!        tokens.json      more tokens, as hashes, see [`token_list`]
//!        tokens.lock      held by whoever changes tokens.json
//!        links/<hash>     a one-time link that nobody has used yet, see [`links`]
//!        server.json      the running server, see [`server_note`]
//! ```
//!
//! All of it is for its owner alone; what others can read or write is not used.

mod error;
pub mod links;
mod private_file;
pub mod random;
pub mod scope;
pub mod server_note;
pub mod sessions;
pub mod tickets;
pub mod token;
pub mod token_file;
pub mod token_list;
pub mod tokens;

pub use error::AuthError;
pub use scope::{Granted, Scope, Who};
pub use server_note::{Server, ServerNote};
pub use sessions::{SessionId, Sessions};
pub use tickets::Tickets;
pub use token::{Token, TokenHash, TokenName};
pub use token_file::TokenFile;
pub use token_list::{TokenEntry, TokenList};
pub use tokens::Tokens;
