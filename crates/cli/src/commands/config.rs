//! `skillrun config`: shows settings and where they come from, and changes the file.

use serde_json::{Value, json};
use skillrun_auth::{Server, ServerNote};

use crate::args::{Config, ConfigCommand, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::note;
use crate::settings::key::{Address, Key};
use crate::settings::{ConfigFile, ProcessContext, SettingSource, Settings, SettingsError, edit};

pub(crate) fn run(global: &Global, args: Config) -> Result<(), Failure> {
    let shown = ConfigCommand::Show { json: args.json };
    match args.command.unwrap_or(shown) {
        ConfigCommand::Show { json } => show(global, json.form()),
        ConfigCommand::Get { key, json } => get(global, &key, json.form()),
        ConfigCommand::Set { key, values, json } => set(global, &key, &values, json.form()),
        ConfigCommand::Unset { key, json } => unset(global, &key, json.form()),
        ConfigCommand::Path { json } => path(global, json.form()),
    }
}

fn address(key: &str) -> Result<Address, SettingsError> {
    key.parse().map_err(SettingsError::UnknownKey)
}

fn show(global: &Global, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    match form {
        OutputForm::Json => {
            let rows: Vec<Value> = Key::ALL.iter().map(|key| row_json(&settings, *key)).collect();
            print_json(&json!({ "file": settings.file.path.to_string_lossy(), "settings": rows }))
        }
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            let head = ["KEY", "FROM", "VALUE"].map(|name| (Ink::Dim, name.to_owned()));
            let rows = Key::ALL.iter().map(|key| {
                let source = settings.source(*key);
                let ink = if source == SettingSource::Default { Ink::Plain } else { Ink::Bold };
                let from = source_words(source).0.to_owned();
                [(ink, key.as_str().to_owned()), (Ink::Dim, from), (Ink::Plain, text(&settings.get(*key)))]
            });
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            let table = output.table(&rows, LastColumn::Wrapped);
            print(&format!("{table}\nfile: {}\n", plain(&settings.file.path.to_string_lossy())))
        }
    }
}

/// The word for where a value comes from, and the name of the option or variable.
fn source_words(source: SettingSource) -> (&'static str, Option<&'static str>) {
    match source {
        SettingSource::Default => ("default", None),
        SettingSource::File => ("file", None),
        SettingSource::Environment(variable) => ("environment", Some(variable)),
        SettingSource::Option(option) => ("option", Some(option)),
    }
}

fn row_json(settings: &Settings, key: Key) -> Value {
    let (from, name) = source_words(settings.source(key));
    json!({ "key": key.as_str(), "value": settings.get(key), "from": from, "name": name })
}

/// A value for people, without quotes.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => plain(text),
        Value::Array(values) if values.is_empty() => "-".to_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(values) if values.is_empty() => "-".to_owned(),
        Value::Object(values) => {
            values.iter().map(|(name, value)| format!("{name} {}", text(value))).collect::<Vec<_>>().join(", ")
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// For scripts: the value alone, a list as one item per line, and nothing if it is not set.
fn get(global: &Global, key: &str, form: OutputForm) -> Result<(), Failure> {
    let address = address(key)?;
    let settings = Settings::load(global)?;
    let whole = settings.get(address.key);
    let value = match &address.engine {
        None => whole,
        Some(engine) => whole.get(engine).cloned().unwrap_or_default(),
    };
    match (form, &value) {
        (OutputForm::Json, _) => print_json(&value),
        (OutputForm::Text, Value::Null) => Ok(()),
        (OutputForm::Text, Value::Array(values)) => {
            print(&values.iter().map(|value| text(value) + "\n").collect::<String>())
        }
        (OutputForm::Text, Value::Object(values)) => {
            print(&values.iter().map(|(name, value)| format!("{name} {value}\n")).collect::<String>())
        }
        (OutputForm::Text, Value::Bool(_) | Value::Number(_) | Value::String(_)) => print(&(text(&value) + "\n")),
    }
}

fn set(global: &Global, key: &str, values: &[String], form: OutputForm) -> Result<(), Failure> {
    let address = address(key)?;
    let settings = Settings::load(global).ok();
    let server = settings.as_ref().and_then(server_process);
    let before = settings.map(|settings| settings.consent).unwrap_or_default();
    let edit = edit::set(global, ProcessContext::read()?, &address, values)?;
    edit.check_engines(&address)?;
    let path = edit.write()?;
    let path = path.to_string_lossy();
    let dropped: Vec<&str> = before.iter().filter(|name| !values.contains(name)).map(String::as_str).collect();
    if address.key == Key::Consent && !dropped.is_empty() {
        note(&format!(
            "the list was replaced and no longer contains {}; `skillrun consent ENGINE` adds one engine and keeps the others",
            plain(&dropped.join(", "))
        ));
    }
    // The value in the file has no effect while an option or a variable overrides it.
    let stronger = match edit.source(address.key) {
        SettingSource::Environment(name) | SettingSource::Option(name) => Some(name),
        SettingSource::Default | SettingSource::File => None,
    };
    match form {
        OutputForm::Json => print_json(&json!({
            "key": address.to_string(),
            "file": path,
            "overruled_by": stronger,
            "restart_server": server,
        })),
        OutputForm::Text => {
            let but = stronger.map(|name| format!("; {name} overrides it now")).unwrap_or_default();
            print(&format!("{address} is set in {}{but}\n", plain(&path)))?;
            note_restart(server);
            Ok(())
        }
    }
}

/// The server of the data folder, if one runs. It has read all its settings at its start.
pub(super) fn server_process(settings: &Settings) -> Option<u32> {
    match ServerNote::read(settings.data.root()) {
        Ok(Server::Running(note)) => Some(note.pid),
        Ok(Server::None | Server::Gone(_)) | Err(_) => None,
    }
}

/// Says that a changed setting is not in use yet.
pub(super) fn note_restart(server: Option<u32>) {
    if let Some(pid) = server {
        note(&format!(
            "the running server (process {pid}) has read its settings already; restart it to apply the change"
        ));
    }
}

fn unset(global: &Global, key: &str, form: OutputForm) -> Result<(), Failure> {
    let address = address(key)?;
    let server = Settings::load(global).ok().as_ref().and_then(server_process);
    let path = edit::unset(global, ProcessContext::read()?, &address)?.write()?;
    let path = path.to_string_lossy();
    match form {
        OutputForm::Json => print_json(&json!({ "key": address.to_string(), "file": path, "restart_server": server })),
        OutputForm::Text => {
            print(&format!("{address} is no longer set in {}\n", plain(&path)))?;
            note_restart(server);
            Ok(())
        }
    }
}

fn path(global: &Global, form: OutputForm) -> Result<(), Failure> {
    let file = ConfigFile::locate(global, &ProcessContext::read()?)?;
    let path = file.path.to_string_lossy();
    match form {
        OutputForm::Json => print_json(&json!({ "file": path, "exists": file.path.exists() })),
        OutputForm::Text => print(&format!("{path}\n")),
    }
}
