//! Ids, statuses, RASP and FCMP types, codes: the words every other crate speaks.
