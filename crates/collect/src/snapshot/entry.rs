//! One line of a listing, the order of paths, and when two entries of one path differ.

use std::cmp::Ordering;

use rustix::fs::{FileType, Stat};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skillrun_evidence::OsText;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    File,
    Folder,
    Symlink,
    Pipe,
    Socket,
    CharDevice,
    BlockDevice,
    /// The entry has a name, but its kind could not be determined.
    #[default]
    Unknown,
}

/// Permission bits, set-id and sticky; in JSON as octal digits, as `chmod` writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode(pub(super) u32);

/// blake3, in JSON as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash(pub(super) blake3::Hash);

/// What is known of a path. A fact that does not apply to its kind, or that could not be determined, is none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Relative to the root of the workspace.
    pub(super) path: OsText,
    pub(super) kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<Mode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mtime_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ctime_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ino: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hash: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<OsText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The offset of its text in the pack; the length is `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text_at: Option<u64>,
    /// The file is short enough for a text, but is not one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) binary: bool,
}

impl Entry {
    pub(super) fn new(path: OsText, stat: &Stat) -> Self {
        let mut entry = Self::unknown(path);
        entry.learn(stat);
        entry
    }

    pub(super) fn unknown(path: OsText) -> Self {
        Self { path, ..Self::default() }
    }

    /// Takes over the current facts of the file system.
    pub(super) fn learn(&mut self, stat: &Stat) {
        self.kind = kind(stat);
        self.mode = Some(Mode(stat.st_mode & 0o7777));
        (self.size, self.mtime_ns, self.ctime_ns, self.ino) = (None, None, None, None);
        match self.kind {
            Kind::File => {
                self.size = Some(u64::try_from(stat.st_size).unwrap_or(0));
                self.mtime_ns = Some(nanoseconds(stat.st_mtime, stat.st_mtime_nsec));
                self.ctime_ns = Some(nanoseconds(stat.st_ctime, stat.st_ctime_nsec));
                self.ino = Some(stat.st_ino);
            }
            Kind::Symlink => self.mtime_ns = Some(nanoseconds(stat.st_mtime, stat.st_mtime_nsec)),
            // Their sizes and times depend only on their content or traffic.
            Kind::Folder | Kind::Pipe | Kind::Socket | Kind::CharDevice | Kind::BlockDevice | Kind::Unknown => {}
        }
    }

    /// Whether this differs from `before`, an entry of the same path.
    pub(super) fn differs_from(&self, before: &Self) -> bool {
        // One of the two is unknown, so no change can be claimed.
        if self.kind == Kind::Unknown || before.kind == Kind::Unknown {
            return false;
        }
        if self.kind != before.kind || self.mode != before.mode {
            return true;
        }
        match self.kind {
            Kind::File => self.content_differs_from(before),
            Kind::Symlink => self.target != before.target,
            Kind::Folder | Kind::Pipe | Kind::Socket | Kind::CharDevice | Kind::BlockDevice | Kind::Unknown => false,
        }
    }

    /// Whether the content of two files differs, as far as is known.
    pub(super) fn content_differs_from(&self, before: &Self) -> bool {
        self.size != before.size
            || match (self.hash, before.hash) {
                (Some(now), Some(then)) => now != then,
                (Some(_), None) | (None, Some(_)) | (None, None) => self.mtime_ns != before.mtime_ns,
            }
    }
}

fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice => Kind::CharDevice,
        FileType::BlockDevice => Kind::BlockDevice,
        FileType::Unknown => Kind::Unknown,
    }
}

/// Since 1970, negative before. A time out of range (some file systems accept any) is clamped.
fn nanoseconds(seconds: impl TryInto<i64>, nanoseconds: impl TryInto<i64>) -> i64 {
    let seconds = seconds.try_into().unwrap_or(i64::MAX);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

/// The order of a listing: name by name, each by its bytes, so a folder comes right before its content. That is the
/// order of bytes with `/` before every other, since no name contains a NUL.
pub(super) fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    match a.iter().zip(b).position(|(a, b)| a != b) {
        Some(at) => rank(a[at]).cmp(&rank(b[at])),
        None => a.len().cmp(&b.len()),
    }
}

/// Whether `path` is in `folder`, at any depth. The root, whose path is empty, contains everything.
pub(super) fn is_below(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:04o}", self.0))
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = <&str>::deserialize(deserializer)?;
        u32::from_str_radix(digits, 8).map(Self).map_err(D::Error::custom)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_hex())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = <&str>::deserialize(deserializer)?;
        blake3::Hash::from_hex(digits).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    fn file() -> Entry {
        Entry {
            kind: Kind::File,
            mode: Some(Mode(0o644)),
            size: Some(3),
            mtime_ns: Some(10),
            ctime_ns: Some(11),
            ino: Some(12),
            hash: Some(Hash(blake3::hash(b"abc"))),
            ..Entry::unknown("a".into())
        }
    }

    #[test]
    fn a_file_is_modified_by_content_and_mode_and_not_by_time_alone() {
        let before = file();
        let changed = |change: fn(&mut Entry)| {
            let mut after = file();
            change(&mut after);
            (after.differs_from(&before), before.differs_from(&after))
        };
        assert_eq!(changed(|_| {}), (false, false));
        assert_eq!(changed(|e| e.mtime_ns = Some(99)), (false, false), "touched");
        assert_eq!(changed(|e| (e.ctime_ns, e.ino) = (Some(99), Some(99))), (false, false), "moved into place");
        assert_eq!(changed(|e| e.size = Some(4)), (true, true));
        assert_eq!(changed(|e| e.mode = Some(Mode(0o755))), (true, true));
        assert_eq!(changed(|e| e.hash = Some(Hash(blake3::hash(b"abd")))), (true, true));
        assert_eq!(changed(|e| e.kind = Kind::Pipe), (true, true));
        assert_eq!(changed(|e| e.hash = None), (false, false), "as far as can be told");
        assert_eq!(changed(|e| (e.hash, e.mtime_ns) = (None, Some(99))), (true, true));
        assert_eq!(changed(|e| (e.hash, e.size) = (None, Some(4))), (true, true));
        assert_eq!(changed(|e| e.kind = Kind::Unknown), (false, false), "nothing is known of it");
    }

    #[test]
    fn other_kinds_have_their_own_ways_to_differ() {
        let entry = |kind, target: Option<&str>, mode, mtime_ns| Entry {
            kind,
            target: target.map(Into::into),
            mode: Some(Mode(mode)),
            mtime_ns,
            ..Entry::unknown("a".into())
        };
        let link = entry(Kind::Symlink, Some("x"), 0o777, Some(1));
        assert!(link.differs_from(&entry(Kind::Symlink, Some("y"), 0o777, Some(1))));
        assert!(!link.differs_from(&entry(Kind::Symlink, Some("x"), 0o777, Some(2))), "recreated, the same");
        let folder = entry(Kind::Folder, None, 0o755, None);
        assert!(folder.differs_from(&entry(Kind::Folder, None, 0o700, None)));
        assert!(!folder.differs_from(&folder.clone()));
    }

    #[test]
    fn a_line_reads_as_documented() {
        let json = serde_json::to_string(&file()).expect("JSON");
        let hash = blake3::hash(b"abc").to_hex();
        let stamps = r#""mtime_ns":10,"ctime_ns":11,"ino":12"#;
        let line = format!(r#"{{"path":"a","kind":"file","mode":"0644","size":3,{stamps},"hash":"{hash}"}}"#);
        assert_eq!(json, line);
        assert_eq!(serde_json::from_str::<Entry>(&json).expect("the same"), file());
    }

    #[test]
    fn times_beyond_all_bounds_are_the_last_that_fit() {
        assert_eq!(nanoseconds(1_i64, 5_u64), 1_000_000_005);
        assert_eq!(nanoseconds(-1_i64, 5_u64), -999_999_995);
        assert_eq!(nanoseconds(i64::MAX, 999_999_999_u64), i64::MAX);
        assert_eq!(nanoseconds(i64::MIN, 0_u64), i64::MIN);
    }

    #[test]
    fn below_means_in_the_folder() {
        assert!(is_below(b"a/b", b"a") && is_below(b"a/b/c", b"a"));
        assert!(!is_below(b"a", b"a") && !is_below(b"ab/c", b"a") && !is_below(b"b", b"a"));
        assert!(is_below(b"a", b"") && is_below(b"a/b", b""));
    }

    proptest! {
        #[test]
        fn every_entry_survives_json(
            path in proptest::collection::vec(any::<u8>(), 0..20),
            target in proptest::option::of(proptest::collection::vec(1..255_u8, 0..20)),
            mtime_ns: Option<i64>, size: Option<u64>, error: Option<String>, binary: bool, mode in 0..0o10000_u32,
        ) {
            let text = |bytes| OsText::from(OsString::from_vec(bytes));
            let entry = Entry {
                kind: Kind::Symlink, mode: Some(Mode(mode)), size, mtime_ns, error, binary,
                target: target.map(text), ..Entry::unknown(text(path))
            };
            let json = serde_json::to_string(&entry).expect("JSON");
            prop_assert!(!json.contains('\n'), "one line each");
            prop_assert_eq!(serde_json::from_str::<Entry>(&json).expect("the same"), entry);
        }

        #[test]
        fn paths_are_ordered_name_by_name(
            a in proptest::collection::vec("[\x01-\x7f&&[^/]]{1,3}", 1..5),
            b in proptest::collection::vec("[\x01-\x7f&&[^/]]{1,3}", 1..5),
        ) {
            let bytes = |names: &[String]| names.join("/").into_bytes();
            prop_assert_eq!(path_order(&bytes(&a), &bytes(&b)), a.cmp(&b));
        }
    }
}
