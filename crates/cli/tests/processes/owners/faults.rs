//! What goes wrong around a run: a clear sentence with something to do, nothing lost, other runs untouched.

use std::fs;
use std::process::{Command, Output, Stdio};

use lab::{Lab, eventually, is_end, kind};
use serde_json::Value;

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";
const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A run that has ended well, to be left untouched by everything else.
fn neighbour(lab: &Lab) -> String {
    lab.skill("neighbour", DONE);
    let printed = lab.printed(&["run", "./neighbour", "--engine", "scripted", "--json"]);
    let result: Value = serde_json::from_str(&printed).expect("a result");
    result["run_id"].as_str().expect("an id").to_owned()
}

/// A run that waits for an answer.
fn waiting(lab: &Lab) -> String {
    lab.skill("asks", ASKS);
    let output = lab.output(&["run", "./asks", "--engine", "scripted", "--mode", "interactive", "--json"]);
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).expect("a question");
    told["run_id"].as_str().expect("an id").to_owned()
}

fn bytes_of(lab: &Lab, run: &str) -> (Vec<u8>, Vec<u8>) {
    let folder = lab.data().join("runs").join(run);
    (fs::read(folder.join("events.jsonl")).expect("a Log"), fs::read(folder.join("result.json")).unwrap_or_default())
}

/// Runs a shell script with the program as `$SKILLRUN` in its own mount namespace. None, with the reason printed,
/// where mounting is not allowed.
fn in_own_mounts(lab: &Lab, script: &str) -> Option<Output> {
    if !lab::host::can_mount() {
        return None;
    }
    let program = lab.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("SKILLRUN", program.get_program()).env("DATA", lab.data());
    command.current_dir(lab.path("")).stdin(Stdio::null());
    Some(command.output().expect("run"))
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_and_an_end_event() {
    let lab = Lab::with_skill(
        "floods",
        "- - say: I begin.\n  - flood: 6000000\n  - output: {answer: blue}\n    done: true\n",
    );
    lab.skill("neighbour", DONE);
    let script = r#"
        mount -t tmpfs -o size=3m none "$DATA" || exit 99
        "$SKILLRUN" run ./floods --engine scripted --json > first.json 2> first.txt; echo $? > first.code
        rm -f "$DATA"/runs/*/.audit/stdout.1.log
        "$SKILLRUN" run ./neighbour --engine scripted --json > second.json 2> second.txt; echo $? > second.code
        mkdir kept && cp -a "$DATA/." kept
    "#;
    let Some(output) = in_own_mounts(&lab, script) else { return };
    let text = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    assert_eq!(text("first.code").trim(), "1", "{} {} {}", text("first.txt"), text("first.json"), said(&output));
    let result: Value = serde_json::from_str(&text("first.json")).expect("a result");
    assert_eq!(result["status"], "failed");
    assert_eq!(result["error"]["code"], "HOST_ERROR", "{result:#}");
    let message = result["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("No space left"), "{message}");
    assert!(result["next_actions"].as_array().is_some_and(|actions| !actions.is_empty()), "{result:#}");
    let log = lab.path("kept/runs").join(result["run_id"].as_str().expect("an id")).join("events.jsonl");
    let last = fs::read_to_string(log).expect("a Log").lines().last().map(str::to_owned).expect("an event");
    assert!(is_end(&serde_json::from_str(&last).expect("JSON")), "{last}");
    assert_eq!(text("second.code").trim(), "0", "room was made: {}", text("second.txt"));
}

/// Regression: a run that ended on a full disk never got a result and views, one whose files did not fit ended for
/// a reason that was none, and 64 KiB were kept of every run that was over (found by running on disks of every size).
#[test]
fn when_there_is_room_again_nothing_is_lacking() {
    let lab = Lab::with_skill("neighbour", DONE);
    let script = r#"
        for size in 36k 52k 56k 380k 4m,nr_inodes=19 4m,nr_inodes=25 4m,nr_inodes=31 4m,nr_inodes=34 4m,nr_inodes=37 1m; do
            mount -t tmpfs -o "size=$size" none "$DATA" || exit 99
            "$SKILLRUN" run ./neighbour --engine scripted --json > /dev/null 2> run.txt
            mount -o remount,size=16m,nr_inodes=1000 "$DATA" || exit 99
            "$SKILLRUN" recover > recover.txt 2>&1 || echo "$size: $(cat recover.txt)"
            for run in "$DATA"/runs/*-*; do
                [ -s "$run/events.jsonl" ] || continue
                echo >> ended
                "$SKILLRUN" verify "${run##*/}" > verify.txt 2>&1 || echo "$size: $(cat verify.txt)"
                grep EXIT_UNKNOWN "$run/events.jsonl"
                ls "$run" | grep -x reserve
            done
            umount "$DATA" || exit 99
        done
    "#;
    let Some(output) = in_own_mounts(&lab, script) else { return };
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_to_string(lab.path("ended")).expect("runs").lines().count(), 10, "{}", said(&output));
}

/// Regression: a full disk kept the events of a turn out of the Log and with them the name of the engine's session, and the
/// answer to its question ended the run with `SESSION_ID_MISSING`. Found by `make chaos`.
#[test]
fn a_session_is_known_though_its_events_did_not_fit() {
    let lab = Lab::new();
    let long = "x".repeat(20_000);
    let asks = format!("- - sleep_ms: 3000\n  - say: {long}\n  - ask: {{kind: open_text, prompt: Which colour?}}\n");
    lab.skill("asks", &format!("{asks}- - expect_reply: blue\n  - output: {{answer: blue}}\n    done: true\n"));
    // The owner dies before the engine has said anything, and the next one finds it all there and no room for it.
    let script = r#"
        mount -t tmpfs -o size=8m none "$DATA" || exit 99
        "$SKILLRUN" run ./asks --engine scripted --mode interactive > /dev/null 2>&1 &
        for _ in $(seq 1500); do grep -qs attempt.started "$DATA"/runs/*/events.jsonl && break; sleep 0.02; done
        kill -9 $!
        for _ in $(seq 1500); do [ -e "$DATA"/runs/*/.audit/host.1.json ] && break; sleep 0.02; done
        head -c 20000000 /dev/zero > "$DATA/filler" 2> /dev/null
        "$SKILLRUN" recover > recover.txt 2>&1
        rm "$DATA/filler"
        "$SKILLRUN" reply "$(basename "$DATA"/runs/*-*)" blue --json > reply.json 2> reply.txt; echo $? > reply.code
        cat "$DATA"/runs/*/events.jsonl > events.jsonl
    "#;
    let Some(output) = in_own_mounts(&lab, script) else { return };
    let text = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    let events = text("events.jsonl");
    assert!(events.contains("EVENTS_NOT_LOGGED"), "{} {} {events}", text("recover.txt"), said(&output));
    assert_eq!(text("reply.code").trim(), "0", "{} {}", text("reply.json"), text("reply.txt"));
}

#[test]
fn a_full_disk_refuses_new_runs_in_a_sentence() {
    let lab = Lab::with_skill("neighbour", DONE);
    let script = r#"
        mount -t tmpfs -o size=1m none "$DATA" || exit 99
        head -c 2000000 /dev/zero > "$DATA/filler" 2> /dev/null
        exec "$SKILLRUN" run ./neighbour --engine scripted
    "#;
    let Some(output) = in_own_mounts(&lab, script) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(said(&output).contains("space"), "{}", said(&output));
}

#[test]
fn a_read_only_data_folder_can_be_looked_at_and_nothing_else() {
    let lab = Lab::new();
    let run = neighbour(&lab);
    let script = format!(
        r#"
        mount --bind "$DATA" "$DATA" && mount -o remount,ro,bind "$DATA" || exit 99
        "$SKILLRUN" run ./neighbour --engine scripted > run.txt 2>&1; echo $? > run.code
        "$SKILLRUN" ls --json > ls.json 2> ls.txt; echo $? > ls.code
        "$SKILLRUN" result {run} --json > result.json 2> result.txt; echo $? > result.code
        "$SKILLRUN" logs {run} > logs.txt 2>&1; echo $? > logs.code
    "#
    );
    let Some(_) = in_own_mounts(&lab, &script) else { return };
    let text = |name: &str| fs::read_to_string(lab.path(name)).unwrap_or_default();
    assert_eq!(text("run.code").trim(), "1", "{}", text("run.txt"));
    assert_eq!(text("run.txt").lines().count(), 1, "{}", text("run.txt"));
    assert!(text("run.txt").contains("ead-only"), "{}", text("run.txt"));
    for name in ["ls", "result", "logs"] {
        assert_eq!(text(&format!("{name}.code")).trim(), "0", "{name}: {}", text(&format!("{name}.txt")));
    }
    assert!(text("ls.json").contains(&run), "{}", text("ls.json"));
}

/// The patched copy of a skill is not synced, so a power failure may leave it without its content.
#[test]
fn after_a_power_failure_the_patched_skill_is_made_again() {
    let lab = Lab::new();
    let run = waiting(&lab);
    let folder = lab.run_folder(&run);
    let copy = folder.join("workspace/.agents/skills/asks/SKILL.md");
    let whole = fs::read_to_string(&copy).expect("a copy");
    fs::write(&copy, "").expect("written");
    let lock = fs::read_to_string(folder.join("lock")).expect("a note");
    let mut note: Value = serde_json::from_str(&lock).expect("JSON");
    note["boot"] = "another".into();
    fs::write(folder.join("lock"), format!("{:<127}\n", note.to_string())).expect("written");
    lab.printed(&["reply", &run, "blue", "--json"]);
    assert_eq!(fs::read_to_string(&copy).expect("a copy"), whole);
}

#[test]
fn a_corrupt_catalog_is_made_again() {
    let lab = Lab::new();
    let run = neighbour(&lab);
    let before = lab.json(&["ls", "--json"]);
    fs::write(lab.data().join("catalog.sqlite"), b"this is not a database, whatever its name says").expect("written");
    let output = lab.output(&["ls", "--json"]);
    assert!(output.status.success());
    assert!(said(&output).contains("has been rebuilt"), "{}", said(&output));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).expect("JSON"), before);
    fs::remove_file(lab.data().join("catalog.sqlite")).expect("removed");
    assert_eq!(lab.json(&["ls", "--json"]), before, "{run}");
}

#[test]
fn a_torn_last_line_is_kept_aside_and_the_run_continues() {
    let lab = Lab::new();
    let other = neighbour(&lab);
    let untouched = bytes_of(&lab, &other);
    let run = waiting(&lab);
    let folder = lab.run_folder(&run);
    let events = lab.events(&run).len();
    let mut log = fs::read(folder.join("events.jsonl")).expect("a Log");
    log.extend(b"{\"protocol_version\":\"rasp/1.0\",\"run_id\":\"");
    fs::write(folder.join("events.jsonl"), log).expect("written");
    lab.printed(&["reply", &run, "blue", "--json"]);
    let torn = fs::read_to_string(folder.join("events.torn.1")).expect("kept aside");
    assert!(torn.starts_with("{\"protocol_version\""), "{torn}");
    assert!(lab.events(&run).len() > events && lab.events(&run).last().is_some_and(is_end));
    assert_eq!(bytes_of(&lab, &other), untouched);
}

#[test]
fn missing_evidence_is_reported_and_not_guessed() {
    let lab = Lab::new();
    let other = neighbour(&lab);
    let untouched = bytes_of(&lab, &other);
    lab.skill("slow", "- - say: I begin.\n  - sleep_ms: 300\n  - output: {answer: blue}\n    done: true\n");
    let mut owner = lab.start(&["run", "./slow", "--engine", "scripted", "--json"]);
    let has_message = |run: &String| lab.events(run).iter().any(|event| kind(event) == "agent.message.final");
    let run = eventually("a message", || lab.runs().into_iter().find(|run| *run != other).filter(has_message));
    lab::kill(&mut owner);
    lab.wait_quiet();
    let audit = lab.run_folder(&run).join(".audit");
    fs::remove_file(audit.join("stdout.1.log")).expect("removed");
    fs::remove_file(audit.join("host.1.json")).expect("removed");
    lab.printed(&["recover", "--json"]);
    let events = lab.events(&run);
    let last = events.last().expect("an event");
    assert_eq!(kind(last), "run.failed", "{last:#}");
    assert_eq!(last["data"]["error"]["code"], "ATTEMPT_LOST", "{last:#}");
    assert!(last["data"]["next_actions"].as_array().is_some_and(|actions| !actions.is_empty()));
    assert_eq!(bytes_of(&lab, &other), untouched);
}

#[test]
fn requests_that_cannot_work_are_refused_in_one_sentence() {
    let lab = Lab::new();
    let skill = lab.skill("neighbour", DONE);
    let cases: &[(&[&str], i32, &str)] = &[
        (&["run", "./neighbour", "--engine", "codex"], 4, "skillrun engines install codex"),
        (&["run", "./neighbour", "--engine", "kodex"], 4, "codex"),
        (&["run", "./neighbour"], 2, "--engine"),
        (&["run", "./nothing", "--engine", "scripted"], 4, "nothing"),
        (&["run", "./neighbour", "--engine", "scripted", "--workspace", "nowhere"], 2, "nowhere"),
        (&["run", "./neighbour", "--engine", "scripted", "--file", "a=b"], 2, "b"),
        (&["run", "./neighbour", "--engine", "scripted", "--input", "nothing.json"], 2, "nothing.json"),
        (&["reply", "0", "blue"], 4, "skillrun ls"),
    ];
    for (words, code, hint) in cases {
        // Without any engine, whatever this machine has.
        let output = lab.command(words).env("PATH", lab.path("tmp")).output().expect("run");
        assert_eq!(output.status.code(), Some(*code), "{words:?}: {}", said(&output));
        assert!(said(&output).starts_with("error: ") && said(&output).lines().count() == 1, "{}", said(&output));
        assert!(said(&output).contains(hint), "{words:?}: {}", said(&output));
    }
    fs::write(skill.join("assets/output.json"), r#"{"type": "colour"}"#).expect("written");
    let output = lab.output(&["run", "./neighbour", "--engine", "scripted"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("output.json"), "{}", said(&output));
    assert_eq!(lab.runs(), Vec::<String>::new(), "nothing was accepted");
    let left: Vec<_> = fs::read_dir(lab.data().join("runs")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_skill_that_is_deleted_while_it_runs_changes_nothing() {
    let lab = Lab::new();
    let run = waiting(&lab);
    fs::remove_dir_all(lab.path("asks")).expect("removed");
    let output = lab.output(&["reply", &run, "blue", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("a result");
    assert_eq!(result["output"]["answer"], "blue");
    let again = lab.output(&["retry", &run, "--json"]);
    assert_eq!(again.status.code(), Some(6), "{}", said(&again));
    assert!(said(&again).contains("the copy of the skill in the old run is used"), "{}", said(&again));
}

#[test]
fn a_run_of_a_later_version_is_refused_and_left_alone() {
    let lab = Lab::new();
    let run = waiting(&lab);
    let path = lab.run_folder(&run).join("run.json");
    let record = fs::read_to_string(&path).expect("a record").replace("\"format\": 1", "\"format\": 99");
    fs::write(&path, &record).expect("written");
    let before = bytes_of(&lab, &run);
    let output = lab.output(&["reply", &run, "blue"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("later version"), "{}", said(&output));
    assert_eq!(bytes_of(&lab, &run), before);
}

/// As if skillrun had been replaced by another version while the engine worked.
#[test]
fn events_of_another_parser_are_kept_and_continued() {
    let lab =
        Lab::with_skill("slow", "- - say: I begin.\n  - sleep_ms: 300\n  - output: {answer: blue}\n    done: true\n");
    let mut owner = lab.start(&["run", "./slow", "--engine", "scripted", "--json"]);
    let has_message = |run: &String| lab.events(run).iter().any(|event| kind(event) == "agent.message.final");
    let run = eventually("a message", || lab.runs().into_iter().next().filter(has_message));
    lab::kill(&mut owner);
    let path = lab.run_folder(&run).join("events.jsonl");
    let before = fs::read_to_string(&path).expect("a Log").replace("I begin.", "I began!");
    fs::write(&path, &before).expect("written");
    let output = lab.output(&["recover", "--json"]);
    assert!(output.status.success(), "{}", said(&output));
    let events = lab.events(&run);
    assert_eq!(events.last().map(kind), Some("run.completed"));
    let changed = events.iter().filter(|event| event["data"]["code"] == "PARSER_CHANGED").count();
    assert_eq!(changed, 1);
    let texts: Vec<_> = events.iter().filter(|event| kind(event) == "agent.message.final").collect();
    assert_eq!(texts.len(), 2, "covered events are not reported again: {texts:#?}");
    assert!(fs::read_to_string(&path).expect("a Log").starts_with(&before), "nothing is rewritten");
    let verified = lab.output(&["verify", &run]);
    assert!(verified.status.success(), "not comparable is not a difference: {verified:?}");
}

/// The views of a first attempt have no name of their own before the run waits or is over.
#[test]
fn views_of_a_killed_owner_are_written_whole_by_the_next() {
    let lab = Lab::new();
    lab.skill("hangs", "- - say: I begin.\n  - hang\n");
    let mut owner = lab.start(&["run", "./hangs", "--engine", "scripted", "--mode", "auto", "--json"]);
    let unfinished = |run: &String| lab.run_folder(run).join("fcmp.jsonl.tmp");
    let has_message = |run: &String| lab.events(run).iter().any(|event| kind(event) == "agent.message.final");
    let is_under_way = |run: &String| has_message(run) && unfinished(run).exists();
    let run = eventually("an unfinished view", || lab.runs().into_iter().find(is_under_way));
    owner.kill().expect("killed");
    owner.wait().expect("waited");
    assert!(unfinished(&run).exists() && !lab.run_folder(&run).join("fcmp.jsonl").exists());
    // As if a line had been cut.
    fs::write(unfinished(&run), "{\"seq\":1,").expect("written");
    assert!(lab.output(&["cancel", &run]).status.success());
    lab.wait_quiet();
    let view = fs::read_to_string(lab.run_folder(&run).join("fcmp.jsonl")).expect("a view");
    let last: Value = serde_json::from_str(view.lines().last().expect("a line")).expect("an event");
    assert_eq!(last["type"], "conversation.canceled");
    assert!(view.contains("I begin."), "{view}");
    let verified = lab.output(&["verify", &run]);
    assert!(String::from_utf8_lossy(&verified.stdout).contains("Nothing differs."), "{verified:?}");
    let names = fs::read_dir(lab.run_folder(&run)).expect("a folder").flatten().map(|entry| entry.file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// An owner that was killed while it accepted a request kept the user's folder forever.
#[test]
fn a_request_that_was_never_accepted_keeps_no_folder() {
    let lab = Lab::with_skill("neighbour", DONE);
    fs::create_dir(lab.path("work")).expect("a folder");
    let words = ["run", "./neighbour", "--engine", "scripted", "--workspace", "work", "--json"];
    let run = neighbour(&lab);
    let notes = lab.data().join("workspaces");
    fs::create_dir_all(&notes).expect("a folder");
    // As it is left: a note, and a Log without an event.
    let id = run.replace(&run[run.len() - 4..], "ffff");
    let folder = lab.run_folder(&id);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("events.jsonl"), b"").expect("written");
    let work = fs::canonicalize(lab.path("work")).expect("a folder");
    let note = serde_json::json!({ "run_id": id, "path": work, "sharing": "alone" });
    fs::write(notes.join(format!("{id}.json")), note.to_string()).expect("written");
    let output = lab.output(&words);
    assert!(output.status.success(), "{}", said(&output));
}
