//! Runs from request to end, with real hosts and real processes of the scripted engine.

mod acceptance;
mod calls;
mod figures;
mod lab;
mod matrix;
mod offline;
mod profiles;
mod queue;
mod redact;
mod replies;
mod rules;
mod rules_by_hand;
mod sticky;
mod stories;
mod verify;
mod workspaces;
