//! Packages: zip files that lie about their entries, and zip files with changed bytes.
//!
//! Laws: taken whole or refused in one sentence; nothing is written outside the folder of the skill; a refused one leaves
//! nothing; what is written stays in proportion to the package.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use skillrun_skill::archive::install;
use skillrun_skill::{Existing, validate};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::tree::{self, Photo, Thing, assert_sentence};
use crate::words::{self, list};

const SKILL: &str = "---\nname: demo\ndescription: Does a demonstration.\n---\nDo it.\n";

/// An entry of a package and what it says of itself.
#[derive(Debug, Clone)]
struct Entry {
    name: Vec<u8>,
    local_name: Option<Vec<u8>>,
    data: Vec<u8>,
    mode: u32,
    flags: u16,
    method: u16,
    size: Option<u32>,
    packed: Option<u32>,
    crc: Option<u32>,
    offset: Option<u32>,
    extra: Vec<u8>,
}

fn names() -> impl Strategy<Value = Vec<u8>> {
    let parts = "SKILL.md assets runner.json .. . a b.sh C: con .git __MACOSX \\ x\0y é ~ .installing demo \
        assets/runner.json a\u{202e}b";
    let part = select(list(parts).into_iter().chain([""]).collect::<Vec<_>>());
    let long = prop_oneof![40 => Just(None), 1 => (200..1200usize).prop_map(Some)];
    (any::<bool>(), vec(part, 1..5), any::<bool>(), long).prop_map(|(absolute, parts, folder, long)| {
        let long = long.map_or_else(String::new, |length| "n".repeat(length));
        let first = if absolute && parts.len() > 3 { "/" } else { "" };
        let last = if folder && parts.len() > 2 { "/" } else { "" };
        format!("{first}{}{long}{last}", parts.join("/")).into_bytes()
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let lie = || prop_oneof![12 => Just(None), 1 => any::<u32>().prop_map(Some), 1 => (0..64u32).prop_map(Some)];
    let mode = select(vec![0o100_644, 0o100_644, 0o100_755, 0o120_777, 0o040_755, 0o010_644, 0, 0o060_644, 0o104_755]);
    let name = prop_oneof![8 => names(), 1 => vec(any::<u8>(), 0..12)];
    (
        (name, proptest::option::weighted(0.1, names()), vec(any::<u8>(), 0..40), mode),
        (
            prop_oneof![9 => Just(0u16), 1 => any::<u16>()],
            prop_oneof![9 => Just(0u16), 1 => select(vec![8u16, 9, 12, 93, 99])],
        ),
        (lie(), lie(), lie(), lie(), prop_oneof![6 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..20)]),
    )
        .prop_map(|((name, local_name, data, mode), (flags, method), (size, packed, crc, offset, extra))| Entry {
            name,
            local_name,
            data,
            mode,
            flags,
            method,
            size,
            packed,
            crc,
            offset,
            extra,
        })
}

fn crc(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

fn short(length: usize) -> [u8; 2] {
    (length as u16).to_le_bytes()
}

/// A zip file of these entries, as they say it.
fn packed(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let length = entry.data.len() as u32;
        let offset = entry.offset.unwrap_or(bytes.len() as u32);
        let mut common = [short(20), entry.flags.to_le_bytes(), entry.method.to_le_bytes(), [0; 2], [0; 2]].concat();
        for number in [
            entry.crc.unwrap_or_else(|| crc(&entry.data)),
            entry.packed.unwrap_or(length),
            entry.size.unwrap_or(length),
        ] {
            common.extend(number.to_le_bytes());
        }
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes
            .extend([&b"PK\x03\x04"[..], &common, &short(local_name.len()), &[0; 2], local_name, &entry.data].concat());
        let sizes = [short(entry.name.len()), short(entry.extra.len()), [0; 2], [0; 2], [0; 2]].concat();
        let place = [(entry.mode << 16).to_le_bytes(), offset.to_le_bytes()].concat();
        directory.extend([&b"PK\x01\x02\x14\x03"[..], &common, &sizes, &place, &entry.name, &entry.extra].concat());
    }
    let start = (bytes.len() as u32).to_le_bytes();
    let count = short(entries.len());
    let length = (directory.len() as u32).to_le_bytes();
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &length, &start, &[0; 2]].concat());
    bytes
}

fn skill_entry() -> Entry {
    let (name, data) = (b"SKILL.md".to_vec(), SKILL.as_bytes().to_vec());
    let extra = Vec::new();
    let (local_name, size, packed, crc, offset) = (None, None, None, None, None);
    Entry { name, local_name, data, mode: 0o100_644, flags: 0, method: 0, size, packed, crc, offset, extra }
}

/// A skill and some entries, most of which should not be there.
fn lying() -> impl Strategy<Value = Bytes> {
    (any::<bool>(), vec(entry(), 0..6), 0..4usize).prop_map(|(has_skill, mut entries, twice)| {
        if has_skill || twice > 0 {
            entries.insert(0, skill_entry());
        }
        if twice == 3
            && let Some(entry) = entries.last().cloned()
        {
            entries.push(entry);
        }
        Bytes(packed(&entries))
    })
}

/// Good packages, and a bomb.
fn good() -> Vec<Vec<u8>> {
    let made = |files: &[(&str, Vec<u8>)]| {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            zip.start_file(*name, options.unix_permissions(0o644)).expect("an entry");
            zip.write_all(bytes).expect("written");
        }
        zip.finish().expect("a zip file").into_inner()
    };
    let skill = || SKILL.as_bytes().to_vec();
    let runner = b"{\"schemas\":{\"output\":\"assets/o.json\"}}".to_vec();
    vec![
        made(&[("SKILL.md", skill()), ("assets/runner.json", runner.clone()), ("assets/o.json", b"{}".to_vec())]),
        made(&[("demo/SKILL.md", skill()), ("demo/assets/runner.json", runner), ("demo/a/b/c.txt", vec![b'x'; 4000])]),
        made(&[("SKILL.md", skill()), ("bomb", vec![0; 12 << 20])]),
        packed(&[skill_entry()]),
    ]
}

fn packages() -> impl Strategy<Value = Bytes> {
    let material = Material::new(good(), words::ZIP);
    let changed = {
        let material = material.clone();
        (lying(), mutate::changes()).prop_map(move |(mut bytes, changes)| {
            mutate::apply(&mut bytes.0, &changes, &material);
            bytes
        })
    };
    prop_oneof![4 => lying(), 2 => changed, 4 => mutate::mutated(&material), 1 => mutate::bytes(&material)]
}

fn check(package: &Bytes) {
    let root = tempfile::tempdir().expect("a folder");
    let at = |name: &str| root.path().join(name);
    fs::create_dir_all(at("skills/other")).expect("a folder");
    fs::write(at("skills/other/SKILL.md"), SKILL.replace("demo", "other")).expect("written");
    fs::write(at("package.zip"), &package.0).expect("written");
    for existing in [Existing::Refuse, Existing::Replace] {
        let before = tree::photo(root.path());
        match install(&at("package.zip"), &at("skills"), existing) {
            Err(error) => {
                assert_sentence(&error.to_string());
                assert!(tree::photo(root.path()) == before, "something is left, or changed");
            }
            Ok(installed) => {
                let place = installed.skill.root.strip_prefix(root.path()).unwrap_or(&installed.skill.root);
                assert_eq!(place.parent(), Some(Path::new("skills")), "{}", place.display());
                assert_written(&before, root.path(), place, package.0.len() as u64);
                for finding in validate::validate(&installed.skill.root).findings {
                    assert_sentence(&finding.message);
                }
            }
        }
    }
}

/// Nothing but the skill was written, no link among it, and no more than the package can hold.
fn assert_written(before: &Photo, root: &Path, place: &Path, package: u64) {
    let (new, after): (Photo, Photo) = tree::photo(root).into_iter().partition(|(path, _)| path.starts_with(place));
    let kept: Photo = before.clone().into_iter().filter(|(path, _)| !path.starts_with(place)).collect();
    assert!(kept == after, "something beside the skill is there, gone or changed");
    let is_plain = |thing: &Thing| matches!(thing, Thing::Folder | Thing::File(_));
    assert!(new.values().all(is_plain), "a link or worse: {:?}", new.keys());
    // A large entry may be two hundred times what is packed, a small one is let pass.
    let most = 200 * package + new.len() as u64 * (1 << 20);
    assert!(tree::size(&new) <= most, "{} bytes of a package of {package}", tree::size(&new));
}

#[test]
fn zips() {
    fuzz("zips", packages(), check);
}

/// The check itself: a file beside the skill is seen.
#[test]
#[should_panic(expected = "something beside the skill")]
fn a_file_that_got_out_is_seen() {
    let root = tempfile::tempdir().expect("a folder");
    let before = tree::photo(root.path());
    fs::create_dir_all(root.path().join("skills/demo")).expect("a folder");
    fs::write(root.path().join("out"), "x").expect("written");
    assert_written(&before, root.path(), Path::new("skills/demo"), 100);
}
