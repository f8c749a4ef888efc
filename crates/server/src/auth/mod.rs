//! Who may do what. No HTTP here: types and files alone; time and random bytes are handed in.
//!
//! - [`scope`]: how far somebody may go. [`token`]: a token and its hash.
//! - [`token_file`]: the first token, which the server makes. [`token_list`]: more of them, by `skillrun token`.
//! - [`tokens`]: whether what somebody presents is one of them, now.
//! - [`sessions`]: browsers, with a cookie that outlives the server. [`cookie`]: the headers around it.
//! - [`links`]: one-time links, with which a browser gets its cookie.
//! - [`server_note`]: where the running server listens. [`random`]: random bytes of the machine.
//!
//! ```text
//! DATA/  server.token     the first token, may do everything; or another file that `--token-file` names
//!        server.key       32 bytes, the key of the cookies; without it every browser has to come by a link again
//!        tokens.json      more tokens, as hashes, see [`token_list`]
//!        tokens.lock      held by whoever changes tokens.json
//!        links/<hash>     a one-time link that nobody has used yet, see [`links`]
//!        server.json      the running server, see [`server_note`]
//! ```
//!
//! All of it is for its owner alone; what others can read or write is not used.

pub mod cookie;
mod error;
pub mod links;
mod private_file;
pub mod random;
pub mod scope;
pub mod server_note;
pub mod sessions;
pub mod token;
pub mod token_file;
pub mod token_list;
pub mod tokens;

pub use error::AuthError;
pub use scope::{Granted, Scope, Who};
pub use server_note::{Server, ServerNote};
pub use sessions::Sessions;
pub use token::{Token, TokenHash, TokenName};
pub use token_file::TokenFile;
pub use token_list::{TokenEntry, TokenList};
pub use tokens::Tokens;
