use std::fs;
use std::path::PathBuf;

use skillrun_log::{Durability, Seq};
use skillrun_model::rasp::data::{AttemptEnded, AttemptStarted, Exit, MessageFinal, MessageOrigin};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData, SourceStream};
use skillrun_model::verdict::{Rule, Verdict};
use skillrun_model::{AttemptNumber, Code, CompletionState, ProfileId, RunStatus, Timestamp, TurnState};
use skillrun_replay::{Item, LeftOut, Notice};

use super::*;
use crate::testing::Events;

/// A run of three turns, each of four events, in a folder of its own.
struct Folder {
    _place: tempfile::TempDir,
    data: DataFolder,
    run: RunId,
}

fn turn(events: &mut Events, number: u32, message: UserMessage) -> Vec<Event> {
    let started = AttemptStarted::new(ProfileId::PlainText, Timestamp::EPOCH);
    let verdict = Verdict {
        answer_message_id: Some(format!("m{number}")),
        ..Verdict::new(
            Rule::Waiting,
            TurnState::Completed,
            CompletionState::AwaitingUserInput,
            Code::CleanFinal,
            RunStatus::WaitingUser,
        )
    };
    let exit = Exit { code: Some(0), signal: None, ended_by: None };
    let mut said = events.next(number, ControlData::AttemptStarted(started.clone()));
    let mut of_turn = vec![said.clone(), events.next(number, ControlData::MessageUser(message))];
    said = events.next(number, ControlData::AttemptStarted(started));
    said.source.stream = SourceStream::Stdout;
    let text = format!("answer {number}");
    said.data = Data::Evidence(EvidenceData::MessageFinal(MessageFinal::new(format!("m{number}"), text)));
    of_turn.push(said);
    of_turn.push(events.next(number, ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit)))));
    of_turn
}

impl Folder {
    fn new(first: &str) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let data = DataFolder::new(place.path());
        let mut events = Events::default();
        let run = RunId::new(1, [1; 10]);
        let folder = data.run(run);
        let log = FileLog::new(data.runs());
        log.create(run).expect("a Log");
        let whole = blobs::write_prompt(&folder, AttemptNumber(1), first).expect("written");
        let message =
            UserMessage { whole: Some(whole), ..UserMessage::new(MessageOrigin::User, blobs::beginning(first)) };
        let mut all = turn(&mut events, 1, message);
        for number in [2, 3] {
            all.extend(turn(&mut events, number, UserMessage::new(MessageOrigin::User, format!("prompt {number}"))));
        }
        log.append(run, Seq(1), &all, Durability::Derived).expect("appended");
        log.release(run);
        Self { _place: place, data, run }
    }

    fn path(&self) -> PathBuf {
        self.data.run(self.run).root().join("events.jsonl")
    }

    /// Changes the line of an event.
    fn change(&self, seq: usize, change: impl Fn(&str) -> String) {
        let text = fs::read_to_string(self.path()).expect("a Log");
        let line = |(at, line): (usize, &str)| if at + 1 == seq { change(line) } else { line.to_owned() };
        let lines: Vec<String> = text.lines().enumerate().map(line).collect();
        fs::write(self.path(), lines.join("\n") + "\n").expect("written");
    }

    fn replay(&self, upto: Option<u64>) -> Replay {
        replay(&self.data, &FileLog::new(self.data.runs()), self.run, upto).expect("a replay").replay
    }
}

fn ends(replay: &Replay) -> Vec<u64> {
    replay.turns.iter().map(|turn| turn.end_seq).collect()
}

fn notices(replay: &Replay) -> Vec<(NoticeKind, u64, u64)> {
    replay.notices.iter().map(|Notice { kind, count, seq }| (*kind, *count, *seq)).collect()
}

#[test]
fn a_log_is_replayed_up_to_an_event() {
    let folder = Folder::new("prompt 1");
    let whole = folder.replay(None);
    assert_eq!((ends(&whole), notices(&whole)), (vec![4, 8, 12], vec![]));
    let some = folder.replay(Some(11));
    assert_eq!(some.turns[..], whole.turns[..2]);
    assert_eq!(some.left_out.iter().map(|left| left.reason).collect::<Vec<_>>(), [LeftOut::OpenTurn]);
}

#[test]
fn a_damaged_log_is_replayed_up_to_the_damage() {
    let whole = Folder::new("prompt 1").replay(None);
    // The beginning and the end of a line look like an event; only its middle is broken.
    for broken in [|line: &str| line.replacen("\"data\":{", "\"data\":{{", 1), |_: &str| "zzz".to_owned()] {
        let folder = Folder::new("prompt 1");
        folder.change(7, broken);
        let replay = folder.replay(None);
        assert_eq!(replay.turns[..], whole.turns[..1]);
        assert_eq!(notices(&replay), [(NoticeKind::DamagedLog, 1, 7)]);
        let before = folder.replay(Some(6));
        assert_eq!((before.turns[..].len(), notices(&before)), (1, vec![]), "the damage is after it");
    }
}

#[test]
fn events_of_a_newer_version_are_skipped() {
    let whole = Folder::new("prompt 1").replay(None);
    let folder = Folder::new("prompt 1");
    folder.change(6, |line| line.replace("\"message.user\"", "\"message.thought\""));
    let replay = folder.replay(None);
    assert_eq!(ends(&replay), [4, 8, 12]);
    assert_eq!(replay.turns[0], whole.turns[0]);
    assert_eq!(notices(&replay), [(NoticeKind::UserMessageMissing, 1, 8), (NoticeKind::NewerEvent, 1, 6)]);
    // A record of a turn that cannot be read leaves the turn open.
    let folder = Folder::new("prompt 1");
    folder.change(12, |line| line.replace("\"CLEAN_FINAL\"", "\"CLEANER_FINAL\""));
    let replay = folder.replay(None);
    assert_eq!(replay.turns[..], whole.turns[..2]);
    assert_eq!(notices(&replay), [(NoticeKind::NewerEvent, 1, 12)]);
}

#[test]
fn a_large_prompt_is_read_from_its_file() {
    let prompt = "long ".repeat(50_000);
    let folder = Folder::new(&prompt);
    let first = |replay: &Replay| match &replay.turns[0].items[0] {
        Item::User { text, truncated, .. } => (text.clone(), *truncated),
        other @ (Item::Agent { .. } | Item::ToolCall { .. } | Item::ToolResult { .. } | Item::Child { .. }) => {
            panic!("{other:?}")
        }
    };
    assert_eq!(first(&folder.replay(None)), (prompt.clone(), false));
    fs::remove_dir_all(folder.data.run(folder.run).audit()).expect("removed");
    let replay = folder.replay(None);
    assert_eq!(first(&replay), (blobs::beginning(&prompt).to_owned(), true));
    assert_eq!(notices(&replay), [(NoticeKind::UserMessageUnreadable, 1, 2)]);
}
