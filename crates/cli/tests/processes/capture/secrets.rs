//! Secrets: in the evidence as they were written, and nowhere else; masked in every view, however they come.

use std::fs;
use std::io::Read;

use lab::eventually;
use lab::host::{self, FIRST, HostLab, contains, escaped, output, receive, receive_ended, said, spawn_piped, steps};
use skillrun_collect::plan::{Variable, VariableKind};
use skillrun_collect::protocol::{Notice, RecordedSizes};
use skillrun_evidence::{Folder, Tail};
use skillrun_model::{Code, EndedBy, Stream};

const SECRET: &str = "sk-live-0123456789abcdef";
const MASK: &str = "************************";
const CODEX: [&str; 2] = ["--engine", "codex"];
/// Passes the secret on.
const PASSED: &[&str] = &["--env", "KEY=sk-live-0123456789abcdef", "--secret", "KEY"];

/// Sees that a value stands in no file of `.audit` but what the engine wrote and was given.
fn assert_only_in_logs(lab: &HostLab, value: &str) {
    let in_json = serde_json::to_string(value).expect("JSON");
    for name in lab.left().into_iter().filter(|name| !name.ends_with('/')) {
        let content = lab.evidence(&name);
        let is_there = contains(&content, value) || contains(&content, in_json.trim_matches('"'));
        assert!(!is_there || name.ends_with(".log"), "the secret is in {name}");
    }
}

/// What a reader of the recording is given of a stream by now.
fn read_now(lab: &HostLab, stream: Stream) -> Option<String> {
    let mut feed = Folder::open(&lab.out()).ok()?.attempt(FIRST).expect("the attempt").feed().expect("its bytes");
    let mut read = Vec::new();
    while let Some(step) = feed.next_step().expect("a step") {
        if let skillrun_evidence::feed::StepKind::Bytes { stream: of, bytes } = step.kind
            && of == stream
        {
            read.extend_from_slice(bytes);
        }
    }
    Some(host::text(&read))
}

#[test]
fn half_a_secret_is_not_announced_before_the_other_half() {
    let (first, second) = SECRET.split_at(9);
    let lab = HostLab::new();
    let words = format!(r"out before:{first} err meanwhile\n wait-file go out {second}:after\n");
    let mut child = spawn_piped(&mut lab.capture(PASSED, &steps(&words)));
    // The engine waits, and the host has read both streams.
    lab.await_stdout(1, first);
    eventually("the other stream", || read_now(&lab, Stream::Stderr).filter(|text| text == "meanwhile\n"));
    eventually("what comes before", || read_now(&lab, Stream::Stdout).filter(|text| !text.is_empty()));
    assert_eq!(read_now(&lab, Stream::Stdout).as_deref(), Some("before:"), "the tail is held back");
    let mut shown = [0; 7];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut shown).expect("seven bytes");
    assert_eq!(&shown, b"before:");
    lab.put("go", "");
    let output = child.wait_with_output().expect("its output");
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), format!("{MASK}:after\n")));
    assert_eq!(host::text(&output.stderr), "meanwhile\n");
    assert_eq!(read_now(&lab, Stream::Stdout), Some(format!("before:{MASK}:after\n")));
    assert_eq!(host::text(&lab.evidence("stdout.1.log")), format!("before:{SECRET}:after\n"), "the truth is kept");
    assert!(lab.record(1).capture.reads >= 3, "two reads of stdout, one of stderr");
    assert_eq!(host::text(&lab.evidence("redact.1.jsonl")), "{\"stream\":\"stdout\",\"from\":7,\"to\":31}\n");
    let of_stdout: Vec<_> = lab.index(1).into_iter().filter(|record| record["stream"] == "stdout").collect();
    assert_eq!((&of_stdout[0]["to"], &of_stdout[1]["from"]), (&7.into(), &7.into()), "{of_stdout:?}");
    assert_only_in_logs(&lab, SECRET);
}

#[test]
fn the_owner_receives_no_byte_that_may_be_a_secret() {
    let (first, second) = SECRET.split_at(20);
    let lab = HostLab::new();
    let words = format!(r"out before:{first} err x wait-file go out {second}:after");
    let mut plan = lab.plan(&steps(&words));
    plan.variables.push(Variable { name: "KEY".into(), value: SECRET.into(), kind: VariableKind::Secret });
    let mut owner = lab.start(&plan);
    let of = |notice: &Notice| if let Notice::Progress(progress) = notice { Some(*progress) } else { None };
    // Written later, so what was written before it has been read by then.
    let at_half: RecordedSizes =
        receive(&mut owner, "stderr", |notice| of(notice).filter(|progress| progress.stderr == 1));
    assert_eq!(at_half.stdout, 7);
    let mut tail = Tail::new(&lab.audit(), FIRST);
    assert_eq!(tail.next(Stream::Stdout, at_half.stdout).expect("readable"), Some(&b"before:"[..]));
    lab.put("go", "");
    let at_end: RecordedSizes =
        receive(&mut owner, "stdout", |notice| of(notice).filter(|progress| progress.stdout > 7));
    assert_eq!(at_end.stdout, 37);
    let rest = format!("{MASK}:after");
    assert_eq!(tail.next(Stream::Stdout, at_end.stdout).expect("readable"), Some(rest.as_bytes()));
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    assert_only_in_logs(&lab, SECRET);
}

/// What `normalize` makes of the recording with these options.
fn normalized(lab: &HostLab, source: [&str; 2], format: &str) -> String {
    let output = lab.normalize(&[&source[..], &["--format", format]].concat());
    assert!(output.status.success(), "{format}: {}", host::text(&output.stderr));
    host::text(&output.stdout)
}

#[test]
fn a_secret_over_two_reads_is_masked_in_every_view() {
    let stream = in_pieces("codex-tool-then-done", &[("fake run finished", SECRET.to_owned())]);
    let at = stream.windows(SECRET.len()).position(|window| window == SECRET.as_bytes()).expect("the secret") + 11;
    let (first, second) = stream.split_at(at);
    let lab = HostLab::new();
    let words = format!("out {} wait-file go out {}", escaped(first), escaped(second));
    let child = spawn_piped(&mut lab.capture(&[PASSED, &["--engine", "codex"]].concat(), &steps(&words)));
    lab.await_stdout(1, "sk-live-012");
    lab.put("go", "");
    let shown = child.wait_with_output().expect("its output");
    assert_eq!(shown.status.code(), Some(0));
    assert!(lab.record(1).capture.reads >= 2);
    assert!(lab.evidence("stdout.1.log") == stream, "the evidence is what was written");
    let masked = host::text(&stream).replace(SECRET, MASK);
    assert_eq!(host::text(&shown.stdout), masked);
    assert_eq!(host::text(&host::read_back(&lab.out(), 1)[0]), masked);
    for format in ["summary", "conversation", "rasp", "fcmp", "diagnostics"] {
        let view = normalized(&lab, CODEX, format);
        assert!(!view.contains(SECRET), "{format}: {view}");
        assert!(view.contains(MASK) || format == "diagnostics", "{format}: {view}");
    }
    assert!(
        normalized(&lab, CODEX, "summary").contains("\"reason_code\":\"DONE_MARKER_FOUND\""),
        "it is judged all the same"
    );
    let views = lab.path("views");
    let options = ["--engine", "codex", "--out", views.to_str().expect("UTF-8")];
    assert!(lab.normalize(&options).status.success());
    let mut count = 0;
    for entry in fs::read_dir(&views).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert!(!contains(&fs::read(&path).expect("a file"), SECRET), "{}", path.display());
        count += 1;
    }
    assert!(count >= 4, "{count} files");
    assert_only_in_logs(&lab, SECRET);
}

/// The stdout of a recording in which the secret stands: in one piece, in two records, or with something in it that views
/// remove or resolve.
fn in_pieces(recording: &str, change: &[(&str, String)]) -> Vec<u8> {
    let path = testkit::paths::workspace().join(format!("testkit/corpus/{recording}/.audit/stdout.1.log"));
    let mut stream = fs::read_to_string(path).expect("a recording");
    for (from, to) in change {
        assert!(stream.contains(from), "the recording {recording} has changed");
        stream = stream.replace(from, to);
    }
    stream.into_bytes()
}

/// On these profiles a view put the secret together again.
#[test]
fn a_secret_in_pieces_is_in_no_view() {
    let (one, other) = SECRET.split_at(12);
    let halves = [("fake run finish\"", format!("{one}\"")), ("\"ed\\\"", format!("\"{other}\\\""))];
    let with = |what: &str| vec![("fake run finished", format!("{one}{what}{other}"))];
    type Case = (&'static str, &'static str, Vec<(&'static str, String)>);
    let cases: [Case; 6] = [
        ("gemini-stream-done", "gemini_stream_json", halves.to_vec()),
        ("acp-codex-tool-then-done", "acp_jsonrpc", halves.to_vec()),
        ("codex-tool-then-done", "codex_ndjson", with("\\u0000")),
        ("opencode-tool-then-done", "opencode_ndjson", with("\\u001b[1;31m")),
        ("claude-tool-then-done", "claude_stream_json", with("\\u001b]0;title\\u0007")),
        ("qwen-tool-then-done", "qwen_stream_json", vec![("fake run finished", SECRET.replace("-", "\\\\u002d"))]),
    ];
    for (recording, profile, change) in cases {
        let stream = in_pieces(recording, &change);
        let views = |options: &[&str]| {
            let lab = HostLab::new();
            fs::write(lab.path("stream"), &stream).expect("written");
            let mut command = lab.bare_capture(&[options, &["--no-snapshot"]].concat());
            assert!(output(command.arg("cat").arg(lab.path("stream"))).status.success());
            assert!(lab.evidence("stdout.1.log") == stream, "the evidence is what was written");
            let formats = ["summary", "conversation", "rasp", "fcmp"];
            formats.map(|format| normalized(&lab, ["--profile", profile], format)).concat()
        };
        let shown = views(&[]);
        assert!(shown.contains(SECRET), "{recording} does not put it together: {shown}");
        let shown = views(PASSED);
        for part in [SECRET, one, other] {
            assert!(!shown.contains(part), "{recording}: {part}: {shown}");
        }
        assert!(shown.contains("DONE_MARKER_FOUND"), "{recording}: it is judged all the same: {shown}");
    }
}

/// A mask that is not whole was believed.
#[test]
fn what_a_lost_mask_hid_is_withheld() {
    let lab = HostLab::new();
    let words = format!(r"out before\n err go\n wait-file go out key:{SECRET}\n");
    let child = spawn_piped(&mut lab.capture(PASSED, &steps(&words)));
    eventually("the first line", || read_now(&lab, Stream::Stdout).filter(|text| text == "before\n"));
    lab.put("go", "");
    assert!(child.wait_with_output().expect("its output").status.success());
    assert_eq!(read_now(&lab, Stream::Stdout), Some(format!("before\nkey:{MASK}\n")));
    let mask = lab.audit().join("redact.1.jsonl");
    let of_stdout: Vec<_> = lab.index(1).into_iter().filter(|record| record["stream"] == "stdout").collect();
    assert_eq!((&of_stdout[0]["masks"], &of_stdout[1]["masks"]), (&0.into(), &1.into()));
    for lost in ["", "{\"stream\":\"stdout\",\"from\":11,"] {
        fs::write(&mask, lost).expect("written");
        assert_eq!(read_now(&lab, Stream::Stdout), Some(format!("before\n{}", "*".repeat(29))));
        let told = normalized(&lab, CODEX, "diagnostics");
        assert!(told.contains("MASK_INCOMPLETE") && !told.contains(SECRET), "{told}");
    }
    fs::remove_file(&mask).expect("removed");
    assert_eq!(read_now(&lab, Stream::Stdout), Some(format!("before\n{}", "*".repeat(29))));
}

#[test]
fn a_file_that_is_named_after_a_secret_is_in_no_list() {
    let (lab, output) = host::captured(PASSED, &steps(&format!("file report-{SECRET}.md x file report.md x")));
    assert_eq!(output.status.code(), Some(0));
    let diff = lab.json("fs-diff.1.json");
    assert_eq!(diff["counts"]["created"], 1, "{diff}");
    assert!(lab.record(1).warnings.iter().any(|warning| warning.code == Code::SecretInFileName));
    assert_only_in_logs(&lab, SECRET);
}

/// A reader waits for the end of a turn, which may end with what could be the beginning of a secret.
#[test]
fn a_possible_secret_is_held_back_at_most_a_second() {
    let (one, other) = SECRET.split_at(9);
    let line = |text: &str| escaped(format!("{{\"text\":\"{text}\"}}\n").as_bytes());
    let lab = HostLab::new();
    let words = format!("out {} wait-file go out {}", line(one), line(other));
    let child = spawn_piped(&mut lab.capture(PASSED, &steps(&words)));
    let shown = format!("{{\"text\":\"{one}\"}}\n");
    eventually("the first record", || read_now(&lab, Stream::Stdout).filter(|text| *text == shown));
    lab.put("go", "");
    assert!(child.wait_with_output().expect("its output").status.success());
    let rest = format!("{{\"text\":\"{}\"}}\n", "*".repeat(other.len()));
    assert_eq!(read_now(&lab, Stream::Stdout), Some(shown + &rest), "the longer part is hidden");
}

#[test]
fn a_secret_is_found_however_json_writes_it() {
    let value = "pass\"wörd/\nline two 😀";
    let usual = serde_json::to_string(value).expect("JSON");
    let usual = usual.trim_matches('"');
    let ascii = r#"pass\"w\u00f6rd/\nline two \ud83d\ude00"#;
    let upper_slash = r#"pass\"w\u00F6rd\/\nline two \uD83D\uDE00"#;
    let twice = serde_json::to_string(usual).expect("JSON");
    let twice = twice.trim_matches('"');
    let lab = HostLab::new();
    let spellings = [value, usual, ascii, upper_slash, twice];
    let words: String = spellings.iter().map(|spelling| format!("out <{}> ", escaped(spelling.as_bytes()))).collect();
    let mut command = lab.capture(&["--secret", "KEY"], &steps(&words));
    let output = output(command.env("KEY", value));
    let masked: String = spellings.iter().map(|spelling| format!("<{}>", "*".repeat(spelling.len()))).collect();
    assert_eq!(host::text(&output.stdout), masked);
    let truth: String = spellings.iter().map(|spelling| format!("<{spelling}>")).collect();
    assert_eq!(host::text(&lab.evidence("stdout.1.log")), truth);
    for spelling in spellings {
        assert_only_in_logs(&lab, spelling);
    }
}

#[test]
fn a_secret_is_masked_on_every_stream_of_every_wiring() {
    let (first, second) = SECRET.split_at(12);
    for (wiring, log, step) in [
        ("pipes", "stdout", "out"),
        ("pipes", "stderr", "err"),
        ("split_pty", "stdout", "out"),
        ("split_pty", "stderr", "err"),
        ("split_pty", "pty-output", "tty"),
        ("one_pty", "stdout", "out"),
        ("one_pty", "stdout", "err"),
        ("one_pty", "stdout", "tty"),
    ] {
        let lab = HostLab::new();
        let words = format!("{step} a:{first} wait-file go {step} {second}:z");
        let child =
            spawn_piped(&mut lab.capture(&[PASSED, &["--wiring", wiring, "--no-snapshot"]].concat(), &steps(&words)));
        let path = lab.audit().join(format!("{log}.1.log"));
        eventually("the first half", || fs::read(&path).ok().filter(|bytes| bytes.len() == 14));
        lab.put("go", "");
        let output = child.wait_with_output().expect("its output");
        let shown = if log == "stdout" { output.stdout } else { output.stderr };
        assert_eq!(host::text(&shown), format!("a:{MASK}:z"), "{wiring} {step}");
        assert_eq!(host::text(&lab.evidence(&format!("{log}.1.log"))), format!("a:{SECRET}:z"), "{wiring} {step}");
        let read: Vec<_> = host::read_back(&lab.out(), 1).concat();
        assert_eq!(host::text(&read), format!("a:{MASK}:z"), "{wiring} {step}");
        assert_only_in_logs(&lab, SECRET);
    }
}

#[test]
fn many_secrets_in_a_flood_are_all_masked() {
    let other = "another-secret-of-mine";
    let words = format!("repeat 300 [ out x{SECRET}y flood stdout 1000 out {other}{SECRET} err {other} ]");
    let options = [PASSED, &["--env", "OTHER=another-secret-of-mine", "--secret", "OTHER"]].concat();
    let (lab, output) = host::captured(&options, &steps(&words));
    let flood = host::text(&host::flood(1000));
    let masked = format!("x{MASK}y{flood}{}{MASK}", "*".repeat(other.len())).repeat(300);
    assert!(host::text(&output.stdout) == masked, "what was shown is not what was written, masked");
    assert_eq!(host::text(&output.stderr), "*".repeat(other.len() * 300));
    assert!(host::read_back(&lab.out(), 1)[0] == masked.as_bytes(), "what is read is not what was written, masked");
    assert_only_in_logs(&lab, SECRET);
    assert_only_in_logs(&lab, other);
}

#[test]
fn the_beginning_of_a_secret_at_the_very_end_is_none() {
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let (lab, output) =
            host::captured(&[PASSED, &["--wiring", wiring]].concat(), &steps("out end:sk-live-0123456789abcde"));
        assert_eq!(host::text(&output.stdout), "end:sk-live-0123456789abcde", "{wiring}");
        assert_eq!(host::text(&host::read_back(&lab.out(), 1)[0]), "end:sk-live-0123456789abcde", "{wiring}");
        assert_eq!(lab.evidence("redact.1.jsonl"), b"", "{wiring}");
    }
}

/// Nearly all of it was kept, and nothing shows that the rest is missing.
#[test]
fn a_secret_that_the_budget_cuts_is_masked() {
    let options = [PASSED, &["--max-bytes", "27"]].concat();
    let (lab, output) = host::captured(&options, &steps(&format!("out end:{SECRET} forever")));
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(host::text(&output.stdout), format!("end:{}", "*".repeat(23)));
    assert_eq!(host::text(&lab.evidence("stdout.1.log")), "end:sk-live-0123456789abcde");
    assert_eq!(host::text(&host::read_back(&lab.out(), 1)[0]), format!("end:{}", "*".repeat(23)));
    assert_only_in_logs(&lab, "sk-live-0123456789abcde");
}

#[test]
fn a_secret_in_a_changed_file_is_masked_in_the_diff() {
    let (first, second) = SECRET.split_at(4);
    let lab = HostLab::new();
    lab.put("config.txt", "name = x\nkey =\n");
    let words = format!(
        r"append config.txt key\x20=\x20{first} append config.txt {second}\n append new.txt {first} append new.txt {second}"
    );
    assert_eq!(lab.run(PASSED, &steps(&words)).status.code(), Some(0));
    let diff = lab.json("fs-diff.1.json");
    let text = diff["modified"][0]["diff"].as_str().expect("a text diff");
    assert!(text.contains(&format!("+key = {MASK}\n")), "{text}");
    assert_eq!((&diff["counts"]["created"], &diff["counts"]["modified"]), (&1.into(), &1.into()));
    assert_only_in_logs(&lab, SECRET);
}

#[test]
fn a_secret_that_was_in_a_file_before_is_masked_in_the_diff() {
    let lab = HostLab::new();
    lab.put("config.txt", &format!("key = {SECRET}\nname = x\n"));
    assert_eq!(lab.run(PASSED, &steps(r"file config.txt name\x20=\x20y\n")).status.code(), Some(0));
    let diff = lab.json("fs-diff.1.json")["modified"][0]["diff"].to_string();
    assert!(diff.contains(&format!("-key = {MASK}\\n")), "{diff}");
    assert_only_in_logs(&lab, SECRET);
    assert!(!lab.left().iter().any(|name| name.ends_with(".pack")), "the old texts do not outlive the diff");
}

#[test]
fn a_secret_on_the_command_line_is_masked_in_the_records() {
    let (lab, output) = host::captured(PASSED, &steps(&format!("out {SECRET}")));
    assert_eq!(host::text(&output.stdout), MASK);
    let argv = &lab.meta(1)["argv"];
    assert_eq!((&argv[1], &argv[2], &argv[3]), (&"steps".into(), &"out".into(), &MASK.into()));
    assert_only_in_logs(&lab, SECRET);
    // The command may not even begin.
    let mut command = lab.bare_capture(PASSED);
    let output = host::output(command.arg(format!("./{SECRET}/nowhere")));
    assert_eq!(output.status.code(), Some(127));
    assert!(!contains(&lab.evidence("host.2.json"), SECRET), "the sentence with the reason has it");
    assert!(!contains(&output.stderr, SECRET), "{}", host::text(&output.stderr));
}

#[test]
fn a_secret_that_the_engine_is_given_is_marked_in_its_input() {
    let lab = HostLab::new();
    fs::write(lab.path("input"), format!("my key is {SECRET}\n")).expect("a file");
    let input = lab.path("input").into_os_string().into_string().expect("UTF-8");
    let output = lab.run(&[PASSED, &["--stdin", &input]].concat(), &["read-line"]);
    assert_eq!(host::text(&output.stdout), format!("got: my key is {MASK}\n"));
    assert_eq!(host::text(&lab.evidence("stdin.1.log")), format!("my key is {SECRET}\n"));
    let redact = host::text(&lab.evidence("redact.1.jsonl"));
    assert!(redact.contains("{\"stream\":\"stdin\",\"from\":10,\"to\":34}\n"), "{redact}");
    assert_only_in_logs(&lab, SECRET);
}

#[test]
fn a_secret_may_be_inherited_or_given_and_reaches_the_engine() {
    let ways: [(&[&str], Option<&str>); 3] = [
        (&["--secret", "KEY"], Some(SECRET)),
        (PASSED, None),
        // Given explicitly counts more, and both are one variable.
        (&["--secret", "KEY", "--env", "KEY=sk-live-0123456789abcdef"], Some("inherited-and-not-used")),
    ];
    for (options, inherited) in ways {
        let lab = HostLab::new();
        let mut command = lab.bare_capture(options);
        command.args(["sh", "-c", "printf '%s' \"$KEY\"; test \"${#KEY}\" = 24"]).env_remove("KEY");
        if let Some(value) = inherited {
            command.env("KEY", value);
        }
        let output = output(&mut command);
        assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), MASK.to_owned()), "{options:?}");
        assert_eq!(lab.evidence("stdout.1.log"), SECRET.as_bytes());
        let meta = lab.meta(1);
        assert_eq!(meta["secret_names"], serde_json::json!(["KEY"]));
        assert!(meta["env_names"].as_array().expect("names").contains(&"KEY".into()));
        assert_only_in_logs(&lab, SECRET);
    }
}

#[test]
fn a_secret_too_short_to_be_masked_is_reported() {
    let options = ["--env", "PIN=1234567", "--secret", "PIN", "--env", "KEY=12345678", "--secret", "KEY"];
    let (lab, output) = host::captured(&options, &steps(r"out pin:1234567\n out key:12345678\n"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(host::text(&output.stdout), "pin:1234567\nkey:********\n");
    let warnings: Vec<_> = lab.record(1).warnings.into_iter().map(|warning| (warning.code, warning.message)).collect();
    assert_eq!(warnings, [(Code::SecretShort, "PIN is too short to be masked".to_owned())]);
    assert_eq!(said(&output), ["skillrun: warning: SECRET_SHORT: PIN is too short to be masked"]);
}

#[test]
fn a_secret_that_is_not_set_is_refused_before_anything_is_begun() {
    let lab = HostLab::new();
    let mut command = lab.capture(&["--secret", "KEY"], &steps("file made.txt x"));
    let output = output(command.env_remove("KEY"));
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(125), String::new()));
    let sentence = "skillrun: error: --secret KEY: the variable is not set; set it, or give --env KEY=VALUE too\n";
    assert_eq!(host::text(&output.stderr), sentence);
    assert!(!lab.out().exists() && !lab.workspace().join("made.txt").exists(), "something was begun");
}

/// The process list does not show it either, except in the environment of the engine.
#[test]
fn no_command_line_of_ours_has_a_value() {
    let lab = HostLab::new();
    let mut command = lab.capture(&["--secret", "KEY"], &steps("pid main.pid wait-file go"));
    let mut child = host::spawn(command.env("KEY", SECRET));
    let main = lab.await_pid("main.pid");
    let host = lab.json("claim.1")["host_pid"].as_u64().expect("a number") as u32;
    for pid in [host, child.id(), main] {
        let line = fs::read(format!("/proc/{pid}/cmdline")).expect("a process");
        assert!(!contains(&line, SECRET), "{}", host::text(&line));
    }
    let environment = fs::read(format!("/proc/{host}/environ")).expect("a process");
    assert_eq!(host::text(&environment), "", "the host itself needs no variable");
    lab.put("go", "");
    assert!(child.wait().expect("its end").success());
}
