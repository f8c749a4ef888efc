//! Skill packages; here: local JSON Schema validation for the gate.
