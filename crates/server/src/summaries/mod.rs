//! All runs in a few words, and what changes about them.
