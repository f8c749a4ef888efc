//! `tokens.json`: tokens that a user created, as hashes.
//!
//! ```text
//! [{"name": "ci", "scope": "run", "hash": "<blake3, hex>", "created_at": "…", "expires_at": "…"}]
//! ```
//!
//! Without `expires_at` a token is valid until it is revoked. A process that changes the file holds `tokens.lock`
//! meanwhile, so that no process writes back a token that another has just revoked.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skillrun_base::file_lock::{self, LockState};
use skillrun_model::Timestamp;

use super::error::{AuthError, TokenFileProblem};
use super::private_file;
use super::scope::Scope;
use super::token::{TokenHash, TokenName};

pub const COUNT_MAX: usize = 1_000;
/// Several times the size that the maximum number of tokens needs.
pub(super) const FILE_MAX: u64 = 1024 * 1024;
/// Time limit for acquiring the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    pub name: TokenName,
    pub scope: Scope,
    pub hash: TokenHash,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl TokenEntry {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

/// The file, for commands that change it.
#[derive(Debug, Clone)]
pub struct TokenList {
    path: PathBuf,
}

impl TokenList {
    pub fn new(data: &Path) -> Self {
        Self { path: data.join("tokens.json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Oldest first.
    pub fn read(&self) -> Result<Vec<TokenEntry>, AuthError> {
        match private_file::read(&self.path, FILE_MAX)? {
            None => Ok(Vec::new()),
            Some((bytes, _)) => parse(&bytes, &self.path),
        }
    }

    pub fn add(&self, entry: TokenEntry) -> Result<(), AuthError> {
        let _held = self.lock()?;
        let mut entries = self.read()?;
        if entries.iter().any(|known| known.name == entry.name) {
            return Err(AuthError::NameTaken(entry.name));
        }
        if entries.len() >= COUNT_MAX {
            return Err(AuthError::TooManyTokens { limit: COUNT_MAX });
        }
        entries.push(entry);
        self.write(&entries)
    }

    /// Revokes a token: it is refused from now on.
    pub fn revoke(&self, name: &TokenName) -> Result<TokenEntry, AuthError> {
        let _held = self.lock()?;
        let mut entries = self.read()?;
        let at = entries.iter().position(|known| known.name == *name);
        let revoked = entries.remove(at.ok_or_else(|| AuthError::NoSuchToken(name.clone()))?);
        self.write(&entries)?;
        Ok(revoked)
    }

    fn write(&self, entries: &[TokenEntry]) -> Result<(), AuthError> {
        let failed = |error: serde_json::Error| AuthError::file(&self.path, "written")(error.into());
        let mut text = serde_json::to_vec_pretty(entries).map_err(failed)?;
        text.push(b'\n');
        private_file::replace(&self.path, &text)
    }

    /// Held until the file is closed, also by a process that is killed.
    fn lock(&self) -> Result<File, AuthError> {
        let path = self.path.with_extension("lock");
        if let Some(folder) = path.parent() {
            private_file::make_folder(folder)?;
        }
        let failed = |error: io::Error| AuthError::file(&path, "locked")(error);
        let file = file_lock::open(&path).map_err(failed)?;
        match file_lock::lock_within(&file, LOCK_TIMEOUT, PAUSE).map_err(failed)? {
            LockState::Acquired => Ok(file),
            LockState::Held => Err(AuthError::Busy { path: self.path.clone() }),
        }
    }
}

/// All entries or none: in a damaged file it is unknown which entries are right.
pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Vec<TokenEntry>, AuthError> {
    let damaged = |why: String| AuthError::Content { path: path.to_owned(), problem: TokenFileProblem::Damaged(why) };
    let entries: Vec<TokenEntry> = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
    if entries.len() > COUNT_MAX {
        return Err(damaged(format!("it has more than {COUNT_MAX} tokens")));
    }
    let mut names: Vec<&TokenName> = entries.iter().map(|entry| &entry.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(damaged(format!("it has two tokens \"{}\"", two[0]))),
        None => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Token;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn entry(name: &str) -> TokenEntry {
        let hash = TokenHash::of(name.as_bytes());
        let name = name.parse().unwrap();
        TokenEntry { name, scope: Scope::Run, hash, created_at: Timestamp::EPOCH, expires_at: None }
    }

    fn list() -> (tempfile::TempDir, TokenList) {
        let dir = tempfile::tempdir().unwrap();
        let list = TokenList::new(&dir.path().join("data"));
        (dir, list)
    }

    fn names(list: &TokenList) -> Vec<String> {
        list.read().unwrap().into_iter().map(|entry| entry.name.into()).collect()
    }

    #[test]
    fn tokens_are_added_and_revoked_by_name() {
        let (_dir, list) = list();
        assert!(list.read().unwrap().is_empty());
        list.add(entry("b")).unwrap();
        list.add(TokenEntry { expires_at: Some(Timestamp::EPOCH.plus_nanos(5)), ..entry("a") }).unwrap();
        assert_eq!(fs::metadata(list.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(&list), ["b", "a"]);
        assert!(matches!(list.add(entry("a")), Err(AuthError::NameTaken(name)) if name.as_str() == "a"));
        assert_eq!(list.revoke(&"b".parse().unwrap()).unwrap(), entry("b"));
        assert!(matches!(list.revoke(&"b".parse().unwrap()), Err(AuthError::NoSuchToken(_))));
        assert_eq!(names(&list), ["a"]);
    }

    #[test]
    fn the_file_holds_no_token() {
        let (_dir, list) = list();
        let token = Token::new([7; 32]);
        list.add(TokenEntry { hash: token.hash(), ..entry("a") }).unwrap();
        let text = fs::read_to_string(list.path()).unwrap();
        assert!(!text.contains("skr_") && !text.contains(&token.reveal()[4..]), "{text}");
    }

    #[test]
    fn there_is_a_most() {
        let (_dir, list) = list();
        let all: Vec<TokenEntry> = (0..COUNT_MAX).map(|number| entry(&format!("t{number}"))).collect();
        list.write(&all).unwrap();
        assert!(matches!(list.add(entry("more")), Err(AuthError::TooManyTokens { .. })));
        assert!(fs::metadata(list.path()).unwrap().len() * 2 < FILE_MAX);
        list.revoke(&"t5".parse().unwrap()).unwrap();
        list.add(entry("more")).unwrap();
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let (_dir, list) = list();
        for number in 0..8 {
            list.add(entry(&format!("old{number}"))).unwrap();
        }
        std::thread::scope(|scope| {
            for number in 0..8 {
                let list = &list;
                scope.spawn(move || list.add(entry(&format!("new{number}"))).unwrap());
                scope.spawn(move || list.revoke(&format!("old{number}").parse().unwrap()).unwrap());
            }
        });
        let mut left = names(&list);
        left.sort();
        assert_eq!(left, (0..8).map(|number| format!("new{number}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_as_it_is() {
        let (_dir, list) = list();
        list.add(entry("a")).unwrap();
        let good = fs::read_to_string(list.path()).unwrap();
        let object = good.trim().trim_start_matches('[').trim_end_matches(']');
        for bad in [
            String::new(),
            "{}".to_owned(),
            good[..good.len() - 4].to_owned(),
            format!("[{object},{object}]"),
            good.replace("\"run\"", "\"root\""),
            good.replace("\"a\"", "\"A\""),
            good.replace("\"scope\"", "\"scop\""),
            good.replace("\"hash\": \"", "\"hash\": \"0"),
            good.replace("\"created_at\": \"1970", "\"created_at\": \"x"),
            good.replace("\"name\"", "\"more\": 1, \"name\""),
        ] {
            assert_ne!(bad, good);
            fs::write(list.path(), &bad).unwrap();
            let error = list.add(entry("b")).unwrap_err();
            assert!(
                matches!(&error, AuthError::Content { problem: TokenFileProblem::Damaged(_), .. }),
                "{bad}: {error:?}"
            );
            assert_eq!(fs::read_to_string(list.path()).unwrap(), bad);
        }
    }
}
