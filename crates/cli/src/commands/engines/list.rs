//! `skillrun engines list`.

use serde_json::json;
use skillrun_engine::{Permission, Posture};
use skillrun_runtime::consent::EngineConsent;
use skillrun_runtime::engines::{EngineLogin, LoginKind, Probing, State, Tested, Version};

use super::around;
use crate::args::{EnginesList, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::settings::Settings;

pub(super) fn run(global: &Global, args: EnginesList) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    let states = State::of_all(engines.iter().collect(), around(&settings), Probing::from(args));
    let broken: Vec<String> = engines.broken().map(ToString::to_string).collect();
    match args.json.form() {
        OutputForm::Json => print_json(&json!({
            "permission": settings.permission.as_str(),
            "engines": states.iter().map(State::engine).collect::<Vec<_>>(),
            "broken": broken,
        })),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            let longest = states.iter().map(|state| state.descriptor.name.as_str().len()).max().unwrap_or_default();
            let blocks = states.iter().map(|state| block(state, settings.permission, longest + 2, &output));
            let mut text: String = blocks.collect();
            if !broken.is_empty() {
                let lines: String = broken.iter().map(|sentence| format!("  {}\n", plain(sentence))).collect();
                text += &format!("\n{}\n{lines}", output.paint(Ink::Bad, "Cannot be used:"));
            }
            print(&output.fit(&text))
        }
    }
}

/// The version, and whether it was tested.
pub(super) fn version_text(state: &State<'_>, output: &Output) -> String {
    match (&state.program, &state.version) {
        (Err(_), _) => output.paint(Ink::Warning, "not installed"),
        (Ok(_), _) if state.is_own() => output.paint(Ink::Good, "built in"),
        (Ok(_), Version::NotAsked) => "installed".to_owned(),
        (Ok(_), Version::Silent(_)) => output.paint(Ink::Warning, "installed, version unknown"),
        (Ok(_), Version::Known(version)) => match state.tested() {
            Tested::Yes => output.paint(Ink::Good, &format!("{version}, tested")),
            Tested::No => output.paint(Ink::Warning, &format!("{version}, untested version")),
            Tested::Unknown => version.clone(),
        },
    }
}

/// Whether the engine enforces a permission, as text.
pub(super) fn posture_words(posture: Posture) -> &'static str {
    match posture {
        Posture::Enforced => "enforced",
        Posture::Asked => "asked",
        Posture::NotEnforced => "not enforced",
    }
}

/// What is known about an engine, next to its name, which has a column of this width.
fn block(state: &State<'_>, permission: Permission, width: usize, output: &Output) -> String {
    let descriptor = state.descriptor;
    let posture = descriptor.permissions.rule(permission).posture;
    let name = descriptor.name.as_str();
    let gap = " ".repeat(width.saturating_sub(name.len()));
    let mut text = format!(
        "{}{gap}{} · {}\n",
        output.paint(Ink::Bold, name),
        plain(&descriptor.title),
        version_text(state, output)
    );
    let mut line = |words: &str| {
        if !words.is_empty() {
            text += &format!("{:width$}{words}\n", "");
        }
    };
    line(&format!(
        "{} · {} · {}",
        continuation_words(descriptor.continuation),
        descriptor.profile,
        format_args!("permission {}: {}", permission.as_str(), posture_words(posture)),
    ));
    if let Ok(found) = &state.program
        && !state.is_own()
    {
        line(&output.paint(Ink::Dim, &plain(&found.program.to_string_lossy())));
    }
    if let (Tested::No, Some(tested)) = (state.tested(), tested_words(state)) {
        line(&format!("tested on {tested}"));
    }
    line(&login_words(&state.login));
    line(&consent_words(&state.consent, permission, name));
    if let (Err(_), Some(install)) = (&state.program, state.install()) {
        line(&output.paint(Ink::Dim, &format!("install it with: {}", plain(&install))));
    }
    if let (Ok(_), Some(problem)) = (&state.program, state.problem()) {
        line(&plain(&problem));
    }
    text
}

/// The login that was found for the engine. It may have expired; only the engine's server knows.
pub(super) fn login_words(login: &EngineLogin) -> String {
    let command = login.command.as_deref().map(|command| format!("; log in with: {}", plain(command)));
    match (login.found, &login.variable) {
        (LoginKind::Variable, Some(name)) => format!("login: {name} is set"),
        (LoginKind::Variable, None) => "login: a variable is set".to_owned(),
        (LoginKind::File, _) => "login: found in the home folder".to_owned(),
        (LoginKind::Nothing, _) => format!("login: none found{}", command.unwrap_or_default()),
        (LoginKind::NotNeeded, _) => String::new(),
    }
}

/// Whether the user has consented to an engine that does not enforce a permission.
fn consent_words(consent: &EngineConsent, permission: Permission, name: &str) -> String {
    match (consent.needed_for.contains(&permission), consent.given) {
        (false, _) => String::new(),
        (true, true) => "consent: given".to_owned(),
        (true, false) => format!("consent: needed; give it with: skillrun consent {name}"),
    }
}

/// The versions it was tested on.
pub(super) fn tested_words(state: &State<'_>) -> Option<String> {
    state.tested_versions().map(|[from, to]| if from == to { from } else { format!("{from} to {to}") })
}

pub(super) fn continuation_words(continuation: skillrun_model::status::Continuation) -> &'static str {
    use skillrun_model::status::Continuation;
    match continuation {
        Continuation::Resumable => "resumable",
        Continuation::Sticky => "sticky",
        Continuation::None => "one turn only",
    }
}
