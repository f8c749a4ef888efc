//! Checks whether a presented token is valid now.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use skillrun_base::sync::lock;
use skillrun_model::Timestamp;

use super::error::AuthError;
use super::private_file;
use super::scope::{Granted, Scope, Who};
use super::token::{LENGTH_MAX, TokenHash, TokenName};
use super::token_file::TokenFile;
use super::token_list::{FILE_MAX, TokenEntry, TokenList, parse};

/// Clocks of file systems advance in steps: a file that changed this shortly before it was read may have changed again
/// since and look the same.
const STEP_NANOS: u64 = 2_000_000_000;

/// The first token and all others. A change of their file is noticed at the next check, so that a revoked token is
/// refused at once.
#[derive(Debug)]
pub struct Tokens {
    first: TokenFile,
    list: TokenList,
    seen: Mutex<Option<Seen>>,
}

/// The file as it was read last.
#[derive(Debug, Clone)]
struct Seen {
    stamp: Stamp,
    /// No tokens if the file cannot be used.
    entries: Arc<[TokenEntry]>,
    /// Whether a later change certainly changes the stamp.
    settled: bool,
}

/// Changes when the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Missing,
    /// The metadata could not be read.
    Unknown,
    File {
        modified: (i64, i64),
        changed: (i64, i64),
        size: u64,
        inode: u64,
        mode: u32,
    },
}

impl From<&fs::Metadata> for Stamp {
    fn from(metadata: &fs::Metadata) -> Self {
        Self::File {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            size: metadata.size(),
            inode: metadata.ino(),
            mode: metadata.mode(),
        }
    }
}

impl Stamp {
    /// Whether a change after `now` certainly produces another stamp.
    fn is_settled(self, now: Timestamp) -> bool {
        match self {
            Self::Missing => true,
            Self::Unknown => false,
            // The change time of the inode, which no user can set to a chosen value.
            Self::File { changed: (seconds, nanos), .. } => {
                let whole = u64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000_000));
                let nanos = whole.and_then(|whole| whole.checked_add(u64::try_from(nanos).ok()?));
                nanos.is_some_and(|nanos| Timestamp::EPOCH.plus_nanos(nanos.saturating_add(STEP_NANOS)) < now)
            }
        }
    }
}

impl Tokens {
    pub fn new(first: TokenFile, data: &Path) -> Self {
        Self { first, list: TokenList::new(data), seen: Mutex::new(None) }
    }

    /// The owner and the scope of a token. Checks the metadata of one file each time, and reads the file after a
    /// change.
    ///
    /// The time this takes reveals nothing about any token: all hashes are compared, in constant time.
    pub fn check(&self, presented: &[u8], now: Timestamp) -> Option<Granted> {
        if presented.is_empty() || presented.len() > LENGTH_MAX {
            return None;
        }
        let hash = TokenHash::of(presented);
        let mut found = None;
        for entry in &*self.entries(now) {
            let is_same = entry.hash == hash;
            if is_same & !entry.is_expired(now) {
                found = Some(Granted { name: Who::Token(entry.name.clone()), scope: entry.scope });
            }
        }
        if self.first.hash() == hash {
            found = Some(Granted { name: Who::FirstToken, scope: Scope::Admin });
        }
        found
    }

    /// Whether there is still a token of this name.
    pub fn is_good(&self, name: &TokenName, now: Timestamp) -> bool {
        self.entries(now).iter().any(|entry| entry.name == *name && !entry.is_expired(now))
    }

    /// Why only the first token is valid, if that is so.
    pub fn trouble(&self) -> Option<AuthError> {
        self.list.read().err()
    }

    fn entries(&self, now: Timestamp) -> Arc<[TokenEntry]> {
        let mut seen = lock(&self.seen);
        let stamp = match fs::metadata(self.list.path()) {
            Ok(metadata) => Stamp::from(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Stamp::Missing,
            Err(_) => Stamp::Unknown,
        };
        if let Some(seen) = &*seen
            && seen.stamp == stamp
            && seen.settled
        {
            return seen.entries.clone();
        }
        let new = self.read(stamp, now);
        let entries = new.entries.clone();
        *seen = Some(new);
        entries
    }

    /// `stamp` was taken before the read, for a file that cannot be read.
    fn read(&self, stamp: Stamp, now: Timestamp) -> Seen {
        let path = self.list.path();
        let (stamp, entries) = match private_file::read(path, FILE_MAX) {
            Ok(None) => (Stamp::Missing, Vec::new()),
            // The stamp of the exact file that was read: another may have replaced it meanwhile.
            Ok(Some((bytes, metadata))) => (Stamp::from(&metadata), parse(&bytes, path).unwrap_or_default()),
            Err(_) => (stamp, Vec::new()),
        };
        Seen { stamp, entries: entries.into(), settled: stamp.is_settled(now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::almost;
    use crate::token::Token;
    use proptest::prelude::*;
    use skillrun_base::files::FileProblem;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    struct Lab {
        _dir: tempfile::TempDir,
        data: std::path::PathBuf,
        list: TokenList,
        tokens: Tokens,
    }

    const FIRST: [u8; 32] = [1; 32];

    fn lab() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().to_owned();
        let first = TokenFile::load_or_make(&TokenFile::default_path(&data), FIRST).unwrap();
        Lab { _dir: dir, list: TokenList::new(&data), tokens: Tokens::new(first, &data), data }
    }

    /// Long after every change of a file, so that the cached content is trusted as long as possible.
    fn later() -> Timestamp {
        Timestamp::try_from(SystemTime::now()).unwrap().plus_nanos(3_600_000_000_000)
    }

    impl Lab {
        fn add(&self, name: &str, scope: Scope, expires_at: Option<Timestamp>) -> Token {
            let token = Token::new(*blake3::hash(name.as_bytes()).as_bytes());
            let name = name.parse().unwrap();
            let entry = TokenEntry { name, scope, hash: token.hash(), created_at: Timestamp::EPOCH, expires_at };
            self.list.add(entry).unwrap();
            token
        }

        fn scope(&self, token: &Token) -> Option<Scope> {
            self.tokens.check(token.reveal().as_bytes(), later()).map(|granted| granted.scope)
        }
    }

    #[test]
    fn each_token_has_its_name_and_its_scope() {
        let lab = lab();
        let check = |token: &Token| lab.tokens.check(token.reveal().as_bytes(), later());
        assert_eq!(check(&Token::new(FIRST)), Some(Granted { name: Who::FirstToken, scope: Scope::Admin }));
        for (name, scope) in [("r", Scope::Read), ("w", Scope::Run), ("a", Scope::Admin)] {
            let token = lab.add(name, scope, None);
            assert_eq!(check(&token), Some(Granted { name: Who::Token(name.parse().unwrap()), scope }));
        }
        assert_eq!(check(&Token::new([9; 32])), None);
    }

    #[test]
    fn almost_a_token_is_none() {
        let lab = lab();
        let token = lab.add("a", Scope::Admin, None);
        let first = Token::new(FIRST);
        for text in [token.reveal(), first.reveal()] {
            let refused = |bytes: &[u8]| assert_eq!(lab.tokens.check(bytes, later()), None, "{bytes:?}");
            assert!(lab.tokens.check(text.as_bytes(), later()).is_some());
            almost(text).for_each(|bytes| refused(&bytes));
            refused(format!("{text}\n").as_bytes());
            refused(format!(" {text}").as_bytes());
            refused(text.repeat(100).as_bytes());
            refused(serde_json::to_string(&TokenHash::of(text.as_bytes())).unwrap().trim_matches('"').as_bytes());
        }
    }

    #[test]
    fn a_token_is_good_until_it_expires() {
        let lab = lab();
        // Without fractions of a second, which the file does not store.
        let end: Timestamp = "2100-01-01T00:00:00Z".parse().unwrap();
        let token = lab.add("a", Scope::Run, Some(end));
        let before = Timestamp::try_from(SystemTime::now()).unwrap();
        assert!(lab.tokens.check(token.reveal().as_bytes(), before).is_some());
        assert_eq!(lab.tokens.check(token.reveal().as_bytes(), end), None);
        assert_eq!(lab.tokens.check(token.reveal().as_bytes(), end.plus_nanos(1)), None);
    }

    #[test]
    fn a_token_that_was_revoked_is_refused_at_once() {
        let lab = lab();
        let (kept, revoked) = (lab.add("kept", Scope::Read, None), lab.add("revoked", Scope::Run, None));
        assert_eq!((lab.scope(&kept), lab.scope(&revoked)), (Some(Scope::Read), Some(Scope::Run)));
        lab.list.revoke(&"revoked".parse().unwrap()).unwrap();
        assert_eq!((lab.scope(&kept), lab.scope(&revoked)), (Some(Scope::Read), None));
        // A token recreated under the same name is a different token.
        lab.list.revoke(&"kept".parse().unwrap()).unwrap();
        assert_eq!(lab.scope(&kept), None);
        fs::remove_file(lab.list.path()).unwrap();
        assert_eq!((lab.scope(&kept), lab.scope(&Token::new(FIRST))), (None, Some(Scope::Admin)));
    }

    /// A file of the same size, entry and time looks the same; a file that was read right after a change is not
    /// trusted.
    #[test]
    fn a_change_within_one_step_of_the_clock_is_seen() {
        let lab = lab();
        let now = || Timestamp::try_from(SystemTime::now()).unwrap();
        let is_good = |token: &Token| lab.tokens.check(token.reveal().as_bytes(), now()).is_some();
        for round in 0..50 {
            let token = lab.add(&format!("t{round}"), Scope::Run, None);
            assert!(is_good(&token));
            let text = fs::read_to_string(lab.list.path()).unwrap();
            let hash = serde_json::to_string(&token.hash()).unwrap();
            let other = serde_json::to_string(&TokenHash::of(b"other")).unwrap();
            // In place: same entry, same size.
            fs::write(lab.list.path(), text.replace(&hash, &other)).unwrap();
            assert!(!is_good(&token), "{round}");
            lab.list.revoke(&format!("t{round}").parse().unwrap()).unwrap();
        }
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let lab = lab();
        let token = lab.add("a", Scope::Run, None);
        assert!(lab.scope(&token).is_some());
        let seen = |lab: &Lab| lab.tokens.seen.lock().unwrap().as_ref().unwrap().entries.clone();
        let before = seen(&lab);
        assert!(lab.scope(&token).is_some());
        assert!(Arc::ptr_eq(&before, &seen(&lab)));
        // Right after a change it is read again: another change may look the same.
        let soon = Timestamp::try_from(fs::metadata(lab.list.path()).unwrap().modified().unwrap()).unwrap();
        let lab = Lab { tokens: Tokens::new(lab.tokens.first.clone(), &lab.data), ..lab };
        let check = || lab.tokens.check(token.reveal().as_bytes(), soon).map(|_| seen(&lab)).unwrap();
        assert!(!Arc::ptr_eq(&check(), &check()));
    }

    #[test]
    fn a_damaged_file_leaves_the_first_token_and_is_reported() {
        let lab = lab();
        let token = lab.add("a", Scope::Admin, None);
        assert!(lab.tokens.trouble().is_none());
        let good = fs::read(lab.list.path()).unwrap();
        for bad in [&b""[..], b"[", b"{}", &good[..good.len() / 2]] {
            fs::write(lab.list.path(), bad).unwrap();
            assert_eq!((lab.scope(&token), lab.scope(&Token::new(FIRST))), (None, Some(Scope::Admin)));
            let trouble = lab.tokens.trouble().unwrap().to_string();
            assert!(trouble.contains("tokens.json: is damaged ("), "{trouble}");
        }
        fs::write(lab.list.path(), vec![b' '; FILE_MAX as usize + 1]).unwrap();
        assert_eq!(lab.scope(&token), None);
        assert!(matches!(lab.tokens.trouble(), Some(AuthError::Unusable { problem: FileProblem::TooLarge(_), .. })));
        fs::write(lab.list.path(), &good).unwrap();
        assert_eq!(lab.scope(&token), Some(Scope::Admin), "put right");
        fs::set_permissions(lab.list.path(), fs::Permissions::from_mode(0o660)).unwrap();
        assert_eq!((lab.scope(&token), lab.scope(&Token::new(FIRST))), (None, Some(Scope::Admin)));
        assert!(matches!(lab.tokens.trouble(), Some(AuthError::NotPrivate { mode: 0o660, .. })));
        fs::remove_file(lab.list.path()).unwrap();
        fs::create_dir(lab.list.path()).unwrap();
        assert_eq!((lab.scope(&token), lab.scope(&Token::new(FIRST))), (None, Some(Scope::Admin)));
        assert!(lab.tokens.trouble().is_some());
    }

    #[test]
    fn it_can_be_asked_by_many_while_tokens_come_and_go() {
        let lab = lab();
        let kept = lab.add("kept", Scope::Read, None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| assert_eq!(lab.scope(&kept), Some(Scope::Read))));
            }
            for round in 0..20 {
                let token = lab.add(&format!("t{round}"), Scope::Run, None);
                assert!(lab.scope(&token).is_some());
                lab.list.revoke(&format!("t{round}").parse().unwrap()).unwrap();
                assert!(lab.scope(&token).is_none());
            }
        });
        assert!(lab.data.join("tokens.lock").exists());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_random_is_granted(bytes in prop::collection::vec(any::<u8>(), 0..700), text in "skr_[A-Za-z0-9_-]{0,60}") {
            thread_local!(static LAB: Lab = {
                let lab = lab();
                lab.add("a", Scope::Admin, None);
                lab
            });
            LAB.with(|lab| {
                assert_eq!(lab.tokens.check(&bytes, later()), None);
                assert_eq!(lab.tokens.check(text.as_bytes(), later()), None);
            });
        }
    }
}
