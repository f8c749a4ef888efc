//! Runs from request to end, with real hosts and real processes of the scripted engine.

mod acceptance;
mod acp;
mod calls;
mod clocks;
mod figures;
mod iflow;
mod logins;
mod matrix;
mod offline;
mod profiles;
mod queue;
mod quota;
mod redact;
mod replies;
mod rules;
mod rules_by_hand;
mod sticky;
mod sticky_left;
mod stories;
mod verify;
mod views;
mod workspaces;
