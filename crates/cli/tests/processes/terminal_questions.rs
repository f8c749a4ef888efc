//! Questions of a run, asked and answered on a terminal.

use lab::Lab;

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
