//! A list in a file, of which one entry at a time is read, so that neither the memory nor the time for an entry grows
//! with the list. Such a file can always be made again from the Log.
//!
//! ```text
//! 0000000000000002\n    entries
//! 0000000000000044\n    where the first begins, where the second begins, where the last ends
//! …
//! {"first": 1}\n…       the entries as JSON
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use skillrun_base::whole_file;

/// Bytes of a number and its line end.
const NUMBER: usize = 17;

#[derive(Debug)]
pub(super) struct StoredList {
    file: File,
    entries: u64,
}

impl StoredList {
    /// None where the file does not exist.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let entries = number(&file, 0)?;
        Ok(Some(Self { file, entries }))
    }

    /// Stores a list and opens it.
    pub(super) fn make<T: Serialize>(path: &Path, list: &[T]) -> io::Result<Self> {
        let mut text = Vec::new();
        let mut places = Vec::with_capacity(list.len() + 1);
        let begin = NUMBER * (list.len() + 2);
        for entry in list {
            places.push(begin + text.len());
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        places.push(begin + text.len());
        let mut whole = Vec::with_capacity(begin + text.len());
        for number in std::iter::once(list.len()).chain(places) {
            writeln!(whole, "{number:016x}")?;
        }
        whole.extend(text);
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        whole_file::replace(path, &whole)?;
        Self::open(path)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    pub(super) fn len(&self) -> u64 {
        self.entries
    }

    /// None behind the end.
    pub(super) fn get<T: DeserializeOwned>(&self, index: u64) -> io::Result<Option<T>> {
        if index >= self.entries {
            return Ok(None);
        }
        let (begin, end) = (number(&self.file, index + 1)?, number(&self.file, index + 2)?);
        let size = end.checked_sub(begin).filter(|_| self.file.metadata().is_ok_and(|found| end <= found.len()));
        let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(damaged)?;
        let mut text = vec![0; size];
        self.file.read_exact_at(&mut text, begin)?;
        Ok(Some(serde_json::from_slice(&text)?))
    }
}

/// A number at the beginning of the file.
fn number(file: &File, index: u64) -> io::Result<u64> {
    let mut digits = [0; NUMBER - 1];
    file.read_exact_at(&mut digits, index.saturating_mul(NUMBER as u64))?;
    let digits = str::from_utf8(&digits).map_err(|_| damaged())?;
    u64::from_str_radix(digits, 16).map_err(|_| damaged())
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not a list of skillrun")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_entry_is_read_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("blobs/list.jsonl");
        assert!(StoredList::open(&path).expect("readable").is_none());
        let entries = [json!("a\nb"), json!({"x": [1, 2]}), Value::Null];
        for list in [StoredList::make(&path, &entries).expect("made"), StoredList::open(&path).unwrap().expect("there")]
        {
            assert_eq!(list.len(), 3);
            for (index, entry) in (0..).zip(&entries) {
                assert_eq!(list.get::<Value>(index).expect("readable").as_ref(), Some(entry));
            }
            assert_eq!(list.get::<Value>(3).expect("readable"), None);
        }
        assert_eq!(StoredList::make::<Value>(&path, &[]).expect("made").len(), 0);
    }

    #[test]
    fn damaged_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list");
        for text in ["", "x", "000000000000000g\n", "0000000000000001\n0000000000000033\nffffffffffffffff\n1\n"] {
            fs::write(&path, text).expect("written");
            let read = StoredList::open(&path).and_then(|list| list.expect("there").get::<Value>(0));
            assert!(read.is_err(), "{text:?}: {read:?}");
        }
    }
}
