//! One-time links: a code that a browser exchanges for its own token, once, within ten minutes.
//!
//! Each is a file, `links/<blake3 of the code, hex>`, that holds the second of Unix time at which it expires. So a
//! command creates one without a connection to the server, and the process that removes the file has used the link.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_model::Timestamp;

use super::error::AuthError;
use super::private_file::{self, FOLDER_MODE};
use super::sessions::unix_seconds;

pub const LIFETIME_SECONDS: u64 = 10 * 60;
/// Maximum number of unused links. More files than this are not examined either.
pub const COUNT_MAX: usize = 1_000;
const RANDOM_LENGTH: usize = 24;
/// Length of 24 bytes in base64.
const CODE_LENGTH: usize = 32;
/// Maximum length of a number of seconds.
const FILE_MAX: u64 = 32;

fn folder(data: &Path) -> PathBuf {
    data.join("links")
}

fn file_of(folder: &Path, code: &str) -> PathBuf {
    folder.join(blake3::hash(code.as_bytes()).to_hex().as_str())
}

/// Creates a link and returns its code. Removes expired links.
pub fn make(data: &Path, now: Timestamp, random: [u8; RANDOM_LENGTH]) -> Result<String, AuthError> {
    let folder = folder(data);
    private_file::make_folder(&folder)?;
    check_folder(&folder)?;
    if sweep(&folder, now)? >= COUNT_MAX {
        return Err(AuthError::TooManyLinks { limit: COUNT_MAX });
    }
    let code = URL_SAFE_NO_PAD.encode(random);
    let path = file_of(&folder, &code);
    let end = unix_seconds(now).saturating_add(LIFETIME_SECONDS);
    // Not synced to the disk: after a power failure the user requests another.
    whole_file::replace_with(&path, end.to_string().as_bytes(), SyncLevel::Nothing)
        .map_err(AuthError::file(path, "written"))?;
    Ok(code)
}

/// Uses a link up. True for one caller of many, and only for a code that was made less than ten minutes ago.
pub fn take(data: &Path, code: &str, now: Timestamp) -> bool {
    let folder = folder(data);
    if !is_code(code) || check_folder(&folder).is_err() {
        return false;
    }
    let path = file_of(&folder, code);
    let state = state(&path, now);
    // The process that removes the file has used the link: the kernel lets only one succeed.
    match state {
        State::Good => fs::remove_file(&path).is_ok(),
        State::Over => {
            // Another process may have removed it, which is fine.
            let _ = fs::remove_file(&path);
            false
        }
        State::Missing => false,
    }
}

fn is_code(code: &str) -> bool {
    code.len() == CODE_LENGTH && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// A user who can write to the folder could create links.
fn check_folder(folder: &Path) -> Result<(), AuthError> {
    let metadata = fs::symlink_metadata(folder).map_err(AuthError::file(folder, "read"))?;
    if !metadata.is_dir() {
        return Err(AuthError::file(folder, "read")(io::ErrorKind::NotADirectory.into()));
    }
    private_file::check_mode(&metadata, folder, FOLDER_MODE)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Expired, or not written by skillrun.
    Over,
    Missing,
}

fn state(path: &Path, now: Timestamp) -> State {
    let bytes = match private_file::read(path, FILE_MAX) {
        Ok(Some((bytes, _))) => bytes,
        Ok(None) => return State::Missing,
        Err(_) => return State::Over,
    };
    let (now, end) = (unix_seconds(now), std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<u64>().ok()));
    // A link that lasts longer than any that skillrun creates was written by another program, or before the clock was
    // set back.
    let is_good = end.is_some_and(|end| now < end && end - now <= LIFETIME_SECONDS);
    if is_good { State::Good } else { State::Over }
}

/// Removes expired links, and returns how many are left or were not examined.
fn sweep(folder: &Path, now: Timestamp) -> Result<usize, AuthError> {
    let entries = fs::read_dir(folder).map_err(AuthError::file(folder, "read"))?;
    let mut left = 0;
    for entry in entries.flatten().take(COUNT_MAX) {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| blake3::Hash::from_hex(name).is_ok());
        let is_over = is_ours && state(&entry.path(), now) == State::Over;
        // A link that cannot be removed stays and is counted.
        if !(is_over && fs::remove_file(entry.path()).is_ok()) {
            left += 1;
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, now};
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;

    fn data() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        (dir, data)
    }

    fn count(data: &Path) -> usize {
        fs::read_dir(folder(data)).unwrap().count()
    }

    #[test]
    fn a_link_is_good_once() {
        let (_dir, data) = data();
        assert!(!take(&data, &"A".repeat(32), now()), "no folder yet");
        let code = make(&data, now(), [7; 24]).unwrap();
        assert_eq!(code, "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = file_of(&folder(&data), &code);
        assert_eq!((mode(&folder(&data)), mode(&file)), (0o700, 0o600));
        assert!(!file.to_string_lossy().contains(&code));
        assert!(take(&data, &code, now()));
        assert!(!take(&data, &code, now()));
        assert_eq!(count(&data), 0);
    }

    #[test]
    fn a_link_is_good_for_ten_minutes() {
        let (_dir, data) = data();
        let [first, second] = [1, 2].map(|byte| make(&data, now(), [byte; 24]).unwrap());
        assert!(take(&data, &first, after(LIFETIME_SECONDS - 1)));
        assert!(!take(&data, &second, after(LIFETIME_SECONDS)));
        assert_eq!(count(&data), 0, "one that is over is cleared away");
        assert!(!take(&data, &second, now()), "and never good again");
    }

    #[test]
    fn one_of_many_wins() {
        let (_dir, data) = data();
        for round in 0..50 {
            let code = make(&data, now(), [round; 24]).unwrap();
            let start = Barrier::new(8);
            let winners: usize = std::thread::scope(|scope| {
                let taker = |_| {
                    scope.spawn(|| {
                        start.wait();
                        usize::from(take(&data, &code, now()))
                    })
                };
                let takers: Vec<_> = (0..8).map(taker).collect();
                takers.into_iter().map(|taker| taker.join().unwrap()).sum()
            });
            assert_eq!(winners, 1);
        }
    }

    #[test]
    fn garbage_is_refused() {
        let (_dir, data) = data();
        let code = make(&data, now(), [7; 24]).unwrap();
        let file = file_of(&folder(&data), &code);
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let garbage = [
            String::new(),
            name,
            code[..31].to_owned(),
            format!("{code}A"),
            format!("{code}\0"),
            format!(" {}", &code[1..]),
            format!("../{}", &code[3..]),
            "/".repeat(32),
            "ü".repeat(16),
            code.repeat(100_000),
            code.to_lowercase(),
        ];
        for code in garbage {
            assert!(!take(&data, &code, now()), "{code:.40}");
        }
        assert!(take(&data, &code, now()));
    }

    #[test]
    fn what_we_did_not_write_is_refused_and_removed() {
        let (_dir, data) = data();
        for content in ["", "x", "-1", "99999999999999999999999999", "9769915045", "1767323645 ", &"1".repeat(1_000)] {
            let code = make(&data, now(), [7; 24]).unwrap();
            let file = file_of(&folder(&data), &code);
            fs::write(&file, content).unwrap();
            assert!(!take(&data, &code, now()), "{content}");
            assert!(!file.exists());
        }
        let code = make(&data, now(), [7; 24]).unwrap();
        let file = file_of(&folder(&data), &code);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!take(&data, &code, now()));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let (_dir, data) = data();
        let code = make(&data, now(), [7; 24]).unwrap();
        fs::set_permissions(folder(&data), fs::Permissions::from_mode(0o770)).unwrap();
        assert!(!take(&data, &code, now()));
        assert!(matches!(make(&data, now(), [8; 24]), Err(AuthError::NotPrivate { mode: 0o770, .. })));
        let elsewhere = data.join("elsewhere");
        fs::set_permissions(folder(&data), fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(folder(&data), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder(&data)).unwrap();
        assert!(!take(&data, &code, now()), "a link to a folder");
    }

    #[test]
    fn making_a_link_removes_expired_ones_up_to_a_limit() {
        let (_dir, data) = data();
        make(&data, now(), [0; 24]).unwrap();
        let end = unix_seconds(now()) + LIFETIME_SECONDS;
        for number in 2..COUNT_MAX {
            let path = file_of(&folder(&data), &number.to_string());
            whole_file::replace_with(&path, end.to_string().as_bytes(), SyncLevel::Nothing).unwrap();
        }
        make(&data, now(), [1; 24]).unwrap();
        assert_eq!(count(&data), COUNT_MAX);
        assert!(matches!(make(&data, now(), [9; 24]), Err(AuthError::TooManyLinks { .. })));
        let foreign = folder(&data).join("readme");
        fs::write(&foreign, "not ours").unwrap();
        make(&data, after(LIFETIME_SECONDS), [9; 24]).unwrap();
        make(&data, after(LIFETIME_SECONDS), [8; 24]).unwrap();
        assert_eq!(count(&data), 3);
        assert!(foreign.exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_random_is_granted(text in "\\PC{0,80}", code in "[A-Za-z0-9_-]{32}") {
            thread_local!(static DATA: (tempfile::TempDir, PathBuf) = {
                let (dir, data) = data();
                make(&data, now(), [7; 24]).unwrap();
                (dir, data)
            });
            DATA.with(|(_, data)| {
                assert!(!take(data, &text, now()));
                assert!(!take(data, &code, now()));
            });
        }
    }
}
