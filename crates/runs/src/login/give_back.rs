//! Gives a login back.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_lifecycle::run::ProcessLeft;
use skillrun_model::rasp::Level;
use skillrun_model::{Code, IgnoredError, RunId};

use super::account::{self, Account};
use super::note::{self, Back, Note, Taken, hash};
use super::{place, users};
use crate::data_folder::DataFolder;

/// How long another process may hold the user's folder. An attempt waits for this before it is settled.
const USER_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Gives the login of a run back. If its process has ended, the copy is removed too; if it is running, it keeps the
/// copy. Reports what was copied back and what could not be kept. Does nothing when it was already done.
pub fn give_back(data: &DataFolder, run: RunId, process: ProcessLeft) -> Vec<ControlEvent> {
    Note::read(data, run).map_or_else(Vec::new, |note| return_login(data, note, process, USER_LOCK_TIMEOUT))
}

/// Logins of runs that are over, whose owners died before they could return them, or could not.
pub fn give_back_left(data: &DataFolder, but: RunId, is_left: impl Fn(RunId) -> bool) {
    for note in Note::all(data).into_iter().filter(|note| note.run_id != but && is_left(note.run_id)) {
        // There is no run to report to. There may be many, so none is waited for.
        return_login(data, note, ProcessLeft::Gone, Duration::ZERO);
    }
}

/// Before the folder of a run is removed: a login that cannot be given back now must not be removed with it.
pub(crate) fn give_up(data: &DataFolder, run: RunId) -> io::Result<()> {
    give_back(data, run, ProcessLeft::Gone);
    let Some(note) = Note::read(data, run) else { return Ok(()) };
    for taken in &note.taken {
        let Back::IfUnchanged { hash: copied, .. } = &taken.back else { continue };
        // A file that cannot be read was put out of reach by the agent.
        let now = place::read_ours(note.home.as_path(), taken.path.as_path()).ok().flatten();
        if let Some(now) = now.filter(|now| hash(now) != *copied) {
            note::keep(data, run, taken.path.as_path(), &now)?;
        }
    }
    note.remove(data);
    Ok(())
}

fn return_login(data: &DataFolder, note: Note, process: ProcessLeft, timeout: Duration) -> Vec<ControlEvent> {
    let mut events = Vec::new();
    let mut left = Vec::new();
    for mut taken in note.taken {
        let path = taken.path.as_path();
        let given = one(note.home.as_path(), note.user_home.as_path(), &taken, timeout);
        let kept = |now: &[u8], why: &str| {
            let file = note::keep(data, note.run_id, path, now)?;
            Ok(Some(format!("and it was not given back: {why}; it is kept in {}", file.display())))
        };
        let mut code = Code::LoginNotKept;
        let (now, told) = match given {
            Ok(Given::Unchanged) => (None, Ok(None)),
            Ok(Given::Back(now, account)) => {
                events.push(copied_back(path, &account));
                (Some(now), Ok(None))
            }
            // The process may be writing at this moment.
            Ok(Given::Broken(_) | Given::OtherAccount { .. }) if process == ProcessLeft::Living => (None, Ok(None)),
            Ok(Given::OtherAccount { now, place }) => {
                code = Code::LoginOtherAccount;
                let told = kept(
                    &now,
                    &format!("it is for another account or service ({place} differs), and the user's own file stays"),
                );
                (Some(now), told)
            }
            Ok(Given::Broken(now)) => {
                let told = kept(&now, "the engine left an incomplete login");
                (Some(now), told)
            }
            Ok(Given::Both(now)) => {
                let told = kept(&now, "the user's own file has also changed since, and stays");
                (Some(now), told)
            }
            Err(error) => (None, Err(error)),
        };
        let (is_done, told) = match told {
            Ok(told) => (true, told),
            Err(error) => (false, Some(format!("and it could not be given back yet: {error}; it stays in the run"))),
        };
        let message = told.map(|told| format!("the engine changed its login {}, {told}", path.display()));
        events.extend(message.map(|message| closing::warning(code, message)));
        match process {
            ProcessLeft::Gone if is_done => {
                if place::remove(note.home.as_path(), path).is_err() {
                    left.push(Taken { back: Back::Dropped, ..taken });
                }
            }
            ProcessLeft::Living if is_done => {
                // Later changes are a new change.
                if let Some(now) = now {
                    taken.back = Back::of(&now);
                }
                left.push(taken);
            }
            ProcessLeft::Gone | ProcessLeft::Living => left.push(taken),
        }
    }
    let note = Note { taken: left, ..note };
    if note.taken.is_empty() {
        note.remove(data);
    } else {
        // If this fails, the old note remains, and the work is found to be done.
        note.write(data).ignored();
    }
    events
}

/// The user's file was changed, which the run reports.
fn copied_back(path: &Path, account: &Account) -> ControlEvent {
    let account = match account {
        Account::Same => "for the same account",
        Account::Unnamed | Account::Other(_) => "which names no account; nothing but tokens and times differs",
    };
    let message =
        format!("the engine refreshed its login {}, and the user's file has the new one, {account}", path.display());
    ControlEvent { level: Level::Info, ..closing::warning(Code::LoginCopiedBack, message) }
}

enum Given {
    /// Or not meant to be given back.
    Unchanged,
    Back(Vec<u8>, Account),
    /// Where it differs from the user's, apart from what a refresh changes.
    OtherAccount {
        now: Vec<u8>,
        place: String,
    },
    /// The user's file is not the one that was copied.
    Both(Vec<u8>),
    /// Truncated, not a login, or a login from which something was removed.
    Broken(Vec<u8>),
}

fn one(home: &Path, user_home: &Path, taken: &Taken, timeout: Duration) -> io::Result<Given> {
    let Back::IfUnchanged { hash: copied, members } = &taken.back else { return Ok(Given::Unchanged) };
    let path = taken.path.as_path();
    // The engine followed the link to the user's file, as intended.
    if fs::symlink_metadata(home.join(path)).is_ok_and(|found| found.is_symlink()) {
        return Ok(Given::Unchanged);
    }
    // The engine removed a login that it could not use; that is not a reason to remove the user's file.
    let Some(now) = place::read_ours(home, path)?.filter(|now| hash(now) != *copied) else {
        return Ok(Given::Unchanged);
    };
    // An emptied file is treated the same: the engine has logged out.
    if !is_whole(&now, members) {
        return Ok(Given::Broken(now));
    }
    // Where the user has a link, its target is replaced, not the link.
    let users = match fs::canonicalize(user_home.join(path)) {
        Ok(users) => users,
        Err(error) if place::is_missing(&error) => return Ok(Given::Both(now)),
        Err(error) => return Err(error),
    };
    let _lock = users::lock(&users, timeout)?;
    match place::read_users(&users)? {
        Some(theirs) if theirs == now => Ok(Given::Unchanged),
        Some(theirs) if hash(&theirs) == *copied => match account::compare(&theirs, &now) {
            Account::Other(place) => Ok(Given::OtherAccount { now, place }),
            account @ (Account::Same | Account::Unnamed) => {
                users::replace(&users, &now).map(|()| Given::Back(now, account))
            }
        },
        Some(_) | None => Ok(Given::Both(now)),
    }
}

/// Whether nothing is missing that the copied file had.
fn is_whole(now: &[u8], members: &[String]) -> bool {
    let Ok(now) = serde_json::from_slice::<Map<String, Value>>(now) else { return false };
    members.iter().all(|name| now.get(name).is_some_and(note::has_content))
}
