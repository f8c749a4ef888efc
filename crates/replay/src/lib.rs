//! What a model would see again: one fold from the Log of a run to neutral items, and one renderer per dialect.
//!
//! The Log has three kinds of events: the conversation, evidence for people, and audit events. Only the conversation is
//! replayed, and of a turn that did not complete only the message that began it and its finished tool calls. Everything
//! that is left out is counted with its reason.
//!
//! - [`item`]: the neutral items and the result. [`fold`]: the fold. [`dialect`]: the renderers, one file each.
//! - `child`: the form of the end of a child run.
//! - [`handover`]: the message with which another engine continues.

mod child;
pub mod dialect;
pub mod fold;
pub mod handover;
pub mod item;

pub use dialect::{Dialect, Rendering};
pub use fold::{Fold, TurnEnds};
pub use item::{
    Fidelity, Item, LeftOut, LeftOutCount, Notice, NoticeKind, Replay, ReplayedTurn, ToolOutcome, left_out_words,
};
