//! Tells addresses of ends and of questions.
