//! The index of a repository: which files git tracks. Versions 2 to 4, with hashes of 20 or 32 bytes.

use std::collections::BTreeSet;

/// The fixed fields of an entry before its hash: times, numbers, mode, size.
const STAT: usize = 40;
/// The entry has a second field of flags.
const EXTENDED: u16 = 0x4000;
/// The bits of a name's length; a longer name has all of them.
const NAME: u16 = 0x0fff;

/// The paths in an index, or why it cannot be used.
pub(super) fn paths(bytes: &[u8], hash: usize) -> Result<BTreeSet<Vec<u8>>, &'static str> {
    let damaged = "its index is damaged";
    let number = |at: usize| -> Option<u32> { Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
    if bytes.get(..4) != Some(b"DIRC") {
        return Err(damaged);
    }
    let version = number(4).ok_or(damaged)?;
    if !(2..=4).contains(&version) {
        return Err("its index has a version that is not known");
    }
    let count = number(8).ok_or(damaged)?;
    // The content ends with a hash of it.
    let end = bytes.len().checked_sub(hash).ok_or(damaged)?;
    let (mut at, mut paths, mut name) = (12, BTreeSet::new(), Vec::new());
    for _ in 0..count {
        let begin = at;
        let flags_at = at + STAT + hash;
        let flags = bytes.get(flags_at..flags_at + 2).ok_or(damaged)?;
        let flags = u16::from_be_bytes([flags[0], flags[1]]);
        at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
        if version == 4 {
            let kept = name.len().checked_sub(removed(bytes, &mut at).ok_or(damaged)?).ok_or(damaged)?;
            name.truncate(kept);
        } else {
            name.clear();
        }
        let rest = bytes.get(at..end).ok_or(damaged)?;
        let known = usize::from(flags & NAME);
        let length = match version < 4 && known < usize::from(NAME) {
            true => known,
            false => rest.iter().position(|byte| *byte == 0).ok_or(damaged)?,
        };
        name.extend_from_slice(rest.get(..length).ok_or(damaged)?);
        at += length;
        // The name ends with at least one zero, and up to version 3 with as many as make the length a multiple of 8.
        at = if version == 4 { at + 1 } else { begin + (at - begin + 8) / 8 * 8 };
        paths.insert(name.clone());
    }
    while let Some(kind) = bytes.get(at..at + 4).filter(|_| at + 8 <= end) {
        if kind == b"link" {
            return Err("its index is split (git update-index --no-split-index joins it)");
        }
        at += 8 + number(at + 4).ok_or(damaged)? as usize;
    }
    Ok(paths)
}

/// How many bytes of the name before are not part of the next one.
fn removed(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut next = || {
        let byte = *bytes.get(*at)?;
        *at += 1;
        Some(byte)
    };
    let mut byte = next()?;
    let mut value = usize::from(byte & 127);
    while byte & 128 != 0 {
        byte = next()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
    }
    Some(value)
}
