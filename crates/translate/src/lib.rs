//! Records to RASP and to the gate's facts; RASP to FCMP and transcript. Pure functions.
