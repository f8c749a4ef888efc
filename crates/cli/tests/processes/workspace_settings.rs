//! What files of the workspace could start: the switches that an engine gets, the warnings, and what a retry and children
//! take over.

use std::fs;

use lab::{Lab, kind};
use serde_json::{Value, json};

/// It notes how it was started.
const ENGINE: &str = r#"
name = "tool"
title = "A tool"
profile = "plain_text"
continuation = "none"

[executable]
path = PROGRAM

[start]
argv = ["{{workspace_flags}}", "{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission]
workspace = { posture = "enforced" }
read_only = { posture = "enforced" }
full = { posture = "enforced" }

[environment]
set = { HOME = "{{home}}", TOOL_PROJECT = "1" }

[workspace_settings]
flags = ["--ignore-project"]
set = { TOOL_PROJECT = "0" }
starts = [
    { file = ".tool/settings.json", keys = ["servers"], kind = "mcp_server" },
    { file = ".tool/settings.json", keys = ["hooks"], kind = "hook", by = "own_home" },
    { file = ".tool/agent.json", keys = ["hooks"], kind = "hook", by = "nothing" },
    { file = ".tool/plugins", kind = "plugin", by = "refusal" },
]
"#;

const PROGRAM: &str = "#!/bin/sh\necho \"$TOOL_PROJECT $*\" > \"$HOME/started\"\necho done\n";

fn place() -> Lab {
    let lab = Lab::new();
    lab.write_program("programs/tool", PROGRAM);
    lab.write("engines/tool.toml", &ENGINE.replace("PROGRAM", &format!("{:?}", lab.path("programs/tool"))));
    lab.settings(&format!("engines = {:?}\n", lab.path("engines")));
    // The engine looks above the workspace, up to the root of the repository.
    fs::create_dir_all(lab.path("project/.git")).expect("a folder");
    fs::create_dir_all(lab.path("project/part")).expect("a folder");
    lab.write("project/.tool/settings.json", "// comments are allowed\n{\"servers\": {\"one\": {}}, \"hooks\": [1]}");
    lab.write("project/part/.tool/agent.json", "{broken");
    lab.write("project/part/.env", "KEY=secret-of-the-project");
    lab
}

fn words<'a>(workspace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["ask", "hello", "--engine", "tool", "--workspace", workspace], more].concat()
}

/// Runs the engine in `project/part` with these flags; its run.
fn ran(lab: &Lab, more: &[&str]) -> String {
    let before = lab.runs();
    let workspace = lab.path("project/part").display().to_string();
    let output = lab.output(&words(&workspace, more));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    lab.runs().into_iter().find(|run| !before.contains(run)).unwrap_or_else(|| panic!("{more:?}: {said}"))
}

fn started(lab: &Lab, run: &str) -> String {
    fs::read_to_string(lab.run_folder(run).join("home/started")).expect("it was started")
}

/// Codes and messages of the warnings about the workspace.
fn warnings(lab: &Lab, run: &str) -> Vec<(String, String)> {
    let of = |event: &Value| {
        let text = |name: &str| event["data"][name].as_str().unwrap_or_default().to_owned();
        (kind(event) == "parser.warning").then(|| (text("code"), text("message")))
    };
    lab.events(run).iter().filter_map(of).filter(|(code, _)| code.starts_with("WORKSPACE_")).collect()
}

#[test]
fn what_the_workspace_names_is_a_warning() {
    let lab = place();
    let run = ran(&lab, &[]);
    assert_eq!(started(&lab, &run), "0 --ignore-project hello\n");
    let expected = [
        (
            "WORKSPACE_SETTINGS_IGNORED",
            "the workspace names what the engine does not start or use: MCP servers in ../.tool/settings.json, hooks in \
             ../.tool/settings.json",
        ),
        (
            "WORKSPACE_SETTINGS_NOT_STOPPED",
            "the workspace names what the engine cannot be kept from: content that cannot be read in .tool/agent.json",
        ),
        ("WORKSPACE_CREDENTIALS", "the engine can read files that look like credentials: .env"),
    ];
    assert_eq!(warnings(&lab, &run), expected.map(|(code, message)| (code.to_owned(), message.to_owned())));
    let record = lab.run_json(&run, "run.json");
    let first = json!({"file": "../.tool/settings.json", "kind": "mcp_server", "state": "not_started"});
    assert_eq!((&record["workspace_starts"][0], &record["workspace_credentials"]), (&first, &json!([".env"])));
    let page = lab.printed(&["show", &run]);
    assert!(page.contains("not_started: MCP servers in ../.tool/settings.json"), "{page}");
    let log = fs::read_to_string(lab.run_folder(&run).join("events.jsonl")).expect("a Log");
    assert!(!log.contains("secret-of-the-project"), "the file was opened");
    lab.printed(&["verify", &run]);
}

#[test]
fn a_workspace_that_names_nothing_gives_no_warning() {
    let lab = place();
    fs::create_dir_all(lab.path("plain")).expect("a folder");
    lab.write("plain/.tool/settings.json", "{\"servers\": {}}");
    let workspace = lab.path("plain").display().to_string();
    lab.output(&words(&workspace, &[]));
    assert_eq!(warnings(&lab, &lab.runs()[0]), []);
}

#[test]
fn a_run_is_refused_where_no_switch_helps() {
    let lab = place();
    lab.write("project/part/.tool/plugins/one.js", "");
    let workspace = lab.path("project/part").display().to_string();
    let output = lab.output(&words(&workspace, &[]));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), lab.runs().len()), (Some(2), 0), "{error}");
    assert!(error.contains("tool would load plugins in .tool/plugins, and has no switch against it"), "{error}");
    let run = ran(&lab, &["--allow-workspace-settings"]);
    assert_eq!(started(&lab, &run), "1 hello\n");
}

#[test]
fn a_retry_has_the_choice_of_the_first_run() {
    let lab = place();
    let first = ran(&lab, &["--allow-workspace-settings"]);
    assert_eq!(started(&lab, &first), "1 hello\n");
    let codes: Vec<_> = warnings(&lab, &first).into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["WORKSPACE_CREDENTIALS"]);
    let ignored = ran(&lab, &[]);
    for (run, line) in [(&first, "1 hello\n"), (&ignored, "0 --ignore-project hello\n")] {
        let before = lab.runs();
        lab.output(&["retry", run]);
        let again = lab.runs().into_iter().find(|run| !before.contains(run)).expect("another run");
        assert_eq!(started(&lab, &again), line);
    }
}
