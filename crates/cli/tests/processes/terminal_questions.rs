//! Questions of a run, asked and answered on a terminal, and turns that are interrupted there.

use lab::{Lab, wait_until};

use crate::on_terminal::Terminal;

const ASKS: &str = r"
- - say: Let me think.
  - ask: {kind: choose_one, prompt: Which colour?, options: [red, green, blue]}
- - output: {answer: '{{reply}}'}
    done: true
";

const PROMPT: &str = "number or answer> ";

fn asking() -> (Lab, Terminal) {
    let lab = Lab::with_skill("paint", ASKS);
    let terminal = Terminal::new(lab.command(&["run", "./paint", "--engine", "scripted", "--mode", "interactive"]));
    terminal.wait_for(PROMPT, 1);
    (lab, terminal)
}

/// Regression: the agent got "9" as its answer.
#[test]
fn number_without_option_is_asked_again() {
    let (lab, mut terminal) = asking();
    terminal.press("9\n");
    terminal.wait_for("there is no option 9; enter a number from 1 to 3, or an answer in words", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.press("3\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(lab.json(&["result", "last", "--json"])["output"]["answer"], "blue");
}

/// Regression: Ctrl-C canceled a run whose question the user only wanted to leave for later.
#[test]
fn ctrl_c_at_a_question_names_ctrl_d_before_it_cancels() {
    let (lab, mut terminal) = asking();
    terminal.interrupt();
    terminal.wait_for("Ctrl-D leaves the question open; press Ctrl-C again to cancel the run", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(6), "{}", terminal.screen());
    assert!(terminal.screen().contains("skillrun reply"), "{}", terminal.screen());
    assert_eq!(lab.json(&["show", "last", "--json"])["status"], "waiting_user");
}

#[test]
fn second_ctrl_c_at_a_question_cancels_the_run() {
    let (lab, mut terminal) = asking();
    terminal.interrupt();
    terminal.wait_for(PROMPT, 2);
    terminal.interrupt();
    assert_eq!(terminal.end(), Some(130), "{}", terminal.screen());
    assert_eq!(lab.json(&["show", "last", "--json"])["status"], "canceled");
}

const TALK: &str = "- - say: First begins.\n  - hang\n\
                    - - say: 'Second: {{reply}}'\n\
                    - - say: Third begins.\n  - hang\n\
                    - - say: 'Fourth: {{reply}}'\n";

/// How the turns of the last run ended.
fn turns(lab: &Lab) -> Vec<String> {
    let run = lab.runs().pop().expect("a run");
    let ended = lab.events(&run).into_iter().filter(|event| lab::kind(event) == "attempt.ended");
    ended.map(|event| event["data"]["terminal_status"].as_str().expect("a word").to_owned()).collect()
}

/// Follows a run until the Log has these words of a turn that hangs.
fn follow(lab: &Lab, words: &[&str], until: &str) -> Terminal {
    let terminal = Terminal::new(lab.command(&[words, &["--engine", "scripted", "--follow"]].concat()));
    wait_said(lab, until);
    terminal
}

fn wait_said(lab: &Lab, words: &str) {
    let has_words = |run: &String| lab.events(run).iter().any(|event| event.to_string().contains(words));
    wait_until(words, || lab.runs().last().is_some_and(has_words));
}

#[test]
fn esc_interrupts_the_turn_that_run_and_reply_follow() {
    let lab = Lab::with_skill("talk", TALK);
    let mut terminal = follow(&lab, &["run", "./talk", "--mode", "conversation"], "First begins.");
    terminal.wait_quiet(true);
    // The second Esc has nothing to interrupt.
    terminal.press("ignored\x7f\x1b[A\x1b");
    terminal.wait_for("prompt> ", 1);
    terminal.wait_quiet(false);
    assert_eq!(turns(&lab), ["interrupted"]);
    // What was typed during the turn is the beginning of the prompt.
    terminal.wait_for("prompt> ignored", 1);
    terminal.press(" no more\n");
    terminal.wait_for("Second: ignored no more", 1);
    terminal.wait_for("prompt> ", 2);
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(6), "{}", terminal.screen());
    let mut terminal = Terminal::new(lab.command(&["reply", "last", "go on", "--follow"]));
    wait_said(&lab, "Third begins.");
    terminal.press("typed ahead\n\x1b");
    terminal.wait_for("Fourth: typed ahead", 1);
    terminal.wait_for("prompt> ", 2);
    assert_eq!(turns(&lab), ["interrupted", "completed", "interrupted", "completed"]);
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(6), "{}", terminal.screen());
    terminal.wait_quiet(false);
}

#[test]
fn esc_interrupts_a_turn_of_an_interactive_run_and_none_in_auto_mode() {
    let lab = Lab::with_skill("talk", TALK);
    let mut terminal = follow(&lab, &["run", "./talk", "--mode", "interactive"], "First begins.");
    terminal.press("\x1b");
    terminal.wait_for("prompt> ", 1);
    terminal.press("\x04");
    assert_eq!((terminal.end(), turns(&lab)), (Some(6), vec!["interrupted".to_owned()]), "{}", terminal.screen());
    let lab = Lab::with_skill("talk", TALK);
    let mut terminal = follow(&lab, &["run", "./talk", "--mode", "auto"], "First begins.");
    assert!(!terminal.is_quiet(), "the terminal is left as it is");
    terminal.interrupt();
    assert_eq!(terminal.end(), Some(130), "{}", terminal.screen());
}

#[test]
fn line_that_is_not_utf8_is_asked_again() {
    let (lab, mut terminal) = asking();
    terminal.press_bytes(b"caf\xe9\n");
    terminal.wait_for("the prompt is not UTF-8: byte 3 is invalid", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.press("3\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(lab.json(&["result", "last", "--json"])["output"]["answer"], "blue");
}
