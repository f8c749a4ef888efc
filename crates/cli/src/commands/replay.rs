//! `skillrun replay`: what a model would see again of a run, as a transcript or as a part of a request to an API.

use std::io::{self, BufWriter, IsTerminal, Write};

use skillrun_inspect::replay::replay;
use skillrun_replay::{Dialect, LeftOutCount, Notice, NoticeKind, Replay, left_out_words};

use super::logs::VisibleOutput;
use crate::args::{Global, OutputForm, ReplayOf};
use crate::failure::Failure;
use crate::output::print_json;
use crate::place::{CommandContext, note};

pub(crate) fn run(global: &Global, args: &ReplayOf) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let found = replay(&place.settings.data, &place.log, run, args.upto)?;
    match args.json.form() {
        OutputForm::Json => return print_json(&found),
        OutputForm::Text => {
            let written = write(&found.replay, args.dialect);
            written.map_err(|error| Failure::Write { path: "stdout".to_owned(), error })?;
        }
    }
    for words in summary(&found.replay) {
        note(&words);
    }
    Ok(())
}

/// A pipe receives the exact texts; a terminal receives no character that it would obey.
fn write(replay: &Replay, dialect: Dialect) -> io::Result<()> {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let mut out = BufWriter::new(stdout.lock());
    if is_terminal {
        dialect.write(replay, &mut VisibleOutput::new(&mut out))?;
    } else {
        dialect.write(replay, &mut out)?;
    }
    match dialect {
        Dialect::Text => {}
        Dialect::AnthropicMessages | Dialect::OpenaiResponses | Dialect::OpenaiChat => out.write_all(b"\n")?,
    }
    out.flush()
}

/// What the reader has to know about the replay, one sentence each.
fn summary(replay: &Replay) -> Vec<String> {
    let mut sentences = Vec::new();
    if replay.turns.is_empty() {
        sentences.push("no turn is over, so nothing is replayed".to_owned());
    }
    if !replay.left_out.is_empty() {
        let parts: Vec<String> = replay.left_out.iter().map(left_out).collect();
        sentences.push(format!("left out: {}", parts.join(", ")));
    }
    sentences.extend(replay.notices.iter().map(notice));
    sentences
}

pub(super) fn left_out(LeftOutCount { reason, count }: &LeftOutCount) -> String {
    format!("{count} {}", left_out_words(*reason, *count))
}

fn notice(Notice { kind, count, seq }: &Notice) -> String {
    let words = kind.words();
    match kind {
        NoticeKind::DamagedLog => format!("{words} at event {seq}; `skillrun verify` shows it"),
        NoticeKind::UserMessageMissing | NoticeKind::UserMessageUnreadable | NoticeKind::NewerEvent => {
            format!("{words}: {count}")
        }
    }
}
