//! `skillrun skills`: lists, shows, validates, creates, installs and removes skills.

mod change;
mod install;
mod list;
mod show;
mod validate;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use skillrun_skill::{Existing, Finding, Severity};

use crate::args::{Global, Skills, SkillsCommand};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain};

pub(crate) fn run(global: &Global, args: Skills) -> Result<ExitCode, Failure> {
    let listed = SkillsCommand::List { json: args.json };
    let done = |()| ExitCode::SUCCESS;
    match args.command.unwrap_or(listed) {
        SkillsCommand::List { json } => list::run(global, json.form()).map(done),
        SkillsCommand::Show { skill, patched: false, mode: _, json } => {
            show::run(global, &skill, json.form()).map(done)
        }
        SkillsCommand::Show { skill, patched: true, mode, json } => {
            show::patched(global, &skill, mode, json.form()).map(done)
        }
        SkillsCommand::New { name, dir, json } => change::new(&name, &dir, json.form()).map(done),
        SkillsCommand::Validate { skill, json } => validate::run(global, &skill, json.form()),
        SkillsCommand::Install { source, replace, timeout, json } => {
            let existing = if replace { Existing::Replace } else { Existing::Refuse };
            install::run(global, &source, existing, Duration::from_secs(timeout), json.form()).map(done)
        }
        SkillsCommand::Remove { name, json } => change::remove(global, &name, json.form()).map(done),
    }
}

/// One line per finding about the skill in a folder.
fn findings_text(folder: &Path, findings: &[Finding], output: &Output) -> String {
    let row = |finding: &Finding| {
        let word = match finding.severity {
            Severity::Error => output.paint(Ink::Bad, "error") + "    ",
            Severity::Warning => output.paint(Ink::Warning, "warning") + "  ",
            Severity::Note => output.paint(Ink::Dim, "note") + "     ",
        };
        let about = if finding.file.as_os_str().is_empty() { folder } else { &finding.file };
        format!("{word}{}: {}\n", plain(&about.to_string_lossy()), plain(&finding.message))
    };
    findings.iter().map(row).collect()
}
