//! `server.json`: where the running server listens, for commands of the same user.
//!
//! ```text
//! {"format": 1, "pid": 42, "began": 9876, "boot_id": "…", "listen": "…", "url": "…", "token_file": "…", "started_at": "…"}
//! ```
//!
//! A server that is killed leaves its note behind. `began` and `boot_id` distinguish its process from a later one with
//! the same id.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_evidence::OsText;
use skillrun_model::Timestamp;

use super::error::{AuthError, TokenFileProblem};
use super::private_file;

const FORMAT: u32 = 1;
const FILE_MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNote {
    format: u32,
    pub pid: u32,
    /// When the process started, in ticks since the machine booted.
    began: u64,
    /// Changes when the machine reboots.
    boot_id: String,
    /// Address and port.
    pub listen: String,
    /// Without a slash at its end.
    pub url: String,
    pub token_file: OsText,
    pub started_at: Timestamp,
}

/// What the data folder shows about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// No server, or it stopped normally.
    None,
    /// Its process is alive.
    Running(ServerNote),
    /// It was killed, and left its note.
    Gone(ServerNote),
}

/// The fields of a note that do not come from the process itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    pub listen: String,
    pub url: String,
    pub token_file: PathBuf,
    pub started_at: Timestamp,
}

fn path(data: &Path) -> PathBuf {
    data.join("server.json")
}

impl ServerNote {
    /// A note about this process.
    pub fn of_this_process(listening: Listening) -> Result<Self, AuthError> {
        let pid = std::process::id();
        let unreadable = || AuthError::file("/proc/self/stat", "read")(std::io::ErrorKind::InvalidData.into());
        let began = began(pid).ok_or_else(unreadable)?;
        let Listening { listen, url, token_file, started_at } = listening;
        let url = url.trim_end_matches('/').to_owned();
        let token_file = token_file.into();
        Ok(Self { format: FORMAT, pid, began, boot_id: boot_id(), listen, url, token_file, started_at })
    }

    pub fn write(&self, data: &Path) -> Result<(), AuthError> {
        let path = path(data);
        let text = serde_json::to_vec_pretty(self).map_err(|error| AuthError::file(&path, "written")(error.into()))?;
        private_file::replace(&path, &text)
    }

    pub fn read(data: &Path) -> Result<Server, AuthError> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let path = path(data);
        let Some((bytes, _)) = private_file::read(&path, FILE_MAX)? else { return Ok(Server::None) };
        let bad = |problem| AuthError::Content { path: path.clone(), problem };
        let damaged = |error: serde_json::Error| bad(TokenFileProblem::DamagedNote(error.to_string()));
        let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
        if head.format > FORMAT {
            return Err(bad(TokenFileProblem::Newer));
        }
        let note: Self = serde_json::from_slice(&bytes).map_err(damaged)?;
        Ok(if note.is_alive() { Server::Running(note) } else { Server::Gone(note) })
    }

    /// Removes this note. A note that another server has written since is kept.
    pub fn remove(&self, data: &Path) -> Result<(), AuthError> {
        match Self::read(data)? {
            Server::Running(note) | Server::Gone(note) if note.is_of_same_process(self) => {
                private_file::remove(&path(data))
            }
            Server::Running(_) | Server::Gone(_) | Server::None => Ok(()),
        }
    }

    /// Not the whole note: the file stores times with less precision than memory does.
    fn is_of_same_process(&self, other: &Self) -> bool {
        (self.pid, self.began, &self.boot_id) == (other.pid, other.began, &other.boot_id)
    }

    fn is_alive(&self) -> bool {
        self.boot_id == boot_id() && began(self.pid) == Some(self.began)
    }
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn began(pid: u32) -> Option<u64> {
    began_in(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// When the process started. None: it has exited, even if its parent has not reaped it.
fn began_in(stat: &[u8]) -> Option<u64> {
    // The name before it is in parentheses and may contain anything, even parentheses.
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let began = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(began)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn data() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        (dir, data)
    }

    fn note() -> ServerNote {
        let listening = Listening {
            listen: "localhost:7333".to_owned(),
            url: "http://localhost:7333/".to_owned(),
            token_file: "/data/server.token".into(),
            started_at: Timestamp::EPOCH,
        };
        ServerNote::of_this_process(listening).unwrap()
    }

    #[test]
    fn a_note_is_written_read_and_removed() {
        let (_dir, data) = data();
        assert_eq!(ServerNote::read(&data).unwrap(), Server::None);
        note().write(&data).unwrap();
        assert_eq!(fs::metadata(path(&data)).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ServerNote::read(&data).unwrap(), Server::Running(note()));
        assert_eq!(note().url, "http://localhost:7333");
        note().remove(&data).unwrap();
        assert_eq!(ServerNote::read(&data).unwrap(), Server::None);
        note().remove(&data).unwrap();
        // A time of the machine's clock, which the file stores with less precision.
        let precise = ServerNote { started_at: Timestamp::EPOCH.plus_nanos(1), ..note() };
        precise.write(&data).unwrap();
        precise.remove(&data).unwrap();
        assert_eq!(ServerNote::read(&data).unwrap(), Server::None);
    }

    #[test]
    fn another_process_with_its_id_is_not_the_server() {
        let (_dir, data) = data();
        let others = [
            ServerNote { began: note().began + 1, ..note() },
            ServerNote { boot_id: "another".to_owned(), ..note() },
            ServerNote { pid: u32::MAX, ..note() },
        ];
        for other in others {
            other.write(&data).unwrap();
            assert_eq!(ServerNote::read(&data).unwrap(), Server::Gone(other));
        }
    }

    #[test]
    fn a_process_that_has_ended_is_gone_before_its_parent_notices() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // Waits for its exit without reaping it.
        let pid = rustix::process::Pid::from_child(&child);
        let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert!(fs::exists(format!("/proc/{}/stat", child.id())).unwrap());
        assert_eq!(began(child.id()), None);
        child.wait().unwrap();
        assert_eq!(began(child.id()), None);
    }

    #[test]
    fn the_note_of_another_server_stays() {
        let (_dir, data) = data();
        // A process with that id may exist, but not one that started with the machine.
        let other = ServerNote { pid: note().pid + 1, began: 1, ..note() };
        other.write(&data).unwrap();
        note().remove(&data).unwrap();
        assert_eq!(ServerNote::read(&data).unwrap(), Server::Gone(other));
    }

    #[test]
    fn an_unusable_note_is_reported() {
        let (_dir, data) = data();
        note().write(&data).unwrap();
        let good = fs::read_to_string(path(&data)).unwrap();
        for (bad, words) in [
            (String::new(), "is damaged"),
            (good[..20].to_owned(), "is damaged"),
            ("{\"format\": 1}".to_owned(), "is damaged"),
            ("{\"format\": 2}".to_owned(), "was written by a newer skillrun"),
            ("x".repeat(100_000), "is larger than"),
        ] {
            fs::write(path(&data), bad).unwrap();
            let error = ServerNote::read(&data).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_beginning_is_found_whatever_the_name_is() {
        let stat = |state: &str| format!("42 (a) b (c) {state} 7 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 9876 1 1");
        assert_eq!(began_in(stat("S").as_bytes()), Some(9876));
        assert_eq!(began_in(stat("Z").as_bytes()), None);
        for bad in [&b""[..], b"42", b"42 (x", b"42 (x) S 1 2 3", b"\xff)\xff"] {
            assert_eq!(began_in(bad), None);
        }
    }
}
