//! Sessions: a file each below `$HOME/.iflow/sessions`, a JSON list of what the user said.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The most sessions of one home.
const MOST: u32 = 10_000;

#[derive(Debug)]
pub(super) struct Sessions {
    folder: PathBuf,
}

impl Sessions {
    pub(super) fn new(home: &Path) -> Self {
        Self { folder: home.join(".iflow").join("sessions") }
    }

    /// A new session, whose name it gives.
    pub(super) fn begin(&self, prompt: &str) -> io::Result<String> {
        fs::create_dir_all(&self.folder)?;
        for number in 1..=MOST {
            let id = format!("session-00000000-0000-4000-8000-{number:012x}");
            match OpenOptions::new().write(true).create_new(true).open(self.path(&id)) {
                Ok(mut file) => {
                    file.write_all(&serde_json::to_vec(&[prompt])?)?;
                    return Ok(id);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::StorageFull, "too many sessions"))
    }

    /// Adds to a session and gives all that the user said; none when there is no such session.
    pub(super) fn go_on(&self, id: &str, prompt: &str) -> io::Result<Option<Vec<String>>> {
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_name {
            return Ok(None);
        }
        let mut said: Vec<String> = match fs::read(self.path(id)) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        said.push(prompt.to_owned());
        // Appears at once, whole: a turn may be killed at any time.
        let unfinished = self.folder.join(format!("{id}.{}.tmp", std::process::id()));
        fs::write(&unfinished, serde_json::to_vec(&said)?)?;
        fs::rename(&unfinished, self.path(id))?;
        Ok(Some(said))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_apart_and_grow() {
        let home = tempfile::tempdir().expect("a home");
        let sessions = Sessions::new(home.path());
        let first = sessions.begin("one").expect("a session");
        let second = sessions.begin("two").expect("a session");
        assert_ne!(first, second);
        assert_eq!(
            sessions.go_on(&first, "more").expect("no trouble"),
            Some(vec!["one".to_owned(), "more".to_owned()])
        );
        assert_eq!(sessions.go_on(&second, "x").expect("no trouble").map(|said| said.len()), Some(2));
        assert_eq!(sessions.go_on(&first, "y").expect("no trouble").map(|said| said.len()), Some(3));
        assert_eq!(sessions.go_on("session-9", "x").expect("no trouble"), None);
        assert_eq!(sessions.go_on("../x", "x").expect("no trouble"), None);
    }
}
