//! The command line of the stand-in, as much of iFlow's as it was started with.

use std::ffi::OsString;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Words {
    Version,
    Turn { resume: Option<String>, prompt: String },
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    #[error("what is {0:?}?")]
    Unknown(OsString),
    #[error("no prompt: -p TEXT is missing")]
    NoPrompt,
}

pub(super) fn parse(words: &[OsString]) -> Result<Words, WordsError> {
    let mut words = words.iter();
    let mut resume = None;
    let mut prompt = None;
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--version") => return Ok(Words::Version),
            Some("--yolo" | "--thinking") => {}
            Some("-p" | "--prompt") => {
                let text = words.next().ok_or(WordsError::NoPrompt)?;
                prompt = Some(text.to_string_lossy().into_owned());
            }
            Some(text) => match text.strip_prefix("--resume=") {
                Some(id) => resume = Some(id.to_owned()),
                None => return Err(WordsError::Unknown(word.clone())),
            },
            None => return Err(WordsError::Unknown(word.clone())),
        }
    }
    Ok(Words::Turn { resume, prompt: prompt.ok_or(WordsError::NoPrompt)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Words, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_understood_or_refused() {
        let turn =
            |resume: Option<&str>| Ok(Words::Turn { resume: resume.map(str::to_owned), prompt: "--do it".to_owned() });
        assert_eq!(parsed(&["--yolo", "--thinking", "-p", "--do it"]), turn(None));
        assert_eq!(parsed(&["--resume=session-1", "-p", "--do it"]), turn(Some("session-1")));
        assert_eq!(parsed(&["--version"]), Ok(Words::Version));
        assert_eq!(parsed(&["--yolo"]), Err("no prompt: -p TEXT is missing".to_owned()));
        assert_eq!(parsed(&["-p"]), Err("no prompt: -p TEXT is missing".to_owned()));
        assert_eq!(parsed(&["-x"]), Err("what is \"-x\"?".to_owned()));
    }
}
