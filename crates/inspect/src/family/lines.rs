//! A diagnosis of a family as labelled text.

use skillrun_model::delegation::SubagentStatus;

use super::{FamilyDiagnosis, FamilyMember, MemberLog};
use crate::diagnose::DiagnosisLine;

impl FamilyDiagnosis {
    /// The runs, each below its parent, and what was checked.
    pub fn lines(&self) -> Vec<DiagnosisLine> {
        let runs = self.runs.iter().enumerate().map(|(at, run)| (if at == 0 { "runs" } else { "" }, line(run)));
        let checks = self.checks.iter().enumerate().map(|(at, check)| {
            let label = if at == 0 { "checked" } else { "" };
            (label, format!("{}: {}: {}", check.check, check.severity, check.words))
        });
        runs.chain(checks).collect()
    }
}

fn line(run: &FamilyMember) -> String {
    let indent = "  ".repeat(run.depth as usize);
    let status = match (run.log, run.status) {
        (MemberLog::Read | MemberLog::Unreadable, Some(status)) => status.to_string(),
        (MemberLog::Read, None) => "not begun".to_owned(),
        (MemberLog::Unreadable, None) => "its Log cannot be read".to_owned(),
        (MemberLog::NotMade, _) => "not made".to_owned(),
        (MemberLog::Removed, _) => "removed".to_owned(),
    };
    let told = match (run.parent_says, run.ended) {
        (Some(SubagentStatus::Detached), Some(ended)) => format!("; detached, by its own Log {ended}"),
        (Some(told), _) => format!("; its parent says {told}"),
        (None, _) => String::new(),
    };
    format!("{indent}{} on {}, {status}{told}", run.run_id, run.engine)
}
