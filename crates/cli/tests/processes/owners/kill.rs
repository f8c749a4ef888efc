//! kill -9 of skillrun at random moments, through runs of all kinds. After a restart each run reaches the same verdict as
//! one that was left alone, no event is lost or doubled, and no process is left.

use std::time::{Duration, Instant};

use lab::{Dice, Lab, TEST_TIMEOUT, is_end, kind};
use serde_json::{Value, json};

/// Rounds in `make test`, of all kinds and of long conversations; `make kills` asks for more.
const ROUNDS: u32 = 45;
const TALK_ROUNDS: u32 = 4;

/// Owners that are killed in one round, at most.
const KILLS: u32 = 3;

struct Kind {
    name: &'static str,
    script: &'static str,
    words: &'static str,
    /// One per question.
    answers: &'static [&'static str],
}

const TALK: &str = "
- - say: I begin.
  - sleep_ms: 30
  - tool: {name: shell, input: {command: ls}, output: notes.md}
  - sleep_ms: 30
  - say: Nearly there.
  - write: {path: artifacts/report.md, content: done}
  - sleep_ms: 30
  - output: {answer: blue, report: artifacts/report.md}
    done: true
";

const FAILS: &str = "
- - say: I begin.
  - sleep_ms: 40
  - fail: the model is not there
";

const MISFITS: &str = "
- - sleep_ms: 40
  - output: {answer: 7}
    done: true
";

const ASKS: &str = "
- - say: A question.
  - sleep_ms: 30
  - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 30
  - output: {answer: '{{reply}}'}
    done: true
";

const ASKS_TWICE: &str = "
- - sleep_ms: 20
  - ask: {kind: open_text, prompt: Which colour?}
- - expect_reply: blue
  - sleep_ms: 20
  - ask: {kind: open_text, prompt: Which shade?}
- - expect_reply: dark
  - sleep_ms: 20
  - output: {answer: '{{reply}}'}
    done: true
";

const DECIDED: &str = "
- - ask: {kind: choose_one, prompt: Which?, options: [{value: red, label: Red, default: true}], default_decision_policy: safe_default}
- - expect_reply: red
  - sleep_ms: 20
  - output: {answer: '{{reply}}'}
    done: true
";

const HANGS: &str = "
- - output: {answer: blue}
    done: true
  - end
  - hang
";

const TOO_LONG: &str = "
- - say: I begin.
  - sleep_ms: 60000
";

/// A long row of lines that the parser does not know, in pieces.
const FLOODS: &str = "
- - say: I begin.
  - flood: 12800
  - sleep_ms: 30
  - flood: 70400
  - sleep_ms: 30
  - flood: 12800
  - output: {answer: blue}
    done: true
";

/// Six turns, of which two fail.
const TALKS: &str = "
- - say: One.
  - sleep_ms: 30
- - say: Two begins.
  - sleep_ms: 20
  - fail: the model is not there
- - say: Three.
- - say: Four begins.
  - fail: the model is not there
- - sleep_ms: 20
  - say: 'Five, after {{reply}}.'
- - say: Six.
";

/// One process for all of its turns.
const TALKS_ON: &str = "
- - say: One.
  - sleep_ms: 30
- - sleep_ms: 20
  - say: 'Two, after {{reply}}.'
- - say: Three.
- - sleep_ms: 20
  - say: Never.
";

/// In place of an answer: the conversation is closed.
const CLOSE: &str = "close";

const SIX_TURNS: Kind = made("talks", TALKS, "--mode conversation", &["a", "b", "c", "d", "e", CLOSE]);

const KINDS: &[Kind] = &[
    made("auto", TALK, "--mode auto", &[]),
    made("floods", FLOODS, "--mode auto --profile codex_ndjson", &[]),
    made("fails", FAILS, "--mode auto --profile claude_stream_json", &[]),
    made("misfits", MISFITS, "--mode auto", &[]),
    made("asks", ASKS, "--mode interactive", &["blue"]),
    made("sticky", ASKS_TWICE, "--mode interactive --continuation sticky", &["blue", "dark"]),
    made("decided", DECIDED, "--mode interactive --no-reply-needed --session-timeout 0.2", &[]),
    made(
        "sticky-decided",
        DECIDED,
        "--mode interactive --continuation sticky --no-reply-needed --session-timeout 0.2",
        &[],
    ),
    made("unanswered", ASKS, "--mode interactive --continuation sticky --session-timeout 0.2", &[]),
    made("hangs", HANGS, "--mode auto --linger 0.2", &[]),
    made("too-long", TOO_LONG, "--mode auto --timeout 0.4", &[]),
    SIX_TURNS,
    made("sticky-talks", TALKS_ON, "--mode conversation --continuation sticky", &["a", "b", CLOSE]),
    // Agents of the Agent Client Protocol play a scenario instead of a script.
    made("acp-auto", "slow", "--mode auto", &[]),
    made("acp-asks", "question", "--mode interactive --continuation sticky", &["blue"]),
    made("acp-loads", "question", "--mode interactive --continuation resumable", &["blue"]),
    made("acp-permission", "permission", "--mode interactive --continuation sticky", &["yes"]),
];

const fn made(name: &'static str, script: &'static str, words: &'static str, answers: &'static [&'static str]) -> Kind {
    Kind { name, script, words, answers }
}

impl Kind {
    fn engine(&self) -> &'static str {
        if self.name.starts_with("acp-") { "agent" } else { "scripted" }
    }

    /// Owners of an undisturbed run: where no process stays for the next turn, each answer has one of its own.
    fn owners(&self) -> u64 {
        if self.words.contains("sticky") { 1 } else { 1 + self.answers.len() as u64 }
    }
}

/// Brings a run of this kind to its end; owners are killed as long as `kill` gives moments to do so. Gives back its
/// events, and how many owners were killed while they had something to do.
fn play(lab: &Lab, kind: &Kind, mut kill: impl FnMut() -> Option<Duration>) -> (Vec<Value>, u32) {
    let skill = lab.skill(kind.name, kind.script);
    let skill = skill.to_str().expect("a path");
    lab.agent(kind.script);
    let mut words = vec!["run", skill, "--engine", kind.engine(), "--json"];
    words.extend(kind.words.split(' '));
    let begin = Instant::now();
    let mut killed = 0;
    loop {
        assert!(begin.elapsed() < TEST_TIMEOUT, "{}: no end in time: {:#?}", kind.name, summaries(lab));
        let found = Found::look(lab, kind);
        if found.is_over {
            lab.wait_quiet();
            return (lab.events(&found.run.expect("a run")), killed);
        }
        let words = match (&found.run, found.answer) {
            (None, _) => words.clone(),
            (Some(run), Some(CLOSE)) => vec!["close", run, "--json"],
            (Some(run), Some(answer)) => vec!["reply", run, answer, "--json"],
            (Some(_), None) => vec!["recover", "--json"],
        };
        let mut owner = lab.start(&words);
        let started = Instant::now();
        let moment = kill();
        // What the owner itself was started to say need not be said again.
        let mut said = if ["reply", "close"].contains(&words[0]) { found.answered + 1 } else { found.answered };
        while owner.try_wait().expect("waited").is_none() {
            if moment.is_some_and(|moment| started.elapsed() >= moment) {
                killed += 1;
                lab::kill(&mut owner);
                break;
            }
            let found = Found::look(lab, kind);
            if let (Some(run), Some(answer)) = (&found.run, found.answer)
                && found.answered >= said
                && found.has_process
            {
                // Another process answers; if the owner dies at that moment, it is tried again.
                said = found.answered + 1;
                let reply = ["reply", run, answer, "--json", "--no-wait"];
                let output = if answer == CLOSE { lab.output(&["close", run, "--json"]) } else { lab.output(&reply) };
                if !output.status.success() {
                    said = found.answered;
                }
            }
            if started.elapsed() > TEST_TIMEOUT {
                owner.kill().ok();
                panic!("{}: {words:?} does not come to an end: {:#?}", kind.name, summaries(lab));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What is to be seen of the one run.
struct Found {
    run: Option<String>,
    is_over: bool,
    answered: usize,
    /// To the question that is open.
    answer: Option<&'static str>,
    /// A process waits with the question.
    has_process: bool,
}

impl Found {
    fn look(lab: &Lab, kind: &Kind) -> Self {
        let runs = lab.runs();
        assert!(runs.len() < 2, "{}: more than one run: {runs:?}", kind.name);
        let run = runs.first().cloned();
        let events = run.as_deref().map(|run| lab.events(run)).unwrap_or_default();
        let count = |word: &str| events.iter().filter(|event| lab::kind(event) == word).count();
        let (asked, answered) = (count("interaction.requested"), count("interaction.replied"));
        let control = events.iter().rev().filter(|event| event["source"]["stream"] == "control");
        let status = control.filter_map(|event| event["data"]["status"].as_str()).next();
        let is_open = asked > answered && status == Some("waiting_user");
        Self {
            run,
            is_over: events.last().is_some_and(is_end),
            answered,
            answer: kind.answers.get(answered).copied().filter(|_| is_open),
            has_process: kind.words.contains("sticky"),
        }
    }
}

/// For a person who has to find out why.
fn summaries(lab: &Lab) -> Vec<String> {
    let line = |event: &Value| format!("{} {} {}", event["seq"], kind(event), event["data"]);
    lab.runs().iter().flat_map(|run| lab.events(run)).map(|event| line(&event).chars().take(300).collect()).collect()
}

/// What must not differ: everything made from evidence, every question and answer, every verdict, the end.
fn essence(events: &[Value]) -> Vec<Value> {
    let mut essence = Vec::new();
    for event in events {
        let mut data = event["data"].clone();
        let word = kind(event);
        match word {
            "run.status" if event["source"]["stream"] == "control" => continue,
            "run.started" | "run.heartbeat" | "attempt.started" => continue,
            "attempt.ended" => {
                if let Some(data) = data.as_object_mut() {
                    data.remove("elapsed_ms");
                    // A process that ends its last turn exits at the same moment; whether the exit or the end of the
                    // turn is seen first is chance, and changes no verdict.
                    data.remove("exit");
                    // It is of a file with process numbers and times in it.
                    data.remove("host_hash");
                    // Their commands name the run, and the deadline is a moment.
                    data.remove("next_actions");
                    data.remove("deadline_at");
                }
            }
            // It names the folder of the run.
            "message.user" if data["origin"] == "skill" => data["text"] = Value::Null,
            "interaction.requested" | "interaction.timeout" => data["deadline"] = Value::Null,
            "run.failed" => data["next_actions"] = Value::Null,
            _ => {}
        }
        if word == "attempt.ended" {
            data["verdict"]["pending"]["deadline"] = Value::Null;
        }
        essence.push(json!([word, event["attempt_number"], data, event["raw_ref"]]));
    }
    essence
}

fn check(kind: &Kind, expected: &[Value], events: &[Value], seed: u64) {
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let gapless: Vec<u64> = (1..=events.len() as u64).collect();
    assert_eq!(seqs, gapless, "{} (seed {seed})", kind.name);
    assert_eq!(events.iter().filter(|event| is_end(event)).count(), 1, "{} (seed {seed})", kind.name);
    let found = essence(events);
    let expected = essence(expected);
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{} (seed {seed}): event {at} differs\n{found:#?}", kind.name);
    }
    assert_eq!(found.len(), expected.len(), "{} (seed {seed}): {found:#?}", kind.name);
}

#[test]
fn whatever_moment_an_owner_is_killed_at_the_run_ends_the_same() {
    play_rounds(KINDS, ROUNDS);
}

/// Every round has six turns, so that a kill falls into a turn, between two of them, and into the close.
#[test]
fn a_conversation_of_six_turns_ends_the_same_whenever_it_is_killed() {
    play_rounds(&[SIX_TURNS], TALK_ROUNDS);
}

/// Plays rounds of these kinds in turn, and compares each with an undisturbed run of its kind.
fn play_rounds(kinds: &[Kind], usual: u32) {
    let rounds = std::env::var("SKILLRUN_CHAOS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let mut expected: Vec<Option<(Vec<Value>, Duration)>> = kinds.iter().map(|_| None).collect();
    let (mut hits, mut owners) = (0, 0);
    for round in 0..rounds {
        let at = round as usize % kinds.len();
        let kind = &kinds[at];
        let (undisturbed, took) = expected[at].get_or_insert_with(|| {
            let begin = Instant::now();
            let (events, _) = play(&Lab::new(), kind, || None);
            (events, begin.elapsed())
        });
        let mut dice = Dice::new();
        let seed = dice.0;
        let lab = Lab::new();
        let range = u64::try_from(took.as_millis()).unwrap_or(1000).div_ceil(kind.owners()).max(20);
        let mut left = 1 + u32::try_from(dice.below(u64::from(KILLS))).unwrap_or(0);
        let mut spared = dice.below(kind.owners());
        let moments = || {
            if spared > 0 {
                spared -= 1;
                return None;
            }
            left = left.checked_sub(1)?;
            spared = dice.below(kind.owners());
            Some(Duration::from_millis(dice.below(range)))
        };
        let (events, killed) = play(&lab, kind, moments);
        check(kind, undisturbed, &events, seed);
        hits += u32::from(killed > 0);
        owners += killed;
    }
    eprintln!("{rounds} rounds, {owners} owners killed at work, in {hits} rounds");
    // Four rounds in five do; in a few rounds that is chance.
    let wanted = if rounds >= 40 { rounds / 2 } else { 0 };
    assert!(hits >= wanted, "only {hits} of {rounds} rounds killed a working process");
}
