//! The service as a process of its own, over real connections: streams without a gap, and who is kept out.

mod api;
mod children;
mod deadlines;
mod mcp;
mod openapi;
mod readme;
mod safety;
mod stories;
mod streams;
mod webhooks;
mod workflows;
