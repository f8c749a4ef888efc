//! What is written for what came in: bytes of the Log, its index, the views and the evidence for each byte that an engine
//! wrote. Ordinary work becomes events of its own; noise and long rows of unknown lines do not.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use testkit::streams::Profile;
use testkit::streams::shapes::write_repeated;
use testkit::streams::turns::write_turns;

use super::sizes::Sizes;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::place::{Engine, Place, succeeded};
use crate::table::Table;

const NOISE: &[u8] = b"2026-11-15T00:59:08Z DEBUG fetch: connection 17 is kept alive for 30 s\nok\n\n";
/// Found in use: 2 MB of these became 1.94 GB.
const UNKNOWN: &[u8] = b"{}\n";
const UNKNOWN_BYTES: u64 = 2_000_000;
/// What makes a good end of it, on a line of its own.
const END: &[u8] =
    b"\n{\"type\":\"item.completed\",\"item\":{\"id\":\"last\",\"type\":\"agent_message\",\"text\":\"Done.\"}}\n\
    {\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n";

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    for (name, stream, bytes) in [
        ("ordinary work", Stream::Work, sizes.stream_bytes),
        ("noise", Stream::Noise, sizes.stream_bytes),
        ("`{}` lines", Stream::Unknown, UNKNOWN_BYTES),
    ] {
        let kept = one(program, stream, bytes)?;
        let name = format!("bytes on disk per byte of {name}, {:.0} MB; floor: a plain copy", kept.input as f64 / 1e6);
        let per = |bytes: u64| bytes as f64 / kept.input.max(1) as f64;
        let parts = format!(
            "evidence {:.2}, its index {:.3}, Log {:.2}, its index {:.3}, views {:.2}",
            per(kept.evidence),
            per(kept.chunks),
            per(kept.log),
            per(kept.index),
            per(kept.views)
        );
        let all = kept.evidence + kept.chunks + kept.log + kept.index + kept.views;
        let target = if stream == Stream::Unknown { "at most 20, plus 1 MB" } else { "–" };
        table.measured(&name, &format!("{:.2}", per(all)), "1", &parts, target);
        if stream == Stream::Unknown && all > 20 * kept.input + 1_000_000 {
            table.missed(format!("load: {} bytes of `{{}}` lines take {all} bytes on disk", kept.input));
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Work,
    Noise,
    /// JSON objects of no type that the profile knows.
    Unknown,
}

#[derive(Debug, Default)]
struct Kept {
    input: u64,
    evidence: u64,
    chunks: u64,
    log: u64,
    index: u64,
    views: u64,
}

fn one(program: &Program, stream: Stream, bytes: u64) -> Result<Kept, Problem> {
    let file = Place::root("disk").join("stream");
    let (bench, file_word) = (std::env::current_exe()?, file.display().to_string());
    let engine =
        Engine { name: "plays", profile: "codex_ndjson", program: &bench, words: &["write", "play", &file_word] };
    let place = Place::new(program, "disk", &[engine])?;
    let mut out = BufWriter::new(File::create(&file)?);
    match stream {
        Stream::Work => write_turns(Profile::CodexNdjson, bytes, &mut out).map(drop)?,
        Stream::Noise => write_repeated(NOISE, bytes, &mut out)?,
        Stream::Unknown => write_repeated(UNKNOWN, bytes, &mut out)?,
    }
    out.write_all(END)?;
    out.flush()?;
    let server = place.serve()?;
    let run = server.start("plays")?;
    succeeded(&server.wait(&run)?)?;
    server.stop()?;
    let mut kept = Kept { input: fs::metadata(&file)?.len(), ..Kept::default() };
    let folder = place.data().join("runs").join(&run);
    for entry in fs::read_dir(&folder)?.flatten().filter(|entry| entry.path().is_file()) {
        kept.add(&entry.path())?;
    }
    for entry in fs::read_dir(folder.join(".audit"))?.flatten() {
        kept.add(&entry.path())?;
    }
    Ok(kept)
}

impl Kept {
    fn add(&mut self, file: &Path) -> Result<(), Problem> {
        let bytes = fs::metadata(file)?.len();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let kind = match &*name {
            "events.jsonl" => &mut self.log,
            "events.idx" => &mut self.index,
            name if name.starts_with("chunks.") => &mut self.chunks,
            _ if file.parent().is_some_and(|folder| folder.ends_with(".audit")) => &mut self.evidence,
            // Files that can be regenerated, and a few small files.
            _ => &mut self.views,
        };
        *kind += bytes;
        Ok(())
    }
}
