//! The words of the command line. Pure.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use skillrun_model::ProfileId;
use skillrun_model::status::Continuation;

use super::formats;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// None: every turn repeats what the user said to it.
    pub(super) script: Option<PathBuf>,
    pub(super) profile: ProfileId,
    /// The session to resume.
    pub(super) resume: Option<String>,
    /// Where sessions are kept; without it `.scripted` in the working folder.
    pub(super) state: Option<PathBuf>,
    /// The record of the run, for the values of templates.
    pub(super) run: Option<PathBuf>,
    pub(super) life: Life,
    pub(super) prompt: Prompt,
}

/// How long the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    OneTurn,
    /// All turns; from the second on, each begins with a line of stdin.
    Sticky,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prompt {
    /// No input.
    Absent,
    Given(String),
    Stdin,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    #[error("there is no option {0}")]
    Unknown(String),
    #[error("{0} needs a value after it")]
    Missing(&'static str),
    #[error("{0} may be given once")]
    Twice(&'static str),
    #[error("{0} is needed")]
    Needed(&'static str),
    #[error("--profile {given} is not one of: {known}")]
    Profile { given: String, known: String },
    #[error("{0} is a protocol, and a script only writes")]
    Protocol(ProfileId),
    #[error("{0} has no session that could be resumed")]
    NotResumable(ProfileId),
    #[error("{0} shows the end of a turn only by its exit, so it cannot be sticky")]
    NotSticky(ProfileId),
}

const SCRIPT: &str = "--script";
const PROFILE: &str = "--profile";
const RESUME: &str = "--resume";
const STATE: &str = "--state";
const RUN: &str = "--run";
const STICKY: &str = "--sticky";
const PROMPT: &str = "--prompt";

/// Options as they were given. A value is the next word, whatever it looks like, or what stands behind `=`.
pub(super) fn parse(words: &[OsString]) -> Result<Words, WordsError> {
    let (mut script, mut profile, mut resume, mut state, mut run, mut prompt) = (None, None, None, None, None, None);
    let mut life = Life::OneTurn;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, behind) = split(word);
        let (name, place) = match name {
            b"--script" => (SCRIPT, &mut script),
            b"--profile" => (PROFILE, &mut profile),
            b"--resume" => (RESUME, &mut resume),
            b"--state" => (STATE, &mut state),
            b"--run" => (RUN, &mut run),
            b"--prompt" => (PROMPT, &mut prompt),
            b"--sticky" if behind.is_none() => {
                if life == Life::Sticky {
                    return Err(WordsError::Twice(STICKY));
                }
                life = Life::Sticky;
                continue;
            }
            _ => return Err(WordsError::Unknown(word.to_string_lossy().into_owned())),
        };
        let value = behind.or_else(|| words.next().map(OsString::as_os_str)).ok_or(WordsError::Missing(name))?;
        if place.replace(value.to_owned()).is_some() {
            return Err(WordsError::Twice(name));
        }
    }
    let text = |value: OsString| value.to_string_lossy().into_owned();
    let profile = text(profile.ok_or(WordsError::Needed(PROFILE))?);
    let profile: ProfileId = profile.parse().map_err(|_| WordsError::Profile {
        given: profile,
        known: formats::spoken().map(|known| known.as_str()).collect::<Vec<_>>().join(", "),
    })?;
    if profile == ProfileId::AcpJsonrpc {
        return Err(WordsError::Protocol(profile));
    }
    if resume.is_some() && profile.continuation() == Continuation::None {
        return Err(WordsError::NotResumable(profile));
    }
    if life == Life::Sticky && formats::ends_by_exit(profile) {
        return Err(WordsError::NotSticky(profile));
    }
    Ok(Words {
        script: script.map(Into::into),
        profile,
        resume: resume.map(text),
        state: state.map(Into::into),
        run: run.map(Into::into),
        life,
        prompt: match prompt {
            None => Prompt::Absent,
            Some(dash) if dash == "-" => Prompt::Stdin,
            Some(given) => Prompt::Given(text(given)),
        },
    })
}

fn split(word: &OsStr) -> (&[u8], Option<&OsStr>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) if bytes.starts_with(b"--") => (&bytes[..at], Some(OsStr::from_bytes(&bytes[at + 1..]))),
        Some(_) | None => (bytes, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Words, WordsError> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn refused(line: &str) -> String {
        read(line).expect_err("words that make no sense").to_string()
    }

    #[test]
    fn options_take_the_word_after_them_or_behind_the_sign() {
        let expected = Words {
            script: Some("a.yaml".into()),
            profile: ProfileId::CodexNdjson,
            resume: Some("s-1".to_owned()),
            state: Some("here".into()),
            run: Some("run.json".into()),
            life: Life::Sticky,
            prompt: Prompt::Given("--sticky".to_owned()),
        };
        let line = "--script a.yaml --profile=codex_ndjson --resume=s-1 --state here --run=run.json --sticky --prompt --sticky";
        assert_eq!(read(line), Ok(expected));
        assert_eq!(read("--script a --profile plain_text").map(|words| words.prompt), Ok(Prompt::Absent));
        assert_eq!(read("--script a --profile plain_text --prompt -").map(|words| words.prompt), Ok(Prompt::Stdin));
        assert_eq!(read("--profile plain_text").map(|words| words.script), Ok(None));
    }

    #[test]
    fn what_makes_no_sense_is_said_in_a_sentence() {
        assert_eq!(refused(""), "--profile is needed");
        assert_eq!(refused("--script"), "--script needs a value after it");
        assert_eq!(refused("--script a --script=b"), "--script may be given once");
        assert_eq!(refused("--sticky --sticky"), "--sticky may be given once");
        assert_eq!(refused("--sticky=yes"), "there is no option --sticky=yes");
        assert_eq!(refused("dance"), "there is no option dance");
        assert!(refused("--script a --profile x").starts_with("--profile x is not one of: codex_ndjson, "));
        let resumed = "plain_text has no session that could be resumed";
        assert_eq!(refused("--script a --profile plain_text --resume x"), resumed);
        let sticky = "iflow_text shows the end of a turn only by its exit, so it cannot be sticky";
        assert_eq!(refused("--script a --profile iflow_text --sticky"), sticky);
    }
}
