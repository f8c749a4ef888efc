//! What an engine could start because a file of the workspace says so, and how that is prevented: `[workspace_settings]`
//! of its file.
//!
//! Pure: the caller reads the files. Keys that are not in the list of an engine's file are not seen here; the switches,
//! which make the engine ignore its settings in the workspace as a whole, do not depend on the list.

use std::path::PathBuf;

use serde_json::Value;
use skillrun_model::word_enum;
use skillrun_model::workspace_settings::{StartKind, StartState};

use crate::template::Template;

/// How an engine is kept from starting what the workspace names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceRule {
    /// For `{{workspace_flags}}`.
    pub flags: Vec<Template>,
    /// Instead of `flags`, where HOME is the user's: settings there are the user's own and count.
    pub user_home_flags: Option<Vec<Template>>,
    /// Instead of the variables of the same name in `[environment]`.
    pub set: Vec<(String, Template)>,
    /// Where the user has not set them: variables that a file of the workspace could set otherwise.
    pub unless_set: Vec<(String, String)>,
    /// For `{{workspace_text}}`.
    pub text: Option<Template>,
    /// A JSON object for agents of a protocol: `_meta` of the request for a session.
    pub session: Option<Template>,
    pub starts: Vec<StartRule>,
}

/// A file of the workspace that can start something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRule {
    /// Relative to the workspace. A folder counts if it has anything in it.
    pub file: PathBuf,
    /// Keys with dots. Empty: the file by itself is enough.
    pub keys: Vec<String>,
    pub kind: StartKind,
    pub by: Prevention,
}

word_enum! {
    /// What keeps an engine from starting it.
    #[derive(Default)]
    pub Prevention {
        /// Flags and variables.
        #[default]
        Switch = "switch",
        /// Settings in the HOME of the run, so nothing where HOME is the user's.
        OwnHome = "own_home",
        /// The engine has no switch.
        Nothing = "nothing",
        /// The engine has no switch, and the run is refused.
        Refusal = "refusal",
    }
}

/// Whose HOME the engine gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeOwner {
    Run,
    User,
}

/// What becomes of something that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Found(StartState),
    Refused,
}

impl Prevention {
    pub fn outcome(self, home: HomeOwner) -> Outcome {
        match (self, home) {
            (Self::Switch, _) | (Self::OwnHome, HomeOwner::Run) => Outcome::Found(StartState::NotStarted),
            (Self::OwnHome, HomeOwner::User) | (Self::Nothing, _) => Outcome::Found(StartState::NotStopped),
            (Self::Refusal, _) => Outcome::Refused,
        }
    }
}

/// What is in the place of a rule's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceContent<'a> {
    Text(&'a str),
    /// A folder with something in it.
    Folder,
    /// It is there, and cannot be looked at.
    Unreadable,
}

impl StartRule {
    /// What the file names. None: nothing of this kind.
    pub fn found(&self, content: PlaceContent<'_>) -> Option<StartKind> {
        let text = match content {
            PlaceContent::Folder | PlaceContent::Unreadable if self.keys.is_empty() => return Some(self.kind),
            // A folder where the engine looks for a file: it reads nothing there.
            PlaceContent::Folder => return None,
            PlaceContent::Unreadable => return Some(StartKind::Unknown),
            PlaceContent::Text(text) => text,
        };
        if self.keys.is_empty() {
            return (!text.trim().is_empty()).then_some(self.kind);
        }
        let is_toml = self.file.extension().is_some_and(|extension| extension == "toml");
        let document = if is_toml { toml::from_str(text).ok() } else { parse_json(text) };
        match document {
            // Engines may be less strict than this reader.
            None => (!text.trim().is_empty()).then_some(StartKind::Unknown),
            Some(document) => self.keys.iter().any(|key| has(&document, key)).then_some(self.kind),
        }
    }
}

/// Whether there is anything at a key with dots.
fn has(document: &Value, key: &str) -> bool {
    let mut at = document;
    for part in key.split('.') {
        match at.get(part) {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    match at {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// JSON as engines read it: with comments, and with commas before a closing bracket.
fn parse_json(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&without_comments(text))).ok()
}

fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) if in_string => {
                plain.push(c);
                plain.extend(rest.next());
            }
            ('"', _) => {
                in_string = !in_string;
                plain.push(c);
            }
            ('/', Some('/')) if !in_string => {
                rest.by_ref().find(|c| *c == '\n');
                plain.push('\n');
            }
            ('/', Some('*')) if !in_string => {
                rest.next();
                let mut before = ' ';
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                plain.push(' ');
            }
            (']' | '}', _) if !in_string => {
                let end = plain.trim_end().len();
                if plain[..end].ends_with(',') {
                    plain.truncate(end - 1);
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(file: &str, keys: &[&str]) -> StartRule {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        StartRule { file: file.into(), keys, kind: StartKind::Hook, by: Prevention::Switch }
    }

    fn found(file: &str, keys: &[&str], text: &str) -> Option<StartKind> {
        rule(file, keys).found(PlaceContent::Text(text))
    }

    #[test]
    fn a_key_counts_where_it_has_something() {
        let keys = &["hooks", "tools.discoveryCommand"];
        let rows = [
            (r#"{"hooks": {"Stop": []}}"#, Some(StartKind::Hook)),
            (r#"{"hooks": {}, "tools": {"discoveryCommand": ""}}"#, None),
            (r#"{"tools": {"discoveryCommand": "x"}}"#, Some(StartKind::Hook)),
            (r#"{"tools": "x"}"#, None),
            (r#"{"model": "m"}"#, None),
            ("// first\n{\"hooks\": [1, /* two */ 2,], \"a\": \"//\\\"\",}", Some(StartKind::Hook)),
            ("\u{feff}{\"hooks\": true}", Some(StartKind::Hook)),
            ("{hooks: 1}", Some(StartKind::Unknown)),
            ("  \n", None),
        ];
        for (text, kind) in rows {
            assert_eq!(found("settings.json", keys, text), kind, "{text}");
        }
        assert_eq!(found("config.toml", &["mcp_servers"], "[mcp_servers.a]\ncommand = \"x\""), Some(StartKind::Hook));
        assert_eq!(found("config.toml", &["mcp_servers"], "model = \"x\""), None);
    }

    #[test]
    fn a_file_without_keys_counts_by_itself() {
        assert_eq!(found(".env", &[], "A=b"), Some(StartKind::Hook));
        assert_eq!(found(".env", &[], ""), None);
        assert_eq!(rule("plugin", &[]).found(PlaceContent::Folder), Some(StartKind::Hook));
        assert_eq!(rule("a.json", &["a"]).found(PlaceContent::Folder), None);
        assert_eq!(rule("a.json", &["a"]).found(PlaceContent::Unreadable), Some(StartKind::Unknown));
    }

    #[test]
    fn where_home_is_the_users_settings_of_the_run_prevent_nothing() {
        let (stopped, not_stopped) = (Outcome::Found(StartState::NotStarted), Outcome::Found(StartState::NotStopped));
        for (by, in_run, in_users) in [
            (Prevention::Switch, stopped, stopped),
            (Prevention::OwnHome, stopped, not_stopped),
            (Prevention::Nothing, not_stopped, not_stopped),
            (Prevention::Refusal, Outcome::Refused, Outcome::Refused),
        ] {
            assert_eq!((by.outcome(HomeOwner::Run), by.outcome(HomeOwner::User)), (in_run, in_users), "{by:?}");
        }
    }
}
