//! Runs from request to end, with real hosts and real processes of the scripted engine.

mod lab;
mod matrix;
mod offline;
mod rules;
mod rules_by_hand;
mod stories;
mod verify;
