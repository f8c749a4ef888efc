//! The service: the same runs for programs and browsers, over HTTP.
//!
//! - `auth`: who may do what: tokens with scopes, sessions of browsers, one-time links.
//! - `webhooks`: tells addresses of ends and of questions.
//! - `summaries`: all runs in a few words, and what changes about them.

pub mod auth;
pub mod summaries;
pub mod webhooks;
