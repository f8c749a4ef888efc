use std::fs;

use skillrun_log::{Durability, Seq};
use skillrun_model::rasp::data::{Diagnostic, RunCanceled, RunStarted, Versions};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::{Code, EngineName, ExecutionMode, Timestamp};
use skillrun_translate::EventBuilder;
use tempfile::TempDir;

use super::*;

/// A Log that grows, and the views beside it.
struct World {
    _dir: TempDir,
    folder: RunFolder,
    log: FileLog,
    builder: EventBuilder,
}

fn run_id() -> RunId {
    RunId::new(1, [1; 10])
}

fn started() -> ControlData {
    let versions = Versions { skillrun: "test".to_owned(), engine: None, profile: 1 };
    ControlData::RunStarted(RunStarted::new("scripted", ExecutionMode::Interactive, versions))
}

fn waiting() -> ControlData {
    ControlData::status(RunStatus::WaitingUser)
}

fn odd() -> ControlData {
    ControlData::ParserWarning(Diagnostic::new(Code::UnknownEvent, "something is odd"))
}

fn canceled() -> ControlData {
    ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None })
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::at(dir.path().join(run_id().to_string()));
        let log = FileLog::new(dir.path());
        log.create(run_id()).expect("a Log");
        let builder = EventBuilder::new(run_id(), EngineName::new("scripted"));
        Self { _dir: dir, folder, log, builder }
    }

    fn append(&mut self, all: Vec<ControlData>) {
        let first = Seq(self.builder.next_seq());
        let event = |data| self.builder.control(Timestamp::EPOCH, Level::Info, data, Correlation::default());
        let events: Vec<_> = all.into_iter().map(event).collect();
        self.log.append(run_id(), first, &events, Durability::Derived).expect("appended");
    }

    fn add(&self, made_by: u32) {
        add_as(made_by, &self.log, run_id(), &self.folder).expect("added");
    }

    fn lines(&self) -> (Vec<String>, Vec<String>) {
        let read = |path| fs::read_to_string(path).expect("a view").lines().map(str::to_owned).collect();
        (read(self.folder.fcmp()), read(self.folder.diagnostics()))
    }
}

/// Views of a waiting run were only made when it was over, which an interactive run may never be.
#[test]
fn what_is_added_at_each_wait_is_what_is_made_at_the_end() {
    let batches = || [vec![started(), waiting()], vec![odd(), waiting()], vec![odd(), canceled()]];
    for made_by in [TRANSLATOR, TRANSLATOR + 1] {
        let (mut grown, mut made) = (World::new(), World::new());
        let mut before = Vec::new();
        for batch in batches() {
            grown.append(batch.clone());
            grown.add(made_by);
            let (conversation, _) = grown.lines();
            assert!(conversation.starts_with(&before), "no line changes: {conversation:#?}");
            assert_eq!(is_whole(&grown.folder.fcmp()), matches!(batch.last(), Some(ControlData::RunCanceled(_))));
            grown.add(made_by);
            assert_eq!(grown.lines().0, conversation, "nothing new, nothing added");
            before = conversation;
            made.append(batch);
        }
        made.add(made_by);
        assert_eq!(grown.lines(), made.lines());
        assert_eq!((before.len(), grown.lines().1.len()), (6, 2));
    }
}

#[test]
fn a_cut_line_is_rewritten_and_a_foreign_file_replaced() {
    let mut world = World::new();
    world.append(vec![started(), odd(), waiting()]);
    world.add(TRANSLATOR);
    let whole = world.lines();
    let conversation = fs::read(world.folder.fcmp()).expect("a view");
    let strange = [&conversation[..conversation.len() - 5], b"", b"strange", b"{}\n", b"\n\n"].map(<[u8]>::to_vec);
    for text in strange {
        fs::write(world.folder.fcmp(), text).expect("written");
        world.add(TRANSLATOR);
        assert_eq!(world.lines(), whole);
    }
    fs::remove_file(world.folder.diagnostics()).expect("removed");
    world.add(TRANSLATOR);
    assert_eq!(world.lines(), whole);
}

/// After a power failure the Log may end before events that a view has.
#[test]
fn a_view_that_is_ahead_of_its_log_is_made_again() {
    let (mut ahead, mut behind) = (World::new(), World::new());
    ahead.append(vec![started(), odd(), waiting(), waiting()]);
    ahead.add(TRANSLATOR);
    behind.append(vec![started(), waiting()]);
    fs::copy(ahead.folder.fcmp(), behind.folder.fcmp()).expect("copied");
    fs::copy(ahead.folder.diagnostics(), behind.folder.diagnostics()).expect("copied");
    behind.add(TRANSLATOR);
    let (conversation, diagnostics) = behind.lines();
    assert_eq!((conversation.len(), diagnostics.len()), (2, 0));
}

#[test]
fn what_is_written_along_with_a_run_is_what_is_made_from_its_log() {
    let (mut grown, mut made) = (World::new(), World::new());
    grown.append(vec![started()]);
    made.append(vec![started()]);
    let open = |world: &World| ViewWriter::of_new(TRANSLATOR, &world.log, run_id(), &world.folder).expect("opened");
    let mut writer = open(&grown).expect("there are no files yet");
    for batch in [vec![odd(), odd()], vec![waiting()], vec![odd(), canceled()]] {
        grown.append(batch.clone());
        writer.catch_up(&grown.log).expect("written");
        assert!(!grown.folder.fcmp().exists(), "no name before it is finished");
        made.append(batch);
    }
    writer.finish(&grown.log).expect("finished");
    made.add(TRANSLATOR);
    assert_eq!(grown.lines(), made.lines());
    assert!(is_whole(&grown.folder.fcmp()));
    assert!(open(&grown).is_none(), "existing files are appended to only when the run waits or is over");
}

#[test]
fn views_that_are_not_finished_leave_nothing_behind() {
    let mut world = World::new();
    world.append(vec![started(), odd(), canceled()]);
    let files = || fs::read_dir(world.folder.root()).expect("a folder").count();
    let before = files();
    let mut writer = ViewWriter::of_new(TRANSLATOR, &world.log, run_id(), &world.folder).expect("opened").expect("new");
    writer.catch_up(&world.log).expect("written");
    assert_eq!(files(), before + 2);
    drop(writer);
    assert_eq!(files(), before);
    world.add(TRANSLATOR);
    assert!(is_whole(&world.folder.fcmp()));
}

/// The conversation of a flood took as much of the disk as its Log.
#[test]
fn the_conversation_of_a_large_log_is_not_stored() {
    let large = || ControlData::ParserWarning(Diagnostic::new(Code::UnknownEvent, "x".repeat(1 << 20)));
    let mut world = World::new();
    world.append(vec![started(), waiting()]);
    world.add(TRANSLATOR);
    assert!(world.folder.fcmp().exists() && !are_there(&world.folder));
    // Along with the run, and at its end.
    fs::remove_file(world.folder.fcmp()).expect("removed");
    fs::remove_file(world.folder.diagnostics()).expect("removed");
    let mut writer = ViewWriter::of_new(TRANSLATOR, &world.log, run_id(), &world.folder).expect("opened").expect("new");
    for _ in 0..7 {
        world.append(vec![large()]);
        writer.catch_up(&world.log).expect("written");
    }
    assert!(writer.conversation.is_some(), "a Log of 7 MiB has one");
    world.append(vec![large(), canceled()]);
    writer.finish(&world.log).expect("finished");
    fs::write(world.folder.result(), "{}\n").expect("written");
    let diagnostics = fs::read_to_string(world.folder.diagnostics()).expect("a view").lines().count();
    assert_eq!((world.folder.fcmp().exists(), diagnostics), (false, 8));
    assert!(are_there(&world.folder), "nothing is missing");
    // One that was begun when the Log was smaller.
    fs::write(world.folder.fcmp(), "{}\n").expect("written");
    world.add(TRANSLATOR);
    assert!(!world.folder.fcmp().exists() && !may_lag(&world.folder));
}
