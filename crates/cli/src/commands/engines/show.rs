//! `skillrun engines show`.

use skillrun_engine::Permission;
use skillrun_engine::descriptor::Executable;
use skillrun_runtime::engines::{Probing, State};

use super::around;
use super::list::{continuation_words, login_words, posture_words, tested_words, version_text};
use crate::args::{EnginesList, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::settings::Settings;

pub(super) fn run(global: &Global, name: &str, args: EnginesList) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    let state = State::of(engines.get(name)?, around(&settings), Probing::from(args));
    match args.json.form() {
        OutputForm::Json => print_json(&state.details()),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            print(&output.fit(&text(&state, &output)))
        }
    }
}

fn text(state: &State<'_>, output: &Output) -> String {
    let descriptor = state.descriptor;
    let tested = tested_words(state);
    let program = match &state.program {
        Ok(found) => plain(&found.program.to_string_lossy()),
        Err(_) => String::new(),
    };
    let variable = match &descriptor.executable {
        Executable::Own => None,
        Executable::Installed(installed) => installed.variable.as_deref(),
    };
    let postures = Permission::ALL.iter().map(|permission| {
        let posture = descriptor.permissions.rule(*permission).posture;
        format!("{} {}", permission.as_str(), posture_words(posture))
    });
    let free: Vec<&str> = state.consent.needed_for.iter().map(|permission| permission.as_str()).collect();
    let consent = match (free.is_empty(), state.consent.given) {
        (true, _) => "not needed".to_owned(),
        (false, true) => format!("needed for {}; given", free.join(", ")),
        (false, false) => {
            format!("needed for {}; give it with: skillrun consent {}", free.join(", "), descriptor.name)
        }
    };
    let rows = [
        ("version", version_text(state, output)),
        ("program", program),
        ("tested on", tested.unwrap_or_default()),
        ("variable", variable.map(|name| format!("{name} can hold the path of another program")).unwrap_or_default()),
        ("file", plain(&descriptor.origin.to_string())),
        ("profile", descriptor.profile.to_string()),
        ("continues", continuation_words(descriptor.continuation).to_owned()),
        ("wiring", descriptor.wiring.as_str().to_owned()),
        ("permissions", postures.collect::<Vec<_>>().join(", ")),
        ("login", login_words(&state.login).trim_start_matches("login: ").to_owned()),
        ("consent", consent),
        ("passed on", descriptor.environment.pass.join(", ")),
        ("secrets", descriptor.environment.secret.join(", ")),
    ];
    let title = plain(&descriptor.title);
    let mut text = format!("{} · {title}\n\n", output.paint(Ink::Bold, descriptor.name.as_str()));
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{}{value}\n", output.paint(Ink::Dim, &format!("{name:<13}")));
    }
    if let Some(problem) = state.problem() {
        text += &format!("\n{}\n", plain(&problem));
    }
    if !descriptor.notes.is_empty() {
        text += "\n";
        text += &descriptor.notes.iter().map(|note| format!("- {}\n", plain(note))).collect::<String>();
    }
    text
}
