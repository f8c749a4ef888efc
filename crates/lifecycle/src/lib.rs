//! The completion gate: decides from evidence how an attempt ended. Pure.

pub mod ask_user;
