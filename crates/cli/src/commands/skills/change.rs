//! `skillrun skills new` and `remove`.

use std::path::Path;

use serde_json::json;
use skillrun_base::suggest::closest;
use skillrun_skill::archive::{self, ArchiveErrorKind};
use skillrun_skill::scaffold;

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{plain, print, print_json};
use crate::settings::Settings;

pub(super) fn new(name: &str, dir: &Path, form: OutputForm) -> Result<(), Failure> {
    let root = scaffold::new(name, dir)?;
    let folder = plain(&root.to_string_lossy());
    let absolute = std::path::absolute(&root).unwrap_or(root);
    match form {
        OutputForm::Json => print_json(&json!({ "name": name, "folder": absolute.to_string_lossy() })),
        OutputForm::Text => print(&format!(
            "{folder} is created\nDescribe the work in {folder}/SKILL.md, then try the skill:\n  \
             skillrun skills validate {folder}\n  skillrun test {folder} --engines scripted\n"
        )),
    }
}

pub(super) fn remove(global: &Global, name: &str, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let folder = settings.data.skills();
    let root = archive::remove(name, &folder).map_err(|error| {
        let is_missing = matches!(error.kind, ArchiveErrorKind::NotInstalled(_));
        if is_missing { not_installed(name, &settings) } else { error.into() }
    })?;
    match form {
        OutputForm::Json => print_json(&json!({ "name": name, "folder": root.to_string_lossy() })),
        OutputForm::Text => print(&format!("{} is removed from {}\n", plain(name), plain(&folder.to_string_lossy()))),
    }
}

/// What was probably meant: a skill in another folder, or a misspelled name.
fn not_installed(name: &str, settings: &Settings) -> Failure {
    let elsewhere = settings.search_path(settings.cwd()).list().skills.into_iter().find(|found| found.name == name);
    let installed: Vec<String> =
        archive::installed(&settings.data.skills()).into_iter().map(|found| found.name).collect();
    let suggestion = closest(name, installed.iter().map(String::as_str));
    Failure::NotFound(match (elsewhere, suggestion) {
        (Some(found), _) => format!(
            "the skill \"{name}\" was not installed by skillrun; it is in {}, remove it there",
            found.root.display()
        ),
        (None, Some(known)) => format!("no skill \"{name}\" is installed; did you mean \"{known}\"?"),
        (None, None) if installed.is_empty() => {
            format!("there is no skill \"{name}\" to remove; no skills are installed")
        }
        (None, None) => format!("no skill \"{name}\" is installed; installed are: {}", installed.join(", ")),
    })
}
