//! Packages made by a library, packages made by hand to be refused, and what killed processes leave.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::error::{ArchiveErrorKind, EntryProblem};
use super::*;
use crate::testing::{Folder, photo};

const SKILL: &str = "---\nname: demo\ndescription: Does a demonstration.\n---\nDo it.\n";

/// A zip file written by hand, so that it can lie.
#[derive(Default)]
struct Handmade {
    locals: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// An entry, stored; `size` and the rest are what it says of itself.
struct Said<'a> {
    name: &'a [u8],
    local_name: Option<&'a [u8]>,
    data: &'a [u8],
    mode: u32,
    flags: u16,
    method: u16,
    size: Option<u32>,
    packed: Option<u32>,
}

impl<'a> Said<'a> {
    fn plain(name: &'a str, data: &'a str) -> Self {
        let (name, data) = (name.as_bytes(), data.as_bytes());
        Self { name, local_name: None, data, mode: 0o100_644, flags: 0, method: 0, size: None, packed: None }
    }
}

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

impl Handmade {
    fn with(mut self, said: Said<'_>) -> Self {
        let offset = u32::try_from(self.locals.len()).unwrap();
        let len = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_le_bytes();
        let local_name = said.local_name.unwrap_or(said.name);
        let data_len = u32::try_from(said.data.len()).unwrap();
        let mut common = Vec::new();
        common.extend(20u16.to_le_bytes());
        common.extend(said.flags.to_le_bytes());
        common.extend(said.method.to_le_bytes());
        common.extend([0; 4]);
        common.extend(crc(said.data).to_le_bytes());
        common.extend(said.packed.unwrap_or(data_len).to_le_bytes());
        common.extend(said.size.unwrap_or(data_len).to_le_bytes());
        self.locals.extend(b"PK\x03\x04");
        self.locals.extend(&common);
        self.locals.extend(len(local_name));
        self.locals.extend([0; 2]);
        self.locals.extend(local_name);
        self.locals.extend(said.data);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend([20, 3]);
        self.directory.extend(&common);
        self.directory.extend(len(said.name));
        self.directory.extend([0; 8]);
        self.directory.extend((said.mode << 16).to_le_bytes());
        self.directory.extend(offset.to_le_bytes());
        self.directory.extend(said.name);
        self.count += 1;
        self
    }

    fn bytes(self) -> Vec<u8> {
        let mut bytes = self.locals;
        let start = u32::try_from(bytes.len()).unwrap();
        bytes.extend(&self.directory);
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0; 4]);
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(u32::try_from(self.directory.len()).unwrap().to_le_bytes());
        bytes.extend(start.to_le_bytes());
        bytes.extend([0; 2]);
        bytes
    }
}

fn by_hand(said: Said<'_>) -> Vec<u8> {
    Handmade::default().with(Said::plain("SKILL.md", SKILL)).with(said).bytes()
}

fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        let mode = if name.ends_with(".sh") { 0o755 } else { 0o644 };
        if let Some(folder) = name.strip_suffix('/') {
            zip.add_directory(folder, SimpleFileOptions::default()).unwrap();
        } else {
            let options = SimpleFileOptions::default().unix_permissions(mode);
            zip.start_file(*name, options.compression_method(CompressionMethod::Deflated)).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

fn install_bytes(folder: &Folder, bytes: &[u8], existing: Existing) -> Result<InstalledSkill, ArchiveError> {
    let package = folder.at("package.zip");
    fs::write(&package, bytes).unwrap();
    let installed = install(&package, &folder.at("skills"), existing);
    fs::remove_file(package).unwrap();
    installed
}

fn installed_photo(bytes: &[u8]) -> Vec<(String, String)> {
    let folder = Folder::new();
    install_bytes(&folder, bytes, Existing::Refuse).unwrap();
    photo(&folder.at("skills")).into_iter().map(|(path, what)| (path.display().to_string(), what)).collect()
}

/// Refused with this text, and nothing is left behind: neither in a new folder nor next to existing files.
fn refused(bytes: &[u8], sentence: &str) -> ArchiveErrorKind {
    let empty = Folder::new();
    let error = install_bytes(&empty, bytes, Existing::Refuse).unwrap_err();
    assert!(empty.photo().is_empty(), "{sentence}: {:?}", empty.photo());
    assert!(error.to_string().contains(sentence), "{error}\n{sentence}");
    assert_eq!(error.to_string().lines().count(), 1);
    let used = Folder::skill("skills/other").with_skill("skills/demo");
    let before = used.photo();
    install_bytes(&used, bytes, Existing::Replace).unwrap_err();
    assert_eq!(used.photo(), before, "{sentence}");
    error.kind
}

#[test]
fn files_at_the_root() {
    let seen = installed_photo(&zipped(&[("SKILL.md", SKILL), ("scripts/go.sh", "x"), ("empty/", "")]));
    let expected = [
        ("demo", "folder".to_owned()),
        ("demo/SKILL.md", format!("644 {SKILL}")),
        ("demo/empty", "folder".to_owned()),
        ("demo/scripts", "folder".to_owned()),
        ("demo/scripts/go.sh", "755 x".to_owned()),
    ];
    assert_eq!(seen, expected.map(|(path, what)| (path.to_owned(), what)));
}

#[test]
fn all_in_one_folder_and_what_systems_add_is_left_out() {
    let plain = installed_photo(&zipped(&[("SKILL.md", SKILL), ("a", "x")]));
    let packed = zipped(&[
        ("demo-main/", ""),
        ("demo-main/SKILL.md", SKILL),
        ("demo-main/a", "x"),
        ("demo-main/.DS_Store", "x"),
        ("demo-main/.git/config", "[core]\nfsmonitor = evil\n"),
        ("__MACOSX/demo-main/._a", "x"),
    ]);
    assert_eq!(installed_photo(&packed), plain);
}

#[test]
fn the_name_comes_from_the_front_matter_or_else_from_the_folder() {
    let folder = Folder::new();
    let installed = install_bytes(&folder, &zipped(&[("x-main/SKILL.md", SKILL)]), Existing::Refuse).unwrap();
    assert_eq!((installed.skill.name.as_str(), installed.skill.findings.len()), ("demo", 0));
    let nameless = install_bytes(&folder, &zipped(&[("top/SKILL.md", "Do it.")]), Existing::Refuse).unwrap();
    assert_eq!(nameless.skill.root, folder.at("skills/top"));
    assert!(matches!(refused(&zipped(&[("SKILL.md", "Do it.")]), "no usable name"), ArchiveErrorKind::NoName));
    assert!(matches!(refused(&zipped(&[("Top X/SKILL.md", "Do it.")]), "no usable name"), ArchiveErrorKind::NoName));
}

/// Packages that are written to a pipe have their sizes behind the data.
#[test]
fn a_streamed_package() {
    let mut zip = ZipWriter::new_stream(Vec::new());
    zip.start_file("SKILL.md", SimpleFileOptions::default()).unwrap();
    zip.write_all(SKILL.as_bytes()).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    assert_eq!(installed_photo(&bytes)[1].1, format!("644 {SKILL}"));
}

#[test]
fn the_handmade_one_is_a_good_package_when_it_does_not_lie() {
    let seen = installed_photo(&by_hand(Said { mode: 0o104_755, ..Said::plain("run", "x") }));
    assert_eq!(seen[2], ("demo/run".to_owned(), "755 x".to_owned()), "and only the executable bit is kept");
}

#[test]
fn entries_that_are_refused() {
    use EntryProblem::*;
    let long = "x".repeat(256);
    let deep = format!("{}x", "d/".repeat(64));
    let cases: Vec<(Said<'_>, EntryProblem, &str)> = vec![
        (Said::plain("../x", "x"), Parent, "the entry \"../x\" has \"..\" in its path"),
        (Said::plain("a/../../x", "x"), Parent, "has \"..\""),
        (Said::plain("a/..", "x"), Parent, "has \"..\""),
        (Said::plain("/etc/x", "x"), Absolute, "has an absolute path"),
        (Said::plain("C:/x", "x"), Drive, "has a drive letter"),
        (Said::plain("C:x", "x"), Drive, "has a drive letter"),
        (Said::plain("a\\..\\x", "x"), Backslash, "has a backslash"),
        (Said::plain("a\nb", "x"), Control, "the entry \"a\\nb\" has a control character"),
        (Said::plain("a\0b", "x"), Control, "has a control character"),
        (Said::plain("a//b", "x"), EmptyPart, "has an empty part"),
        (Said::plain("./b", "x"), EmptyPart, "has an empty part"),
        (Said::plain("", "x"), EmptyPart, "has an empty part"),
        (Said::plain(&long, "x"), TooLong, "too long or too deep"),
        (Said::plain(&deep, "x"), TooLong, "too long or too deep"),
        (Said { name: b"\xff\xfe", ..Said::plain("", "x") }, NotUtf8, "has a name that is not UTF-8"),
        (Said { mode: 0o120_777, ..Said::plain("l", "/etc/passwd") }, Link, "the entry \"l\" is a link"),
        (Said { mode: 0o010_644, ..Said::plain("p", "") }, Special, "is neither a file nor a folder"),
        (Said { mode: 0o060_644, ..Said::plain("b", "") }, Special, "is neither a file nor a folder"),
        (Said { mode: 0o040_755, ..Said::plain("d", "") }, Special, "is neither a file nor a folder"),
        (Said::plain("SKILL.md/x", "x"), FileAndFolder, "is a file and a folder at once"),
        (Said { mode: 0o040_755, ..Said::plain("SKILL.md/", "") }, FileAndFolder, "is a file and a folder at once"),
        (Said { flags: 1, ..Said::plain("e", "x") }, Encrypted, "is encrypted"),
        (Said { method: 12, ..Said::plain("m", "x") }, Method, "is packed with a method that is not supported"),
        (Said { method: 99, ..Said::plain("m", "x") }, Method, "is packed with a method that is not supported"),
        (Said { size: Some(64 * 1024 * 1024 + 1), ..Said::plain("b", "x") }, TooLarge, "is larger than 67108864 bytes"),
        (Said { size: Some(60_000_000), ..Said::plain("b", "x") }, Ratio, "unpacks to more than 200 times its size"),
    ];
    for (said, problem, sentence) in cases {
        let kind = refused(&by_hand(said), sentence);
        let ArchiveErrorKind::Entry { problem: told, .. } = kind else { panic!("{kind} for {sentence}") };
        assert_eq!(told, problem);
    }
}

#[test]
fn the_same_name_twice() {
    let twice = by_hand(Said::plain("SKILL.md", "another"));
    assert!(matches!(refused(&twice, "has two entries of the same name"), ArchiveErrorKind::SameName));
}

#[test]
fn two_heads_that_disagree() {
    let cloaked = by_hand(Said { local_name: Some(b"other"), ..Said::plain("shown", "x") });
    refused(&cloaked, "the entry \"shown\" is damaged");
}

#[test]
fn content_that_is_not_what_it_says() {
    let mut flipped = by_hand(Said::plain("a", "aaaa"));
    let at = flipped.windows(4).position(|w| w == b"aaaa").unwrap();
    flipped[at] = b'b';
    refused(&flipped, "the entry \"a\" is damaged");

    // Deflated, and larger than both heads say.
    let mut lies = zipped(&[("SKILL.md", SKILL), ("b", &"x".repeat(5000))]);
    for at in 0..lies.len() - 4 {
        if lies[at..at + 4] == 5000u32.to_le_bytes() {
            lies[at..at + 4].copy_from_slice(&100u32.to_le_bytes());
        }
    }
    refused(&lies, "the entry \"b\" is damaged");
}

#[test]
fn bombs() {
    let zeros = "0".repeat(8 * 1024 * 1024);
    refused(&zipped(&[("SKILL.md", SKILL), ("zeros", &zeros)]), "as bombs do");

    // Each entry is harmless, together they are not.
    let mib = 50 * 1024 * 1024;
    let many = (0..6).fold(Handmade::default().with(Said::plain("SKILL.md", SKILL)), |zip, n| {
        zip.with(Said { size: Some(mib), packed: Some(mib), ..Said::plain(&format!("f{n}"), "x") })
    });
    assert!(matches!(refused(&many.bytes(), "unpacks to more than 268435456 bytes"), ArchiveErrorKind::TooLarge));

    let over = by_hand(Said { size: Some(1_000_000), packed: Some(1_000_000), ..Said::plain("f", "x") });
    assert!(matches!(refused(&over, "overlap"), ArchiveErrorKind::Overlap));
}

#[test]
fn too_many_entries() {
    let many = |count: usize| {
        (0..count).fold(Handmade::default().with(Said::plain("SKILL.md", SKILL)), |zip, n| {
            zip.with(Said::plain(&format!("d/{n}"), ""))
        })
    };
    let kind = refused(&many(10_000).bytes(), "has more than 10000 files and folders");
    assert!(matches!(kind, ArchiveErrorKind::TooManyEntries));
    let folder = Folder::new();
    // With SKILL.md and the folder `d`, just as many as there may be.
    let installed = install_bytes(&folder, &many(9_998).bytes(), Existing::Refuse).unwrap();
    assert!(crate::copy::check_copyable(&installed.skill.root).is_ok());

    let unnamed = (0..200).fold(Handmade::default().with(Said::plain("SKILL.md", SKILL)), |zip, n| {
        zip.with(Said::plain(&format!("{n}/{}x", "d/".repeat(60)), ""))
    });
    assert!(matches!(refused(&unnamed.bytes(), "has more than 10000"), ArchiveErrorKind::TooManyEntries));

    let mut zip64 = by_hand(Said::plain("a", "x"));
    let end = zip64.windows(4).rposition(|w| w == b"PK\x05\x06").unwrap();
    let mut locator = b"PK\x06\x07".to_vec();
    locator.resize(20, 0);
    zip64.splice(end..end, locator);
    assert!(matches!(refused(&zip64, "is a zip64 file"), ArchiveErrorKind::Zip64));
}

#[test]
fn layouts_that_hold_no_skill_or_several() {
    for files in [
        &[("a/SKILL.md", SKILL), ("b/SKILL.md", SKILL)][..],
        &[("a/SKILL.md", SKILL), ("README.md", "x")],
        &[("a/b/SKILL.md", SKILL)],
        &[("README.md", "x")],
        &[("skill.md", SKILL)],
        &[],
    ] {
        let kind = refused(&zipped(files), "has no SKILL.md at its root or in its only folder");
        assert!(matches!(kind, ArchiveErrorKind::Layout), "{files:?}");
    }
}

#[test]
fn what_is_no_package() {
    for bytes in [&b""[..], b"PK", b"not a zip file at all", &by_hand(Said::plain("a", "x"))[..200]] {
        refused(bytes, "is not a zip file that can be read");
    }
    let folder = Folder::new();
    let none = install(&folder.at("none.zip"), &folder.at("skills"), Existing::Refuse).unwrap_err();
    assert!(matches!(none.kind, ArchiveErrorKind::Io(_)), "{none}");
    let of_a_folder = install(folder.path(), &folder.at("skills"), Existing::Refuse).unwrap_err();
    assert!(matches!(of_a_folder.kind, ArchiveErrorKind::NotZip(_)), "{of_a_folder}");
    assert!(folder.photo().is_empty());
}

#[test]
fn a_skill_that_cannot_be_read() {
    let broken = zipped(&[("SKILL.md", SKILL), ("assets/runner.json", "{")]);
    refused(&broken, "contains no usable skill: assets/runner.json: is not usable: it is not JSON");
}

#[test]
fn what_is_there_is_replaced_only_when_asked_for() {
    let folder = Folder::new();
    let package = |text: &str| zipped(&[("SKILL.md", SKILL), ("a", text)]);
    assert!(!install_bytes(&folder, &package("1"), Existing::Replace).unwrap().replaced);
    let before = folder.photo();
    let error = install_bytes(&folder, &package("2"), Existing::Refuse).unwrap_err();
    assert!(error.to_string().ends_with("the skill \"demo\" already exists"), "{error}");
    assert_eq!(folder.photo(), before);
    assert!(install_bytes(&folder, &package("2"), Existing::Replace).unwrap().replaced);
    assert_eq!(fs::read_to_string(folder.at("skills/demo/a")).unwrap(), "2");
    assert_eq!(folder.photo().len(), before.len(), "the one before is gone");
}

#[test]
fn a_link_in_the_place_is_not_replaced() {
    let folder = Folder::skill("mine/demo").with_link("skills/demo", "../mine/demo");
    let before = folder.photo();
    let error = install_bytes(&folder, &zipped(&[("SKILL.md", SKILL)]), Existing::Replace).unwrap_err();
    assert!(matches!(error.kind, ArchiveErrorKind::InTheWay(_)), "{error}");
    let error = remove("demo", &folder.at("skills")).unwrap_err();
    assert!(matches!(error.kind, ArchiveErrorKind::IsLink(_)), "{error}");
    assert_eq!(folder.photo(), before);
}

fn names(folder: &Path) -> Vec<String> {
    installed(folder).into_iter().map(|found| found.name).collect()
}

#[test]
fn list_and_remove() {
    let folder = Folder::skill("skills/a").with_skill("skills/b").with("skills/c/README.md", "no skill");
    let skills = folder.at("skills");
    assert_eq!(names(&skills), ["a", "b"]);
    assert_eq!(remove("a", &skills).unwrap(), folder.at("skills/a"));
    assert_eq!(names(&skills), ["b"]);
    assert!(folder.at("skills/c/README.md").exists());
    for name in ["a", "c", "..", "", "/", "b/../b"] {
        let error = remove(name, &skills).unwrap_err();
        assert!(matches!(error.kind, ArchiveErrorKind::NotInstalled(_)), "{name}: {error}");
    }
    assert!(matches!(remove("b", &folder.at("none")).unwrap_err().kind, ArchiveErrorKind::NotInstalled(_)));
    assert_eq!(names(&skills), ["b"]);
}

/// The leftovers of a process that is killed while it unpacks, while it removes, and between the two renames of a
/// replacement: hidden from every list, and cleaned up by the next process.
#[test]
fn after_a_kill() {
    let leftovers = || {
        Folder::skill("skills/.skillrun-new")
            .with_skill("skills/.skillrun-gone")
            .with_skill("skills/.skillrun-old-lost")
            .with_skill("skills/.skillrun-old-kept")
            .with_skill("skills/kept")
            .with("skills/kept/new", "")
    };
    let folder = leftovers();
    assert_eq!(names(&folder.at("skills")), ["kept"]);
    install_bytes(&folder, &zipped(&[("SKILL.md", SKILL)]), Existing::Refuse).unwrap();
    let top = |folder: &Folder| -> Vec<PathBuf> {
        let mut names: Vec<_> =
            fs::read_dir(folder.at("skills")).unwrap().map(|e| e.unwrap().file_name().into()).collect();
        names.sort();
        names
    };
    assert_eq!(top(&folder), ["demo", "kept", "lost"].map(PathBuf::from));
    assert!(folder.at("skills/kept/new").exists(), "the new one stays");

    let folder = leftovers();
    remove("kept", &folder.at("skills")).unwrap();
    assert_eq!(top(&folder), ["lost"].map(PathBuf::from));
}

#[test]
fn a_folder_is_copied_whole_and_without_its_repository() {
    let folder = Folder::skill("src/demo")
        .with("src/demo/scripts/go.sh", "#!/bin/sh\n")
        .with_mode("src/demo/scripts/go.sh", 0o755)
        .with("src/demo/.git/hooks/post-checkout", "x");
    let before = photo(&folder.at("src"));
    let installed = install_folder(&folder.at("src/demo"), &folder.at("skills"), Existing::Refuse).unwrap();
    assert_eq!((installed.skill.root, installed.replaced), (folder.at("skills/demo"), false));
    let mut expected = photo(&folder.at("src/demo"));
    expected.retain(|path, _| !path.starts_with(".git"));
    assert_eq!(photo(&folder.at("skills/demo")), expected);
    assert_eq!(photo(&folder.at("src")), before);
    let again = install_folder(&folder.at("src/demo"), &folder.at("skills"), Existing::Refuse).unwrap_err();
    assert!(matches!(again.kind, ArchiveErrorKind::Exists(_)), "{again}");
    assert!(install_folder(&folder.at("src/demo"), &folder.at("skills"), Existing::Replace).unwrap().replaced);
}

#[test]
fn a_folder_that_cannot_be_copied_leaves_nothing() {
    let cases = [
        (Folder::new(), "src/demo: contains no usable skill: there is no such folder"),
        (Folder::new().with("src/demo/x", ""), "contains no usable skill: is not a skill: it has no SKILL.md"),
        (
            Folder::skill("src/demo").with_link("src/demo/l", "/etc/passwd"),
            "is a link to /etc/passwd, which is outside",
        ),
        (Folder::new().with("src/Demo No/SKILL.md", "x"), "gives the skill no usable name"),
    ];
    for (folder, expected) in cases {
        let source = if folder.at("src/Demo No").exists() { "src/Demo No" } else { "src/demo" };
        let error = install_folder(&folder.at(source), &folder.at("skills"), Existing::Refuse).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
        assert!(!folder.at("skills").exists(), "{expected}");
    }
}
