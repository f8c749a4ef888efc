//! Which run has the result of a request that was made before.
