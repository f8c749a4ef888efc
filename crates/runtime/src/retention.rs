//! What is removed, when, and how much room it takes.
