//! The laws of workflows: the table of outcomes, plays of whole workflows, and plays that are cut at every event.

mod outcomes;
mod plays;
mod rules;
mod stage;
mod storms;
