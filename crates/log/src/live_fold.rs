//! A fold that the writer of a Log continues as it appends, for a reader in the same process that would otherwise read
//! every event back. The Log knows nothing about its content.

use std::any::Any;
use std::fmt::Debug;

use skillrun_model::rasp::Event;

/// A fold over all events of one Log.
pub trait LiveFold: Any + Debug + Send {
    fn add(&mut self, event: &Event);

    /// A copy for a reader.
    fn copy(&self) -> Box<dyn Any>;
}

/// Makes the fold of an empty Log.
pub type NewFold = fn() -> Box<dyn LiveFold>;
