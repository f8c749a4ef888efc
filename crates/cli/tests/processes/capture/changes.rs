//! Which files of the workspace an attempt changed, from the command to the files. The details are shown beside the
//! code, in `crates/collect/src/snapshot`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Output;

use lab::host::{self, HostLab};
use rustix::fs::{CWD, FileType, Mode};
use serde_json::{Value, json};
use skillrun_model::EndedBy;

use crate::SKILLRUN;

fn diff(lab: &HostLab) -> Value {
    lab.json("fs-diff.1.json")
}

pub(super) fn paths(diff: &Value, what: &str) -> Vec<String> {
    let entries = diff[what].as_array().expect("a list");
    entries.iter().map(|entry| entry["path"].as_str().expect("a path").to_owned()).collect()
}

/// All three lists in one line each.
fn summarized(diff: &Value) -> String {
    let list = |what| format!("{what}: {}", paths(diff, what).join(" "));
    ["created", "modified", "deleted"].map(list).join("; ")
}

fn put(lab: &HostLab, name: &str, text: &str) {
    let path = lab.workspace().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

fn shell(lab: &HostLab, options: &[&str], script: &str) -> Output {
    let output = host::output(lab.bare_capture(options).args(["sh", "-c", script]));
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    lab.assert_no_process_is_left();
    output
}

#[test]
fn created_modified_and_deleted_files_are_reported() {
    let lab = HostLab::new();
    put(&lab, "same.txt", "same\n");
    put(&lab, "text.txt", "one\ntwo\nthree\n");
    put(&lab, "mode.sh", "echo\n");
    put(&lab, "old/gone.txt", "gone\n");
    put(&lab, "touched.txt", "touched\n");
    fs::write(lab.workspace().join("binary"), b"\0\x01\x02").expect("a file");
    fs::set_permissions(lab.workspace().join("mode.sh"), fs::Permissions::from_mode(0o644)).expect("a mode");
    let script =
        "mkdir -p new/folder && echo hello > new/folder/file.txt && sed -i s/two/2/ text.txt && chmod 755 mode.sh &&
        rm -r old && printf '\\0\\3' > binary && touch -d 2001-01-01 touched.txt && cat same.txt > /dev/null";
    shell(&lab, &[], script);
    let diff = diff(&lab);
    let expected =
        "created: new new/folder new/folder/file.txt; modified: binary mode.sh text.txt; deleted: old old/gone.txt";
    assert_eq!(summarized(&diff), expected, "a new date alone is not a change");
    let counts = json!({"created": 3, "modified": 3, "deleted": 2});
    assert_eq!(diff["counts"], counts);
    assert_eq!(lab.meta(1)["fs_diff"], counts);
    assert_eq!(serde_json::to_value(lab.record(1).fs_diff).expect("JSON"), counts);
    let modified = |name: &str| {
        let entries = diff["modified"].as_array().expect("a list");
        entries.iter().find(|entry| entry["path"] == name).expect(name).clone()
    };
    assert_eq!(modified("text.txt")["diff"], "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_ne!(modified("text.txt")["before"]["hash"], modified("text.txt")["after"]["hash"]);
    assert_eq!(modified("binary")["diff_omitted"], "binary");
    let mode = modified("mode.sh");
    assert_eq!((&mode["before"]["mode"], &mode["after"]["mode"]), (&json!("0644"), &json!("0755")));
    assert_eq!(mode["before"]["hash"], mode["after"]["hash"]);
    assert_eq!(mode.get("diff"), None, "the content is the same");
    let created = &diff["created"][2];
    assert_eq!((&created["kind"], &created["size"]), (&json!("file"), &json!(6)));
    assert_eq!(created["hash"].as_str().map(str::len), Some(64));
    let hello = lab.json("fs-after.1.json")["entries"].as_array().expect("a list").clone();
    assert!(hello.iter().any(|entry| entry["path"] == "new/folder/file.txt" && entry["hash"] == created["hash"]));
    for name in ["fs-before.1.json", "fs-after.1.json", "fs-diff.1.json"] {
        let mode = fs::metadata(lab.audit().join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!lab.has("blobs/text.1.pack"), "the old texts are of no use any more");
}

#[test]
fn links_are_reported_and_never_followed() {
    let lab = HostLab::new();
    let outside = lab.path("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("secret.txt"), "not ours\n").expect("a file");
    symlink(&outside, lab.workspace().join("to-outside")).expect("a link");
    symlink("nowhere", lab.workspace().join("turned")).expect("a link");
    symlink(".", lab.workspace().join("circle")).expect("a link");
    let script =
        "echo changed > to-outside/secret.txt && ln -sfn elsewhere turned && ln -s /etc/passwd new && rm circle";
    shell(&lab, &[], script);
    let diff = diff(&lab);
    assert_eq!(summarized(&diff), "created: new; modified: turned; deleted: circle");
    assert_eq!(diff["created"][0]["target"], "/etc/passwd");
    let turned = &diff["modified"][0];
    assert_eq!((&turned["before"]["target"], &turned["after"]["target"]), (&json!("nowhere"), &json!("elsewhere")));
    let listing = host::text(&lab.evidence("fs-after.1.json"));
    assert!(!listing.contains("secret.txt"), "{listing}");
    assert!(listing.contains("\"path\":\"to-outside\",\"kind\":\"symlink\""), "{listing}");
}

/// Opening a pipe without a writer would never return.
#[test]
fn pipes_and_sockets_are_named_and_not_opened() {
    let lab = HostLab::new();
    let fifo = |path: &Path| {
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    };
    fifo(&lab.workspace().join("before.pipe"));
    let listener = UnixListener::bind(lab.workspace().join("before.sock")).expect("a socket");
    shell(&lab, &[], "mkfifo made.pipe && rm before.sock && echo x > file");
    drop(listener);
    let diff = diff(&lab);
    assert_eq!(summarized(&diff), "created: file made.pipe; modified: ; deleted: before.sock");
    assert_eq!(diff["created"][1]["kind"], "pipe");
    assert_eq!(diff["deleted"][0]["kind"], "socket");
    assert!(host::text(&lab.evidence("fs-after.1.json")).contains("\"path\":\"before.pipe\",\"kind\":\"pipe\""));
}

#[test]
fn housekeeping_and_what_the_user_names_are_left_out() {
    let lab = HostLab::new();
    put(&lab, ".git/HEAD", "ref: refs/heads/main\n");
    put(&lab, "node_modules/a/index.js", "1\n");
    let script = "echo x >> .git/HEAD && mkdir -p .codex .gemini .opencode .claude .qwen .iflow .agents deep/.claude deep/.git &&
        for dir in .codex .gemini .opencode .claude .qwen .iflow .agents deep/.claude deep/.git; do echo x > $dir/file; done &&
        echo 2 > node_modules/a/index.js && rm -r node_modules/a && echo x > node_modules/b && echo x > debug.log &&
        echo x > keep.log && echo x > .gitignore && mkdir .audit && echo x > .audit/mine && echo x > answer.txt";
    shell(&lab, &["--ignore", "node_modules/", "--ignore", "*.log", "--ignore", "!keep.log"], script);
    let expected = "created: .gitignore answer.txt deep deep/.claude deep/.claude/file keep.log; modified: ; deleted: ";
    assert_eq!(summarized(&diff(&lab)), expected);
    let listings = ["fs-before.1.json", "fs-after.1.json"].map(|name| host::text(&lab.evidence(name))).concat();
    for hidden in ["HEAD", "node_modules", "debug.log", ".codex", ".audit"] {
        assert!(!listings.contains(hidden), "{hidden} is listed");
    }
}

#[test]
fn a_rule_that_is_none_is_refused_before_anything_begins() {
    let (lab, output) = host::captured(&["--ignore", "a{b"], &["out", "never\n"]);
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(host::text(&output.stdout), "");
    assert!(host::text(&output.stderr).contains("a{b"), "{}", host::text(&output.stderr));
    assert!(!lab.has("claim.1"));
}

#[test]
fn without_snapshots_there_are_no_files_of_them() {
    let lab = HostLab::new();
    put(&lab, "text.txt", "one\n");
    shell(&lab, &["--no-snapshot"], "echo two > text.txt");
    let names = fs::read_dir(lab.audit()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("fs-") || name == "blobs").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(lab.meta(1)["fs_diff"], Value::Null);
    assert_eq!(lab.record(1).fs_diff, None);
}

#[test]
fn a_recording_in_the_workspace_is_not_a_change() {
    let lab = HostLab::new();
    let mut command = std::process::Command::new(SKILLRUN);
    command.arg("capture").current_dir(lab.workspace()).args(["--", "sh", "-c", "echo x > made.txt; ls -a"]);
    let output = host::output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    assert!(host::text(&output.stdout).contains(".audit"), "it is there, where the engine works");
    let audit = lab.workspace().join(".audit");
    let read = |name: &str| host::text(&fs::read(audit.join(name)).expect(name));
    let diff: Value = serde_json::from_str(&read("fs-diff.1.json")).expect("JSON");
    assert_eq!(summarized(&diff), "created: made.txt; modified: ; deleted: ");
    assert!(!read("fs-after.1.json").contains(".audit"));
    // The next attempt begins where this one ended.
    let output = host::output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    let diff: Value = serde_json::from_str(&read("fs-diff.2.json")).expect("JSON");
    assert_eq!(summarized(&diff), "created: ; modified: ; deleted: ", "the same content is not a change");
}

#[test]
fn a_text_that_holds_a_secret_is_masked_in_the_diff() {
    let lab = HostLab::new();
    put(&lab, "config.txt", "key = hunter2-hunter2\n");
    let options = ["--secret", "KEY", "--env", "KEY=hunter2-hunter2"];
    shell(&lab, &options, "echo \"other = $KEY\" >> config.txt && echo $KEY > made.txt");
    let text = host::text(&lab.evidence("fs-diff.1.json"));
    assert!(!text.contains("hunter2"), "{text}");
    let expected = "@@ -1 +1,2 @@\n key = ***************\n+other = ***************\n";
    assert_eq!(diff(&lab)["modified"][0]["diff"], expected);
}

/// What is left running changes files to the last moment, and that is seen too.
#[test]
fn the_second_snapshot_is_taken_after_the_last_process() {
    let words = r"daemon [ silence file begun x repeat 100000 [ append log.txt line\n ] ] wait-file begun exit 0";
    let (lab, output) = host::captured(&[], &host::steps(words));
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    lab.assert_no_process_is_left();
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Exited));
    let diff = diff(&lab);
    let created = diff["created"].as_array().expect("a list");
    for entry in created {
        let path = lab.workspace().join(entry["path"].as_str().expect("a path"));
        assert_eq!(fs::metadata(&path).expect("a file").len(), entry["size"], "{entry}");
    }
    assert!(paths(&diff, "created").contains(&"begun".to_owned()), "{diff}");
}
