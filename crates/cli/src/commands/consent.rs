//! `skillrun consent`: engines that do not enforce permissions run only after the user has consented to them.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};

use serde_json::{Value, json};
use skillrun_engine::{Descriptor, Engines};
use skillrun_model::Timestamp;
use skillrun_runtime::consent::{self, needed_for};
use skillrun_runtime::{Clock, SystemClock};

use super::config::{note_restart, server_process};
use crate::args::{Consent, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::settings::key::{Address, Key};
use crate::settings::{ProcessContext, Settings, edit};
use crate::words::moment;

pub(crate) fn run(global: &Global, args: &Consent) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    match (args.engine.is_empty(), args.revoke) {
        (true, _) => list(global, &settings, &engines, args.json.form()),
        (false, false) => give(&settings, &engines, args),
        (false, true) => revoke(global, &settings, &engines, args),
    }
}

fn unreadable(settings: &Settings) -> impl Fn(io::Error) -> Failure {
    let path = settings.data.consent().display().to_string();
    move |error| Failure::internal(format!("{path}: cannot be read or written ({error})"), error)
}

fn give(settings: &Settings, engines: &Engines, args: &Consent) -> Result<(), Failure> {
    let (checks, named): (Vec<_>, Vec<_>) = args.engine.iter().partition(|name| name.starts_with(consent::CHECKS));
    let named = named.into_iter().map(|name| Ok(engines.get(name)?)).collect::<Result<Vec<_>, Failure>>()?;
    let mut told = Vec::new();
    for name in checks {
        let answer = if settings.consent.contains(name) {
            Given::Before
        } else if args.yes || are_checks_agreed(settings, name)? {
            let is_new = consent::give(&settings.data, name, SystemClock.now()).map_err(unreadable(settings))?;
            if is_new { Given::Now } else { Given::Before }
        } else {
            Given::Refused
        };
        told.push((name.clone(), answer));
    }
    for engine in named {
        let name = engine.name.as_str();
        let answer = if needed_for(engine).is_empty() {
            Given::NotNeeded
        } else if settings.consent.iter().any(|known| known == name) {
            Given::Before
        } else if args.yes || is_agreed(engine)? {
            let is_new = consent::give(&settings.data, name, SystemClock.now()).map_err(unreadable(settings))?;
            if is_new { Given::Now } else { Given::Before }
        } else {
            Given::Refused
        };
        told.push((name.to_owned(), answer));
    }
    match args.json.form() {
        OutputForm::Json => {
            print_json(&told.iter().map(|(name, given)| (name, given.word())).collect::<BTreeMap<_, _>>())
        }
        OutputForm::Text => {
            print(&told.iter().map(|(name, given)| format!("{name}: {}\n", given.words())).collect::<String>())
        }
    }
}

/// The outcome for one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Now,
    Before,
    NotNeeded,
    Refused,
}

impl Given {
    fn word(self) -> &'static str {
        match self {
            Self::Now => "given",
            Self::Before => "given_before",
            Self::NotNeeded => "not_needed",
            Self::Refused => "not_given",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Now => "consent is given",
            Self::Before => "consent was given before",
            Self::NotNeeded => "needs no consent",
            Self::Refused => "consent is not given",
        }
    }
}

/// Asks the user at the terminal about the checks of a skill, or of the file of a workflow.
fn are_checks_agreed(settings: &Settings, name: &str) -> Result<bool, Failure> {
    let skill = name.trim_start_matches(consent::CHECKS);
    if let Some((workflow, _)) = skill.split_once(consent::OF_FILE) {
        let text = format!(
            "The workflow {} has checks, which are commands that run with everything that your user account can do.\n\
             `skillrun workflow plan` lists them.\nAllow exactly these checks? [y/N] ",
            plain(workflow)
        );
        return asked(name, text);
    }
    let mut text = format!(
        "The skill {} has checks, which are commands that run with everything that your user account can do.\n",
        plain(skill)
    );
    match settings.search_path(settings.cwd()).find(skill) {
        Ok(found) => {
            text.extend(found.runner.checks.iter().map(|check| format!("- {}\n", plain(&check.command.shown()))));
        }
        // It may be named by its path, or installed later.
        Err(_) => text.push_str("It is not installed here, so its commands are not known.\n"),
    }
    asked(name, text + "Allow every skill of this name to run its checks? [y/N] ")
}

/// Asks the user at the terminal.
fn is_agreed(engine: &Descriptor) -> Result<bool, Failure> {
    let name = engine.name.as_str();
    let free: Vec<&str> = needed_for(engine).iter().map(|permission| permission.as_str()).collect();
    let mut text = format!(
        "{} ({name}) does not enforce the permission {}: it can do everything that your user account can do.\n",
        plain(&engine.title),
        free.join(", ")
    );
    text.extend(engine.notes.iter().map(|note| format!("- {}\n", plain(note))));
    asked(name, text + "Allow it to run anyway? [y/N] ")
}

fn asked(name: &str, text: String) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Input(format!(
            "there is no terminal to ask on; `skillrun consent {name} --yes` gives consent without a prompt"
        )));
    }
    let failed = |error: io::Error| Failure::Input(format!("stdin: {error}"));
    let mut out = io::stderr();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(failed)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn revoke(global: &Global, settings: &Settings, engines: &Engines, args: &Consent) -> Result<(), Failure> {
    let mut told = BTreeMap::new();
    for name in &args.engine {
        let by_name = consent::revoke(&settings.data, name).map_err(unreadable(settings))?;
        let in_setting = settings.consent.contains(name);
        if !by_name && !in_setting && !name.starts_with(consent::CHECKS) {
            // A name that is not an engine is most likely misspelled.
            engines.get(name)?;
        }
        told.insert(name.clone(), by_name || in_setting);
    }
    let left: Vec<String> = settings.consent.iter().filter(|name| !args.engine.contains(name)).cloned().collect();
    if left.len() != settings.consent.len() {
        let address = Address { key: Key::Consent, engine: None };
        let edit = if left.is_empty() {
            edit::unset(global, ProcessContext::read()?, &address)?
        } else {
            edit::set(global, ProcessContext::read()?, &address, &left)?
        };
        edit.write()?;
        note_restart(server_process(settings));
    }
    match args.json.form() {
        OutputForm::Json => print_json(&told),
        OutputForm::Text => {
            let words = |was: bool| if was { "consent is revoked" } else { "there was no consent" };
            print(&told.iter().map(|(name, was)| format!("{}: {}\n", plain(name), words(*was))).collect::<String>())
        }
    }
}

/// Where a consent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConsentSource {
    Command(Timestamp),
    Setting,
    Nowhere,
}

fn list(global: &Global, settings: &Settings, engines: &Engines, form: OutputForm) -> Result<(), Failure> {
    let given = consent::given(&settings.data).map_err(unreadable(settings))?;
    let needing = engines.iter().filter(|engine| !needed_for(engine).is_empty()).map(|engine| engine.name.to_string());
    let mut names: Vec<String> = needing.chain(given.keys().cloned()).chain(settings.consent.iter().cloned()).collect();
    names.sort();
    names.dedup();
    let from = |name: &String| match (given.get(name), settings.consent.contains(name)) {
        (Some(at), _) => ConsentSource::Command(*at),
        (None, true) => ConsentSource::Setting,
        (None, false) => ConsentSource::Nowhere,
    };
    match form {
        OutputForm::Json => {
            let row = |name: &String| -> Value {
                let (is_given, by, at) = match from(name) {
                    ConsentSource::Command(at) => (true, Some("command"), Some(at)),
                    ConsentSource::Setting => (true, Some("setting"), None),
                    ConsentSource::Nowhere => (false, None, None),
                };
                json!({ "engine": name, "given": is_given, "from": by, "given_at": at })
            };
            print_json(&json!({ "consents": names.iter().map(row).collect::<Vec<_>>() }))
        }
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            let head = ["ENGINE", "CONSENT"].map(|name| (Ink::Dim, name.to_owned()));
            let rows = names.iter().map(|name| {
                let words = match from(name) {
                    ConsentSource::Command(at) => (Ink::Plain, format!("given {}", moment(at))),
                    ConsentSource::Setting => (Ink::Plain, "given by the setting consent".to_owned()),
                    ConsentSource::Nowhere => (Ink::Dim, "not given".to_owned()),
                };
                [(Ink::Plain, plain(name)), words]
            });
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            print(&output.table(&rows, LastColumn::Wrapped))
        }
    }
}
