//! The service as a process of its own, over real connections: streams without a gap, and who is kept out.

mod lab;
mod readme;
mod safety;
mod streams;
