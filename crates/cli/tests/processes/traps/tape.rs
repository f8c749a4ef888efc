//! The output of an engine, as it was recorded or with changes, and what `skillrun normalize` makes of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{paths, recorded};

use crate::SKILLRUN;

/// Third-party engines that write their events as JSON lines.
pub(crate) const ENGINES: [&str; 5] = ["codex", "opencode", "gemini", "claude", "qwen"];

/// One recorded attempt.
pub(crate) struct Tape {
    folder: PathBuf,
    /// Holds the folder of a tape that is not the corpus's own.
    made: Option<TempDir>,
    args: Vec<String>,
}

impl Tape {
    /// A folder of the corpus.
    pub(crate) fn of(name: &str) -> Self {
        let folder = paths::corpus().join(name);
        assert!(folder.is_dir(), "the corpus has no {name}");
        Self { folder, made: None, args: Vec::new() }
    }

    /// A folder with an existing recording.
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), made: None, args: Vec::new() }
    }

    /// A tool call and a valid answer, as this engine writes them, with exit 0.
    pub(crate) fn done(engine: &str) -> Self {
        match engine {
            "gemini" => Self::of("gemini-stream-done"),
            other => Self::of(&format!("{other}-tool-then-done")),
        }
    }

    /// An attempt that an engine ended by itself, with exit 0, after this output.
    pub(crate) fn made(engine: &str, stdout: &str) -> Self {
        let meta = json!({
            "engine": engine, "attempt_number": 1, "execution_mode": "auto", "wiring": "pipes",
            "started_at": "2026-11-15T09:00:00Z", "exit_code": 0, "signal": null, "ended_by": "exited",
        });
        let made = tempfile::tempdir().expect("a folder");
        let tape = Self { folder: made.path().to_owned(), made: Some(made), args: Vec::new() };
        fs::create_dir(tape.folder.join(".audit")).expect("a folder");
        tape.write("meta.1.json", meta.to_string().as_bytes());
        tape.write("stdout.1.log", stdout.as_bytes());
        tape.write("stderr.1.log", b"");
        tape
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(".audit").join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        assert!(self.made.is_some(), "the corpus is not for writing");
        fs::write(self.file(name), bytes).expect("written");
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn stdout(&self) -> String {
        self.text("stdout.1.log")
    }

    pub(crate) fn meta(&self) -> Value {
        recorded::read_json(&self.file("meta.1.json"))
    }

    /// The same with another output. When which byte came is no longer known.
    pub(crate) fn with_stdout(self, change: impl FnOnce(String) -> String) -> Self {
        let made = tempfile::tempdir().expect("a folder");
        copy(&self.folder.join(".audit"), &made.path().join(".audit"));
        let changed = Self { folder: made.path().to_owned(), made: Some(made), args: self.args.clone() };
        let name = if changed.file("stdout.1.log").exists() { "stdout.1.log" } else { "pty-output.1.log" };
        let before = changed.text(name);
        let after = change(before.clone());
        assert_ne!(before, after, "nothing was changed");
        changed.write(name, after.as_bytes());
        fs::remove_file(changed.file("chunks.1.jsonl")).ok();
        changed
    }

    /// Writes an index with this many reads of its output, all of the same length.
    pub(crate) fn read_in_pieces(&self, reads: usize) {
        let bytes = self.stdout().len();
        let ends = (0..=reads).map(|read| bytes * read / reads).collect::<Vec<_>>();
        let piece = |(i, ends): (usize, &[usize])| {
            let [from, to] = ends else { panic!("two of them") };
            json!({ "i": i, "t_ns": i, "stream": "stdout", "from": from, "to": to, "batch": i })
        };
        let eof = |(i, stream)| json!({ "i": i, "t_ns": i, "eof": stream });
        let pieces = ends.windows(2).enumerate().map(piece);
        let records = pieces.chain((reads..).zip(["stdout", "stderr"]).map(eof));
        let index: String = records.map(|record| format!("{record}\n")).collect();
        self.write("chunks.1.jsonl", index.as_bytes());
    }

    /// The same without the last line of its output, which is the end event of engines that have one.
    pub(crate) fn without_last_line(self) -> Self {
        self.with_stdout(|text| {
            let end = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
            text[..end].to_owned()
        })
    }

    /// The same, read under other circumstances.
    pub(crate) fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// What is reported about it in auto mode.
    pub(crate) fn auto(&self) -> Told {
        self.read("auto")
    }

    /// What is reported about it in interactive mode.
    pub(crate) fn interactive(&self) -> Told {
        self.read("interactive")
    }

    fn read(&self, mode: &str) -> Told {
        let schema = paths::output_schema().display().to_string();
        let args = ["--mode", mode, "--schema", &schema].map(str::to_owned);
        let output = recorded::normalize(SKILLRUN, &self.folder, args.iter().chain(&self.args));
        let mut summaries =
            recorded::summaries(&output).unwrap_or_else(|why| panic!("{}: {why}", self.folder.display()));
        Told(summaries.remove(&1).expect("the first attempt"))
    }

    /// A failure of the engine: in either mode there is no answer and no question.
    #[track_caller]
    pub(crate) fn fails(&self, category: &str) -> Told {
        let interactive = self.interactive();
        for told in [&self.auto(), &interactive] {
            assert_eq!((told.status(), told.word("error.category")), ("failed", category), "{}", told.0);
            assert!(!told.has_marker() && told.asks_no_question(), "{}", told.0);
        }
        interactive
    }

    /// A recording of an engine that failed for this reason, with this exit code and without an answer.
    #[track_caller]
    pub(crate) fn failed(name: &str, exit: u8, category: &str) -> Self {
        let tape = Self::of(name);
        assert_eq!(tape.meta()["exit_code"], exit);
        let told = tape.fails(category);
        assert_eq!((told.reason(), told.messages().len()), ("ENGINE_FAILED", 0), "{}", told.0);
        tape
    }

    /// A recording of an engine that was still trying when its time was up.
    #[track_caller]
    pub(crate) fn timed_out(name: &str) -> Self {
        let tape = Self::of(name);
        let told = tape.fails("timeout");
        assert_eq!((told.reason(), told.messages().len()), ("TIMEOUT", 0), "{}", told.0);
        tape
    }

    /// The answer is there, and nothing is wrong.
    #[track_caller]
    pub(crate) fn succeeds(&self) -> Told {
        let told = self.auto();
        assert_eq!((told.status(), told.0["error"].is_null()), ("succeeded", true), "{}", told.0);
        assert!(told.has_marker(), "{}", told.0);
        told
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// What `normalize` reports about an attempt.
pub(crate) struct Told(pub(crate) Value);

impl Told {
    /// A word by the names that lead to it; empty where there is none.
    pub(crate) fn word(&self, names: &str) -> &str {
        names.split('.').fold(&self.0, |value, name| &value[name]).as_str().unwrap_or_default()
    }

    pub(crate) fn status(&self) -> &str {
        self.word("run_status")
    }

    pub(crate) fn reason(&self) -> &str {
        self.word("completion.reason_code")
    }

    pub(crate) fn has_marker(&self) -> bool {
        self.0["marker"]["found"] == true
    }

    fn asks_no_question(&self) -> bool {
        self.0["prompt"].is_null() && self.0["pending"].is_null()
    }

    /// The texts of the assistant.
    pub(crate) fn messages(&self) -> Vec<&str> {
        let messages = self.0["messages"].as_array().into_iter().flatten();
        messages.map(|message| message["text"].as_str().unwrap_or_default()).collect()
    }

    /// Names of the tools that were called, and how that went.
    pub(crate) fn tools(&self) -> Vec<(&str, &str)> {
        let calls = self.0["tool_calls"].as_array().into_iter().flatten();
        let words = calls.map(|call| [&call["name"], &call["status"]].map(|word| word.as_str().unwrap_or_default()));
        words.map(|[name, status]| (name, status)).collect()
    }

    /// How many events there are of a type.
    pub(crate) fn events(&self, event: &str) -> u64 {
        self.0["events"]["by_type"][event].as_u64().unwrap_or_default()
    }

    /// How often a code was reported.
    pub(crate) fn diagnostics(&self, code: &str) -> u64 {
        let all = self.0["diagnostics"].as_array().into_iter().flatten();
        all.filter(|found| found["code"] == code).filter_map(|found| found["count"].as_u64()).sum()
    }

    /// What happened, without the additions from lines that are not events.
    pub(crate) fn happened(&self) -> Value {
        let mut types = self.0["events"]["by_type"].clone();
        let noise = ["raw.stdout", "raw.stderr", "parser.warning"];
        noise.iter().for_each(|name| drop(types.as_object_mut().expect("an object").remove(*name)));
        let same = ["run_status", "rule", "completion", "output", "marker", "prompt"].map(|name| &self.0[name]);
        json!([types, same, self.messages(), self.tools()])
    }
}
