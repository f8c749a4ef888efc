//! Our requests, by their names. An agent repeats a name in its response, so a name contains everything that a reader
//! of only the agent's side must know.
//!
//! | name | the request |
//! | --- | --- |
//! | `initialize` | the first of a process |
//! | `session` | creates a session |
//! | `session resume=NAME`, `session load=NAME` | resumes one; after `load` the agent replays its history |
//! | `past.1`, `past.2`, … | asks for nothing; repeated until a response comes with no history before it |
//! | `now` | asks for nothing; what follows its response is not history |
//! | `prompt.N` | begins the turn of attempt N |
//!
//! `mode=MODE` before the rest of a `session` is the mode that the agent must then be in.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::AttemptNumber;

use super::wire;

/// Longest name of a session; a longer one could not be sent back.
const SESSION_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    Initialize,
    Session(Wanted),
    Past(u32),
    Now,
    Prompt(AttemptNumber),
}

/// The session that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub way: Way,
    /// One word.
    pub mode: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    New,
    /// Without replaying its history.
    Resume(String),
    Load(String),
}

/// Why there is no usable session, though the agent reported success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    Nameless,
    Mode { wanted: String, told: Option<String> },
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Opened<'a> {
    session_id: Option<&'a RawValue>,
    modes: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modes<'a> {
    #[serde(borrow)]
    current_mode_id: Option<&'a RawValue>,
}

impl Name {
    /// None: it is not one of ours.
    pub fn read(name: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        match name {
            "initialize" => Some(Self::Initialize),
            "now" => Some(Self::Now),
            "session" => Some(Self::Session(Wanted { way: Way::New, mode: None })),
            _ => match (name.strip_prefix("past."), name.strip_prefix("prompt."), name.strip_prefix("session ")) {
                (Some(past), _, _) => number(past).map(Self::Past),
                (_, Some(attempt), _) => number(attempt).map(|attempt| Self::Prompt(AttemptNumber(attempt))),
                (_, _, Some(wanted)) => Wanted::read(wanted).map(Self::Session),
                (None, None, None) => None,
            },
        }
    }
}

impl Wanted {
    fn read(text: &str) -> Option<Self> {
        let (mode, rest) = match text.strip_prefix("mode=") {
            Some(text) => match text.split_once(' ') {
                Some((mode, rest)) => (Some(mode.to_owned()), rest),
                None => return Some(Self { way: Way::New, mode: Some(text.to_owned()) }),
            },
            None => (None, text),
        };
        let resume = || rest.strip_prefix("resume=").map(|session| Way::Resume(session.to_owned()));
        let load = || rest.strip_prefix("load=").map(|session| Way::Load(session.to_owned()));
        resume().or_else(load).map(|way| Self { way, mode })
    }

    /// The name of the session that the agent opened with this response.
    pub fn opened(&self, result: &RawValue) -> Result<String, Unusable> {
        let answer = wire::object::<Opened<'_>>(result).unwrap_or_default();
        let modes = answer.modes.and_then(wire::object::<Modes<'_>>).unwrap_or_default();
        let told = modes.current_mode_id.and_then(wire::word);
        match &self.mode {
            Some(wanted) if told.as_ref() != Some(wanted) => {
                return Err(Unusable::Mode { wanted: wanted.clone(), told });
            }
            Some(_) | None => {}
        }
        match &self.way {
            Way::Resume(session) | Way::Load(session) => Ok(session.clone()),
            // Not repaired: it must be sent back unchanged.
            Way::New => answer
                .session_id
                .and_then(|id| serde_json::from_str::<String>(id.get()).ok())
                .filter(|id| (1..=SESSION_MAX).contains(&id.len()))
                .ok_or(Unusable::Nameless),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initialize => f.write_str("initialize"),
            Self::Session(wanted) => {
                f.write_str("session")?;
                if let Some(mode) = &wanted.mode {
                    write!(f, " mode={mode}")?;
                }
                match &wanted.way {
                    Way::New => Ok(()),
                    Way::Resume(session) => write!(f, " resume={session}"),
                    Way::Load(session) => write!(f, " load={session}"),
                }
            }
            Self::Past(number) => write!(f, "past.{number}"),
            Self::Now => f.write_str("now"),
            Self::Prompt(attempt) => write!(f, "prompt.{attempt}"),
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nameless => write!(f, "the agent opened a session without an id of 1 to {SESSION_MAX} bytes"),
            Self::Mode { wanted, told: Some(told) } => {
                let told = super::cut(told, super::NAME_MAX);
                write!(f, "the agent is in mode {told}, but the permission requires mode {wanted}")
            }
            Self::Mode { wanted, told: None } => {
                write!(f, "the agent does not report its mode, but the permission requires mode {wanted}")
            }
        }
    }
}
