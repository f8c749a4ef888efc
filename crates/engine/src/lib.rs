//! Engines as data (being written).
