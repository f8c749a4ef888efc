//! `skillrun skills validate`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use skillrun_skill::{Severity, validate};

use super::findings_text;
use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::settings::{ProcessContext, Settings};

/// A skill that cannot be run is input that cannot be used.
const UNUSABLE: u8 = 2;

pub(super) fn run(global: &Global, wanted: &str, form: OutputForm) -> Result<ExitCode, Failure> {
    let dir = &folder(global, wanted)?;
    let report = validate::validate(dir);
    let usable = report.is_usable();
    match form {
        OutputForm::Json => print_json(&json!({
            "folder": dir.to_string_lossy(), "usable": usable, "findings": report.findings,
        }))?,
        OutputForm::Text => {
            let output = Output::new(global.color, &ProcessContext::read()?);
            let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
            let counts = [
                (count(Severity::Error), "error"),
                (count(Severity::Warning), "warning"),
                (count(Severity::Note), "note"),
            ];
            let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| match count {
                1 => format!("1 {word}"),
                count => format!("{count} {word}s"),
            });
            let counts = counts.collect::<Vec<_>>().join(", ");
            let verdict = match usable {
                true => output.paint(Ink::Good, "can be run"),
                false => output.paint(Ink::Bad, "cannot be run as it is"),
            };
            let counts = if counts.is_empty() { String::new() } else { format!(": {counts}") };
            print(&format!(
                "{}{} {verdict}{counts}\n",
                findings_text(dir, &report.findings, &output),
                plain(&dir.to_string_lossy())
            ))?;
        }
    }
    Ok(if usable { ExitCode::SUCCESS } else { ExitCode::from(UNUSABLE) })
}

/// The folder of a skill: a path, as in every command anything that contains a slash, or a name. A folder that is
/// named without a slash is found too, if no skill has that name.
fn folder(global: &Global, wanted: &str) -> Result<PathBuf, Failure> {
    if wanted.contains('/') || [".", ".."].contains(&wanted) {
        return Ok(wanted.into());
    }
    let settings = Settings::load(global)?;
    match settings.search_path(settings.cwd()).root_of(wanted) {
        Ok(root) => Ok(root),
        Err(_) if Path::new(wanted).is_dir() => Ok(wanted.into()),
        Err(error) => Err(error.into()),
    }
}
