//! `result.json`: how a run ended, as a pure function of its record and its Log.
