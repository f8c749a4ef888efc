//! Credentials and permissions. No HTTP: only types and files; time and random bytes are passed in.
//!
//! - [`scope`]: what a client may do. [`token`]: a token and its hash.
//! - [`token_file`]: the first token, which the server creates. [`token_list`]: more tokens, created by `skillrun
//!   token`.
//! - [`tokens`]: checks whether a presented token is valid.
//! - [`sessions`]: browsers, each with its own token, which survives restarts and ends when the browser logs out.
//! - [`links`]: one-time links, with which a browser gets its token. [`tickets`]: download links, valid for one minute.
//! - [`server_note`]: where the running server listens. [`random`]: random bytes of the machine.
//!
//! ```text
//! DATA/  server.token     the first token, may do everything; or the file given by `--token-file`
//!        server.key       32 bytes, the key of the tickets
//!        sessions.json    browsers that logged in, as hashes, see [`sessions`]
//!        tokens.json      more tokens, as hashes, see [`token_list`]
//!        tokens.lock      held by a process that changes tokens.json
//!        links/<hash>     an unused one-time link, see [`links`]
//!        server.json      the running server, see [`server_note`]
//! ```
//!
//! Only the owner may read these files; a file that other users can read or write is not used.

mod error;
pub mod links;
mod private_file;
pub mod random;
pub mod scope;
pub mod server_note;
pub mod sessions;
#[cfg(test)]
mod testing;
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
