//! Files that a run made and that are worth keeping: which, and what they are.
