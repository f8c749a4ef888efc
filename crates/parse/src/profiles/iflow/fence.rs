//! Code fences of a text that arrives line by line.

use crate::text::fences::find_fences;

/// A fence that is open.
#[derive(Debug)]
pub(super) struct OpenFence {
    /// The opening run, without its surroundings.
    run: String,
}

impl OpenFence {
    /// The fence that this line opens.
    pub(super) fn opened_by(line: &str) -> Option<Self> {
        if !may_be_fence(line) {
            return None;
        }
        let fence = *find_fences(line).first()?;
        Some(Self { run: line[..fence.info.0].trim().to_owned() })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        // A shorter line has no run that is long enough; checking it would cost the length of the opening run.
        may_be_fence(line)
            && line.len() >= self.run.len()
            && find_fences(&format!("{}\n{line}", self.run)).first().is_some_and(|fence| fence.closed)
    }
}

/// Most lines are not fences, and this check is cheap.
pub(super) fn may_be_fence(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    line.starts_with("```") || line.starts_with("~~~")
}
