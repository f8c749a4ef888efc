//! What is written in a turn, and to which stream.

use std::str::FromStr;

use serde_json::json;
use skillrun_model::word_enum;

word_enum! {
    pub(super) Scenario {
        Auto = "auto",
        Fenced = "fenced",
        Interactive = "interactive",
        Drift = "drift",
        NoInfo = "noinfo",
        Error = "error",
        Quota = "quota",
    }
}

impl FromStr for Scenario {
    type Err = String;

    /// Nothing is `auto`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Auto);
        }
        let names = || Self::ALL.iter().map(|scenario| scenario.as_str()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|scenario| scenario.as_str() == text);
        found.copied().ok_or_else(|| format!("no scenario {text:?}; there are {}", names()))
    }
}

/// What a turn writes, and its exit code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: u8,
}

impl Spoken {
    pub(super) fn refusal(code: u8, line: &str) -> Self {
        Self { stdout: String::new(), stderr: format!("{line}\n"), code }
    }
}

const BEFORE: &str = "I'll look at the skill and follow its steps.";
const QUESTION: &str = "Let me see what is needed.Before I go on: which colour should the report use, red or blue?\n";
const ERROR: &str = "Error: Error when talking to iFlow API: 500 The server had an error while processing the request.";
const QUOTA: &str =
    "Error: Error when talking to iFlow API: 429 Too Many Requests: rate limit reached. Please try again in 20s.";

/// `said`: what the user said to each turn of the session, this one last.
pub(super) fn spoken(scenario: Scenario, session: &str, said: &[String]) -> Spoken {
    let reply = if said.len() > 1 { said.last().map(String::as_str) } else { None };
    let object = json!({"__SKILL_DONE__": true, "answer": reply.unwrap_or("done")});
    // It puts no line between the text before its tools and the text after them.
    let done = format!("{BEFORE}{object}\n");
    let info = info(session, said.len());
    let (stdout, stderr) = match scenario {
        Scenario::Auto => (done, info),
        Scenario::Fenced => (
            format!(
                "{BEFORE}The skill was followed. Here is the result:\n\n```json\n{object}\n```\n\n**Summary:**\n- All is well\n"
            ),
            info,
        ),
        Scenario::Interactive if reply.is_none() => (QUESTION.to_owned(), info),
        Scenario::Interactive => (done, info),
        Scenario::Drift => (info, done),
        Scenario::NoInfo => (done, String::new()),
        Scenario::Error => return Spoken::refusal(1, ERROR),
        Scenario::Quota => return Spoken::refusal(1, QUOTA),
    };
    Spoken { stdout, stderr, code: 0 }
}

fn info(session: &str, turn: usize) -> String {
    let (input, output) = (100 * turn, 20 * turn);
    let info = json!({
        "session-id": session, "conversation-id": format!("00000000-0000-4000-9000-{turn:012x}"),
        "assistantRounds": turn, "executionTimeMs": 1000,
        "tokenUsage": {"input": input, "output": output, "total": input + output},
    });
    format!("\n<Execution Info>\n{info:#}\n</Execution Info>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken_by(scenario: Scenario) -> Spoken {
        spoken(scenario, "session-1", &["Do it.".to_owned()])
    }

    #[test]
    fn text_and_block_stand_where_the_scenario_says() {
        const OBJECT: &str = r#"{"__SKILL_DONE__":true,"answer":"done"}"#;
        for (scenario, object_on, info_on) in [
            (Scenario::Auto, "out", "err"),
            (Scenario::Fenced, "out", "err"),
            (Scenario::Interactive, "", "err"),
            (Scenario::Drift, "err", "out"),
            (Scenario::NoInfo, "out", ""),
            (Scenario::Error, "", ""),
            (Scenario::Quota, "", ""),
        ] {
            let spoken = spoken_by(scenario);
            let place = |words: &str| match (spoken.stdout.contains(words), spoken.stderr.contains(words)) {
                (true, false) => "out",
                (false, true) => "err",
                (false, false) => "",
                (true, true) => "both",
            };
            assert_eq!((place(OBJECT), place("\"session-id\": \"session-1\"")), (object_on, info_on), "{scenario:?}");
        }
        assert_eq!(spoken_by(Scenario::Quota).code, 1);
        assert_eq!(spoken_by(Scenario::Error).code, 1);
    }

    #[test]
    fn names_are_read_back() {
        for scenario in Scenario::ALL {
            assert_eq!(scenario.as_str().parse(), Ok(*scenario));
        }
        assert_eq!("".parse(), Ok(Scenario::Auto));
    }
}
