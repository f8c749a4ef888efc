//! The write side: one attempt's bytes, the index over them, and the ranges that hold secrets.
//!
//! Bytes reach their file first, then the ranges to hide, then the record in the index. A reader that uses only bytes
//! that have a record therefore never sees half of anything, and never a secret before its mask. The ranges are synced
//! before the record is written, and the record counts them, so that a reader knows when some are missing.
//!
//! Nothing here reads a clock: the caller supplies every moment, in nanoseconds since the attempt began.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillrun_model::{AttemptNumber, EndedBy};

use crate::Stream;
use crate::error::EvidenceError;
use crate::names;
use skillrun_base::whole_file;

/// Writes the evidence of one attempt.
#[derive(Debug)]
pub struct Recorder {
    number: AttemptNumber,
    streams: [Option<StreamLog>; 3],
    stdin: Log,
    chunks: Lines,
    redact: Lines,
    next_record: u64,
    batches: u64,
}

/// An append-only file, its size and its hash.
#[derive(Debug)]
struct Log {
    file: File,
    len: u64,
    hasher: blake3::Hasher,
}

#[derive(Debug)]
struct StreamLog {
    log: Log,
    /// The index has records on the disk up to here.
    recorded: u64,
    /// The index has records up to here, written or waiting to be written.
    announced: u64,
    /// The index may have records up to here: the bytes that follow could be the beginning of a secret.
    clear: u64,
    is_over: bool,
}

/// A file of lines. Lines that could not be written wait, and no half line is left behind.
#[derive(Debug)]
struct Lines {
    file: File,
    len: u64,
    waiting: Vec<u8>,
    /// Lines that were added, written or waiting.
    count: u64,
    /// Lines were written since the file was last synced.
    is_unsynced: bool,
    hasher: blake3::Hasher,
}

/// Size and hash of a file that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub name: String,
    pub len: u64,
    /// BLAKE3, hexadecimal.
    pub hash: String,
}

#[derive(Serialize)]
struct BytesLine {
    i: u64,
    t_ns: u64,
    stream: &'static str,
    from: u64,
    to: u64,
    batch: u64,
    masks: u64,
}

#[derive(Serialize)]
struct EofLine {
    i: u64,
    t_ns: u64,
    eof: &'static str,
}

#[derive(Serialize)]
struct ActLine {
    i: u64,
    t_ns: u64,
    act: EndedBy,
}

#[derive(Serialize)]
struct RedactLine<'a> {
    stream: &'a str,
    from: u64,
    to: u64,
}

impl Log {
    fn new(file: File) -> Self {
        Self { file, len: 0, hasher: blake3::Hasher::new() }
    }

    /// Bytes that were written before an error count: they are in the file.
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.hasher.update(&bytes[..written]);
                    self.len += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Lines {
    fn new(file: File) -> Self {
        let hasher = blake3::Hasher::new();
        Self { file, len: 0, waiting: Vec::new(), count: 0, is_unsynced: false, hasher }
    }

    fn add(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.waiting, line)?;
        self.waiting.push(b'\n');
        self.count += 1;
        Ok(())
    }

    /// All waiting lines, or none of them.
    fn write(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(&self.waiting) {
            // Half a line would hide every line after it.
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += self.waiting.len() as u64;
        self.hasher.update(&self.waiting);
        self.waiting.clear();
        self.is_unsynced = true;
        Ok(())
    }

    /// Syncs the written lines to the disk.
    fn sync(&mut self) -> io::Result<()> {
        if self.is_unsynced {
            self.file.sync_data()?;
            self.is_unsynced = false;
        }
        Ok(())
    }
}

impl Recorder {
    /// Creates the files of an attempt; none of them may exist. On an error, the files that were created are removed.
    pub fn create(audit: &Path, number: AttemptNumber, streams: &[Stream]) -> Result<Self, EvidenceError> {
        let mut made = Vec::new();
        let created = Self::create_files(audit, number, streams, &mut made);
        if created.is_err() {
            made.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        created
    }

    fn create_files(
        audit: &Path,
        number: AttemptNumber,
        streams: &[Stream],
        made: &mut Vec<PathBuf>,
    ) -> Result<Self, EvidenceError> {
        let mut create = |name: String| -> Result<File, EvidenceError> {
            let path = audit.join(name);
            let file = whole_file::create(&path).map_err(|e| EvidenceError::new(&path, e))?;
            made.push(path);
            Ok(file)
        };
        // A reader that finds a stream must find its index and its mask: without an index it reads the whole stream.
        let redact = Lines::new(create(names::redact(number))?);
        let chunks = Lines::new(create(names::chunks(number))?);
        let stdin = Log::new(create(names::stdin(number))?);
        let mut logs = [None, None, None];
        for &stream in streams {
            let log = Log::new(create(names::log(stream, number))?);
            logs[stream.index()] = Some(StreamLog { log, recorded: 0, announced: 0, clear: 0, is_over: false });
        }
        Ok(Self { number, streams: logs, stdin, chunks, redact, next_record: 0, batches: 0 })
    }

    pub fn number(&self) -> AttemptNumber {
        self.number
    }

    /// Bytes in the file of a stream.
    pub fn written(&self, stream: Stream) -> u64 {
        self.streams[stream.index()].as_ref().map_or(0, |s| s.log.len)
    }

    /// Bytes that readers may use.
    pub fn recorded(&self, stream: Stream) -> u64 {
        self.streams[stream.index()].as_ref().map_or(0, |s| s.recorded)
    }

    /// Bytes of all streams together.
    pub fn total(&self) -> u64 {
        Stream::ALL.into_iter().map(|stream| self.written(stream)).sum()
    }

    /// Bytes that were written to the process.
    pub fn stdin_len(&self) -> u64 {
        self.stdin.len
    }

    pub fn batches(&self) -> u64 {
        self.batches
    }

    pub fn is_over(&self, stream: Stream) -> bool {
        self.streams[stream.index()].as_ref().is_none_or(|s| s.is_over)
    }

    /// Appends bytes of a stream. Readers do not see them before [`Recorder::clear`] and [`Recorder::announce`].
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match &mut self.streams[stream.index()] {
            Some(log) => log.log.write(bytes),
            None => Ok(()),
        }
    }

    /// Adds what was written to the process.
    pub fn write_stdin(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.write(bytes)
    }

    /// Hides a range from all readers, from the next announcement on.
    pub fn hide(&mut self, stream: Stream, range: Range<u64>) -> io::Result<()> {
        self.redact.add(&RedactLine { stream: stream.source().as_str(), from: range.start, to: range.end })
    }

    /// Hides a range of what was written to the process.
    pub fn hide_stdin(&mut self, range: Range<u64>) -> io::Result<()> {
        self.redact.add(&RedactLine { stream: "stdin", from: range.start, to: range.end })
    }

    /// Everything before `to` is free of secrets that are not hidden.
    pub fn clear(&mut self, stream: Stream, to: u64) {
        if let Some(log) = &mut self.streams[stream.index()] {
            log.clear = to.min(log.log.len).max(log.announced);
        }
    }

    /// The offset up to which a stream was declared clear.
    pub fn clear_to(&self, stream: Stream) -> u64 {
        self.streams[stream.index()].as_ref().map_or(0, |s| s.clear)
    }

    /// Whether clear bytes have no record yet.
    pub fn has_news(&self) -> bool {
        self.streams.iter().flatten().any(|log| log.announced < log.clear)
    }

    /// Writes records for everything that is clear, as one batch. On an error the records wait, readers may not use the
    /// bytes, and [`Recorder::write_lines`] tries again.
    pub fn announce(&mut self, t_ns: u64) -> io::Result<()> {
        if self.has_news() {
            for stream in Stream::ALL {
                let Some(log) = &mut self.streams[stream.index()] else { continue };
                if log.announced < log.clear {
                    let (from, to) = (log.announced, log.clear);
                    log.announced = to;
                    let (i, batch, masks) = (self.next_record, self.batches, self.redact.count);
                    let line = BytesLine { i, t_ns, stream: stream.source().as_str(), from, to, batch, masks };
                    self.next_record += 1;
                    self.chunks.add(&line)?;
                }
            }
            self.batches += 1;
        }
        self.write_lines()
    }

    /// The end of a stream; everything before it is announced first.
    pub fn end(&mut self, t_ns: u64, stream: Stream) -> io::Result<()> {
        let Some(log) = &mut self.streams[stream.index()] else { return Ok(()) };
        if std::mem::replace(&mut log.is_over, true) {
            return Ok(());
        }
        log.clear = log.log.len;
        let announced = self.announce(t_ns);
        self.chunks.add(&EofLine { i: self.next_record, t_ns, eof: stream.source().as_str() })?;
        self.next_record += 1;
        announced?;
        self.write_lines()
    }

    /// An act of the host, after everything that was clear before it.
    pub fn act(&mut self, t_ns: u64, act: EndedBy) -> io::Result<()> {
        let announced = self.announce(t_ns);
        self.chunks.add(&ActLine { i: self.next_record, t_ns, act })?;
        self.next_record += 1;
        announced?;
        self.write_lines()
    }

    /// Writes the waiting lines: first the ranges that hide, synced to the disk; then the records that show.
    pub fn write_lines(&mut self) -> io::Result<()> {
        self.redact.write()?;
        if !self.chunks.waiting.is_empty() {
            self.redact.sync()?;
        }
        self.chunks.write()?;
        for log in self.streams.iter_mut().flatten() {
            log.recorded = log.announced;
        }
        Ok(())
    }

    /// Syncs everything to the disk; no more bytes are written to the files.
    pub fn seal(mut self) -> io::Result<Vec<Sealed>> {
        self.write_lines()?;
        let number = self.number;
        let logs = Stream::ALL.into_iter().zip(self.streams).filter_map(|(stream, log)| Some((stream, log?)));
        let logs = logs.map(|(stream, log)| (names::log(stream, number), log.log));
        let mut sealed = Vec::new();
        for (name, log) in logs.chain([(names::stdin(number), self.stdin)]) {
            sealed.push(sealed_file(name, &log.file, log.len, &log.hasher)?);
        }
        for (name, lines) in [(names::chunks(number), self.chunks), (names::redact(number), self.redact)] {
            sealed.push(sealed_file(name, &lines.file, lines.len, &lines.hasher)?);
        }
        Ok(sealed)
    }
}

fn sealed_file(name: String, file: &File, len: u64, hasher: &blake3::Hasher) -> io::Result<Sealed> {
    // An engine may be able to reach its own recording; then the hash would vouch for a file that does not exist.
    let found = file.metadata()?;
    if found.nlink() == 0 || found.len() != len {
        return Err(io::Error::other(format!("{name} was removed or changed by another process")));
    }
    // An empty file can lose only its name, and the code that writes the record syncs the folder.
    if len > 0 {
        file.sync_data()?;
    }
    Ok(Sealed { name, len, hash: hasher.finalize().to_hex().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Recording;

    fn recorder() -> (Recording, Recorder) {
        let recording = Recording::new(&[]);
        let streams = [Stream::Stdout, Stream::Stderr];
        let recorder = Recorder::create(&recording.path().join(".audit"), AttemptNumber(1), &streams);
        (recording, recorder.expect("new files"))
    }

    /// A recorder with a secret that is hidden and not announced yet.
    fn with_a_secret() -> (Recording, Recorder) {
        let (recording, mut recorder) = recorder();
        recorder.write(Stream::Stdout, b"key=hunter22!").expect("written");
        recorder.hide(Stream::Stdout, 4..12).expect("hidden");
        recorder.clear(Stream::Stdout, 13);
        (recording, recorder)
    }

    #[test]
    fn what_is_written_is_read_in_the_same_order() {
        let (recording, mut recorder) = recorder();
        let mut put = |t_ns, stream, bytes: &[u8]| {
            recorder.write(stream, bytes).expect("written");
            recorder.clear(stream, recorder.written(stream));
            recorder.announce(t_ns).expect("announced");
        };
        put(1, Stream::Stdout, b"ab");
        put(2, Stream::Stderr, b"xyz");
        put(3, Stream::Stdout, b"cdef");
        recorder.act(4, EndedBy::Linger).expect("an act");
        recorder.end(5, Stream::Stdout).expect("an end");
        recorder.end(6, Stream::Stderr).expect("an end");
        recorder.end(7, Stream::Stderr).expect("nothing the second time");
        let sealed = recorder.seal().expect("on disk");
        let expected = ["1 stdout ab", "2 stderr xyz", "3 stdout cdef", "4 linger", "5 stdout over", "6 stderr over"];
        assert_eq!(recording.steps(), (expected.map(str::to_owned).to_vec(), vec![]));
        for file in &sealed {
            let bytes = fs::read(recording.path().join(".audit").join(&file.name)).expect("a file");
            assert_eq!((file.len, &file.hash), (bytes.len() as u64, &blake3::hash(&bytes).to_hex().to_string()));
        }
        assert_eq!(sealed.len(), 5, "two streams, stdin, index and mask");
    }

    #[test]
    fn bytes_that_are_not_clear_have_no_record_before_the_end() {
        let (recording, mut recorder) = recorder();
        recorder.write(Stream::Stdout, b"abcdef").expect("written");
        recorder.clear(Stream::Stdout, 4);
        recorder.announce(1).expect("announced");
        assert_eq!((recorder.recorded(Stream::Stdout), recorder.has_news()), (4, false));
        let (steps, problems) = recording.steps();
        assert_eq!(steps[0], "1 stdout abcd");
        assert_eq!(problems, ["2 bytes of stdout have no record in the chunk index and were not read"]);
        recorder.end(2, Stream::Stdout).expect("the end");
        let (steps, problems) = recording.steps();
        assert_eq!((&steps[..2], problems.len()), (&["1 stdout abcd".to_owned(), "2 stdout ef".to_owned()][..], 0));
    }

    #[test]
    fn a_hidden_range_is_on_disk_before_its_bytes_have_a_record() {
        let (recording, mut recorder) = with_a_secret();
        recorder.announce(1).expect("announced");
        assert_eq!(recording.steps().0[0], "1 stdout key=********!");
        let kept = fs::read(recording.path().join(".audit/stdout.1.log")).expect("the file");
        assert_eq!(kept, b"key=hunter22!");
        let index = fs::read_to_string(recording.path().join(".audit/chunks.1.jsonl")).expect("the index");
        assert!(index.ends_with("\"batch\":0,\"masks\":1}\n"), "{index}");
        assert!(!recorder.redact.is_unsynced, "the mask is on the disk before the record");
    }

    /// An index that had a record before its mask was on the disk showed the secret after a power cut.
    #[test]
    fn bytes_get_no_record_before_their_mask_is_synced() {
        let (recording, mut recorder) = with_a_secret();
        // /dev/full rejects every byte, as a full disk does.
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let good = std::mem::replace(&mut recorder.redact.file, full);
        recorder.announce(1).expect_err("no room for the mask");
        assert_eq!(fs::read(recording.path().join(".audit/chunks.1.jsonl")).expect("the index"), b"");
        assert_eq!(recorder.recorded(Stream::Stdout), 0);
        recorder.redact.file = good;
        recorder.write_lines().expect("room again");
        assert_eq!(recording.steps().0[0], "1 stdout key=********!");
    }

    #[test]
    fn streams_announced_together_share_a_batch() {
        let (recording, mut recorder) = recorder();
        for stream in [Stream::Stderr, Stream::Stdout] {
            recorder.write(stream, b"x").expect("written");
            recorder.clear(stream, 1);
        }
        recorder.announce(9).expect("announced");
        let index = fs::read_to_string(recording.path().join(".audit/chunks.1.jsonl")).expect("the index");
        let expected = [
            r#"{"i":0,"t_ns":9,"stream":"stdout","from":0,"to":1,"batch":0,"masks":0}"#,
            r#"{"i":1,"t_ns":9,"stream":"stderr","from":0,"to":1,"batch":0,"masks":0}"#,
        ];
        assert_eq!((index, recorder.batches()), (expected.join("\n") + "\n", 1));
    }

    #[test]
    fn files_are_for_their_owner_alone_and_never_written_twice() {
        use std::os::unix::fs::PermissionsExt;
        let (recording, _recorder) = recorder();
        for entry in fs::read_dir(recording.path().join(".audit")).expect("a folder") {
            let mode = entry.expect("an entry").metadata().expect("metadata").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let audit = recording.path().join(".audit");
        let names = || fs::read_dir(&audit).expect("a folder").count();
        let before = names();
        assert!(Recorder::create(&audit, AttemptNumber(1), &[Stream::Stdout]).is_err());
        fs::write(audit.join("stdout.2.log"), "somebody's").expect("a file");
        assert!(Recorder::create(&audit, AttemptNumber(2), &[Stream::Stdout]).is_err());
        assert_eq!(names(), before + 1, "what was made on the way is gone");
        assert_eq!(fs::read(audit.join("stdout.2.log")).expect("the file"), b"somebody's");
    }

    #[test]
    fn a_failed_line_is_written_later_and_leaves_no_half() {
        // /dev/full rejects every byte, as a full disk does.
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let recording = Recording::new(&[]);
        let path = recording.path().join(".audit/lines");
        let mut lines = Lines::new(whole_file::create(&path).expect("a file"));
        lines.add(&1).expect("a line");
        lines.write().expect("written");
        let good = std::mem::replace(&mut lines.file, full);
        lines.add(&2).expect("a line");
        lines.write().expect_err("no room");
        lines.file = good;
        lines.write().expect("room again");
        assert_eq!(fs::read(&path).expect("the file"), b"1\n2\n");
    }
}
