//! Fixtures and helpers for tests of the other crates.
