//! Sessions, one file each: `{"cwd": "…", "turns": [{"user": "…", "agent": "…"}]}`.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// More are not made.
const SESSIONS_MAX: u32 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) cwd: String,
    pub(super) turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) user: String,
    pub(super) agent: String,
}

#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Makes a session with a name that none has.
    pub(super) fn make(&self, session: &Session) -> io::Result<String> {
        fs::create_dir_all(&self.folder)?;
        for number in 1..=SESSIONS_MAX {
            let name = format!("session-{number}");
            match OpenOptions::new().write(true).create_new(true).open(self.path(&name)) {
                Ok(_) => return self.save(&name, session).map(|()| name),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many sessions"))
    }

    /// None when there is no such session.
    pub(super) fn load(&self, name: &str) -> io::Result<Option<Session>> {
        let is_name = name.strip_prefix("session-").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_name {
            return Ok(None);
        }
        match fs::read(self.path(name)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Appears at once, whole: the process may be killed at any time.
    pub(super) fn save(&self, name: &str, session: &Session) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{name}.{}.tmp", std::process::id()));
        fs::write(&unfinished, serde_json::to_vec(session)?)?;
        fs::rename(&unfinished, self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}
