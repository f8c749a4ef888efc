//! `skillrun skills list`.

use serde_json::{Value, json};
use skillrun_skill::{FoundSkill, Listing, SearchPath, SkillOrigin};

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::settings::Settings;

pub(super) fn run(global: &Global, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let path = settings.search_path(settings.cwd());
    let listing = path.list();
    match form {
        OutputForm::Json => print_json(&listing_json(&listing, &path)),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            print(&output.fit(&listing_text(&listing, &path, &output)))
        }
    }
}

pub(super) fn origin_word(origin: SkillOrigin) -> &'static str {
    match origin {
        SkillOrigin::Project => "project",
        SkillOrigin::Configured => "configured",
        SkillOrigin::User => "user",
        SkillOrigin::Path => "path",
    }
}

/// Why a skill cannot be run, if so.
fn problem(found: &FoundSkill) -> Option<String> {
    let usable = found.skill.as_ref().map(|skill| skill.check_usable());
    match usable {
        Err(error) => Some(error.to_string()),
        Ok(Err(error)) => Some(error.to_string()),
        Ok(Ok(())) => None,
    }
}

fn listing_json(listing: &Listing, path: &SearchPath) -> Value {
    let skill = |found: &FoundSkill| {
        let skill = found.skill.as_ref().ok();
        let modes: Option<Vec<_>> =
            skill.map(|skill| skill.runner.execution_modes.iter().map(|mode| mode.as_str()).collect());
        json!({
            "name": found.name,
            "description": skill.map(|skill| skill.description()),
            "origin": found.origin,
            "folder": found.root.to_string_lossy(),
            "version": skill.and_then(|skill| skill.runner.version.as_ref()),
            "modes": modes,
            "shadowed_by": found.shadowed_by.as_ref().map(|path| path.to_string_lossy()),
            "problem": problem(found),
        })
    };
    let searched = path.folders().iter();
    let searched = searched.map(|folder| json!({ "folder": folder.path.to_string_lossy(), "origin": folder.origin }));
    json!({
        "skills": listing.skills.iter().map(skill).collect::<Vec<_>>(),
        "unreadable": listing.unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "searched": searched.collect::<Vec<_>>(),
    })
}

fn listing_text(listing: &Listing, path: &SearchPath, output: &Output) -> String {
    let (mut used, mut shadowed, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for found in &listing.skills {
        let name = (Ink::Bold, plain(&found.name));
        match (problem(found), &found.shadowed_by, &found.skill) {
            (Some(problem), _, _) => broken.push([name, (Ink::Plain, plain(&problem))]),
            (None, Some(_), _) => shadowed.push([name, (Ink::Plain, plain(&found.root.to_string_lossy()))]),
            (None, None, skill) => {
                let description = skill.as_ref().map_or("", |skill| skill.description());
                let from = origin_word(found.origin).to_owned();
                used.push([name, (Ink::Dim, from), (Ink::Plain, plain(description))]);
            }
        }
    }
    let mut text = String::new();
    if used.is_empty() {
        text += "There are no skills that can be run. Folders searched:\n";
        text += &path
            .folders()
            .iter()
            .map(|folder| format!("  {}\n", plain(&folder.path.to_string_lossy())))
            .collect::<String>();
        text += "`skillrun skills new NAME` creates one.\n";
    } else {
        used.insert(0, ["NAME", "FROM", "DESCRIPTION"].map(|head| (Ink::Dim, head.to_owned())));
        text += &output.table(&used, LastColumn::Cut);
    }
    // A sentence with a path in it is useless when truncated.
    let whole = |rows: &[[(Ink, String); 2]]| {
        let line = |[(ink, name), (_, rest)]: &[(Ink, String); 2]| format!("  {}  {rest}\n", output.paint(*ink, name));
        rows.iter().map(line).collect::<String>()
    };
    if !shadowed.is_empty() {
        text += &format!(
            "\n{}\n{}",
            output.paint(Ink::Warning, "Shadowed by an earlier skill with the same name:"),
            whole(&shadowed)
        );
    }
    if !broken.is_empty() {
        text += &format!("\n{}\n{}", output.paint(Ink::Bad, "Cannot be run:"), whole(&broken));
    }
    if !listing.unreadable.is_empty() {
        let lines: String =
            listing.unreadable.iter().map(|error| format!("  {}\n", plain(&error.to_string()))).collect();
        text += &format!("\n{}\n{lines}", output.paint(Ink::Bad, "Folders that cannot be read:"));
    }
    text
}
