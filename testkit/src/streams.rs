//! Made-up output of engines.
//!
//! - [`profile`]: the formats, and one message in each of them.
//! - [`turns`]: ordinary work, as real engines write it, of any length. No id comes twice, so that whatever is kept per
//!   id shows.
//! - [`shapes`]: text that is made to hurt a parser.

mod filler;
pub mod profile;
pub mod shapes;
pub mod turns;

pub use profile::Profile;
pub use shapes::Shape;
