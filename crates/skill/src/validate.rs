//! Everything that is wrong with a skill, at once and as data.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::copy;
use crate::error::{SkillError, SkillErrorKind};
use crate::package::finding::{Finding, FindingKind, Severity};
use crate::package::runner::SchemaRole;
use crate::package::{SKILL_FILE, Skill};
use crate::patch;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SkillReport")]
pub struct SkillReport {
    /// Errors first, then warnings, then notes.
    pub findings: Vec<Finding>,
}

impl SkillReport {
    /// Whether it can be run.
    pub fn is_usable(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

pub fn validate(root: &Path) -> SkillReport {
    let mut findings = match Skill::load(root) {
        Ok(skill) => findings_of(skill),
        Err(error) => vec![finding(FindingKind::Unreadable, root, &error)],
    };
    findings.sort_by_key(|finding| finding.severity);
    SkillReport { findings }
}

fn findings_of(skill: Skill) -> Vec<Finding> {
    let mut more = Vec::new();
    for role in SchemaRole::ALL {
        // A path without a file was reported when the skill was loaded.
        match skill.schema(*role) {
            Err(error) if matches!(error.kind, SkillErrorKind::Schema(_)) => {
                more.push(finding(FindingKind::SchemaInvalid, &skill.root, &error));
            }
            Ok(_) | Err(_) => {}
        }
    }
    if let Err(error) = copy::check_copyable(&skill.root) {
        more.push(finding(FindingKind::NotCopyable, &skill.root, &error));
    }
    if skill.text().is_ok_and(|text| patch::has_block(&text)) {
        let kind = FindingKind::PatchBlock;
        let message = "SKILL.md contains the block that is added to copies; it is replaced in each copy, so remove it";
        more.push(Finding { severity: kind.severity(), kind, file: SKILL_FILE.into(), message: message.to_owned() });
    }
    let mut findings = skill.findings;
    findings.append(&mut more);
    findings
}

fn finding(kind: FindingKind, root: &Path, error: &SkillError) -> Finding {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let file = error.path.strip_prefix(&root).unwrap_or(&error.path).to_owned();
    Finding { severity: kind.severity(), kind, file, message: error.kind.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn kinds(folder: &Folder) -> Vec<(FindingKind, String)> {
        let report = validate(&folder.at("demo"));
        report.findings.iter().map(|finding| (finding.kind, finding.file.display().to_string())).collect()
    }

    #[test]
    fn a_good_skill_has_no_findings() {
        let report = validate(&Folder::skill("demo").at("demo"));
        assert_eq!(report.findings, []);
        assert!(report.is_usable());
    }

    #[test]
    fn errors_come_first_and_all_are_reported() {
        let folder = Folder::new()
            .with("demo/SKILL.md", "x\n<!-- skillrun:end -->\n")
            .with("demo/assets/runner.json", r#"{"x": 1, "max_attempt": 0, "schemas": {"input": "i", "output": "o"}}"#)
            .with("demo/i", "[")
            .with_link("demo/l", "/");
        let file = |name: &str| name.to_owned();
        let expected = [
            (FindingKind::MaxAttempt, file("assets/runner.json")),
            (FindingKind::SchemaPath, file("assets/runner.json")),
            (FindingKind::SchemaInvalid, file("i")),
            (FindingKind::NotCopyable, file("l")),
            (FindingKind::FrontMatterMissing, file("SKILL.md")),
            (FindingKind::UnknownKey, file("assets/runner.json")),
            (FindingKind::PatchBlock, file("SKILL.md")),
        ];
        assert_eq!(kinds(&folder), expected);
        assert!(!validate(&folder.at("demo")).is_usable());
    }

    #[test]
    fn what_cannot_be_read_is_one_finding() {
        let folder = Folder::new().with("demo/README.md", "");
        assert_eq!(kinds(&folder), [(FindingKind::Unreadable, String::new())]);
        let json = serde_json::to_value(validate(&folder.at("demo"))).unwrap();
        let expected = serde_json::json!({"findings": [{
            "severity": "error", "kind": "unreadable", "file": "", "message": "is not a skill: it has no SKILL.md"
        }]});
        assert_eq!(json, expected);
    }
}
