//! The scenarios: what the model does, by name.

use std::fmt;
use std::str::FromStr;

macro_rules! scenarios {
    ($($variant:ident, $name:literal, $description:literal;)*) => {
        /// What the model does with a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Scenario {
            $(#[doc = $description] $variant,)*
        }

        impl Scenario {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What it does, in one line.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $description,)*
                }
            }
        }
    };
}

scenarios! {
    Auto, "auto", "a command, then the final object";
    AutoFenced, "autofenced", "a command, then prose with the final object in a fence";
    Artifact, "artifact", "reads the skill, writes report.md into the folder for artifacts, then the final object";
    Text, "text", "one sentence without a marker";
    Soft, "soft", "an object without a marker";
    Interactive, "interactive", "a question in prose, the final object after the next message of the user";
    Multi, "multi", "three questions, the final object in the fourth turn";
    AskUser, "askuser", "a question with a block for the user, then the final object";
    AskUserBad, "askuserbad", "a question whose block is broken YAML without an end";
    Commentary, "commentary", "text and a command, text and a command, then the final object";
    CommentaryPhase, "commentaryphase", "as commentary; Responses say which text is commentary";
    MarkerAlone, "markeralone", "an object in a fence, then the marker in an object of its own";
    MarkerTwice, "markertwice", "two objects with a marker that say different things";
    EchoMarker, "echomarker", "a command prints the marker, the answer is a question";
    Parallel, "parallel", "two commands in one response, then the final object";
    SleepTool, "sleeptool", "a command that takes 300 s";
    BigTool, "bigtool", "a command that prints about 200 kB, then the final object";
    Think, "think", "reasoning, then the final object";
    Unicode, "unicode", "the final object with characters that break careless readers";
    UnicodeEsc, "unicodeesc", "as unicode, with ASCII alone on the wire; gemini cannot read the other";
    UnicodeNul, "unicodenul", "prose with NUL, ESC and other controls, then the final object, with ASCII alone on the wire";
    UnicodeRaw, "unicoderaw", "prose with NUL, ESC and halves of surrogate pairs, then the final object";
    LongText, "longtext", "2 MB of text, the final object at its end";
    Long, "long", "longNk: N kB of text, the final object at its end";
    Slow, "slow", "the final object in 40 pieces with pauses";
    MaxTokens, "maxtokens", "half of the final object, then the limit of tokens";
    MaxTokensOnce, "maxtokensonce", "as maxtokens, but who asks to continue gets the other half";
    Refusal, "refusal", "begins to refuse, then a filter ends it";
    RefusalOnce, "refusalonce", "as refusal, but who continues gets the final object";
    RefusalEmpty, "refusalempty", "refuses in the way of the API that carries no ordinary text";
    RefusalNoText, "refusalnotext", "a filter ends it before the first word";
    Err400, "err400", "HTTP 400 to everything";
    Err401, "err401", "HTTP 401 to everything";
    Err429, "err429", "HTTP 429 to everything; err429.SECONDS says how long to wait, 1 without";
    Quota, "quota", "HTTP 429 to everything, since the quota of a plan is used up; quota.SECONDS: for how long, 3600 without";
    Err500, "err500", "HTTP 500 to everything";
    ErrMid, "errmid", "a command, then HTTP 500";
    Cut, "cut", "the connection is closed in the middle of the text";
    CutAfter, "cutafter", "a command, then as cut";
    CutOnce, "cutonce", "cutonce.KEY: as cut the first time, then the final object";
    EndOnce, "endonce", "endonce.KEY: the stream ends properly in the middle of the text the first time";
    Ordered, "ordered", "does what the last order in the user's words says: [[say WORD]], [[run COMMAND]], [[fail STATUS]], [[break WORD]], [[call TOOL JSON]] or [[play SCRIPT]]";
    Script, "script", "script.NAME: plays a script that was given to the server";
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AsRef<str> for Scenario {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// A scenario as it stands in a path: `NAME`, `NAME.KEY` or `long<N>k`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub scenario: Scenario,
    /// Which of several: the key of what is done once, the name of a script, a number.
    pub key: Option<String>,
}

/// The longest key.
const KEY_MAX: usize = 64;

/// Whether it can be a key: it stands in a path as it is.
pub(super) fn is_key(key: &str) -> bool {
    (1..=KEY_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario {name:?}; the scenarios are {}", names())]
pub struct UnknownScenario {
    name: String,
}

fn names() -> String {
    Scenario::ALL.iter().map(|scenario| scenario.as_str()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Choice {
    type Err = UnknownScenario;

    fn from_str(text: &str) -> Result<Self, UnknownScenario> {
        let unknown = || UnknownScenario { name: text.chars().take(KEY_MAX).collect() };
        if let Some(kilobytes) = text.strip_prefix("long").and_then(|rest| rest.strip_suffix('k'))
            && kilobytes.parse::<u16>().is_ok()
        {
            return Ok(Self { scenario: Scenario::Long, key: Some(kilobytes.to_owned()) });
        }
        let (name, key) = match text.split_once('.') {
            Some((name, key)) => (name, Some(key)),
            None => (text, None),
        };
        let scenario = Scenario::ALL.iter().find(|scenario| scenario.as_str() == name).ok_or_else(unknown)?;
        if key.is_some_and(|key| !is_key(key)) {
            return Err(unknown());
        }
        Ok(Self { scenario: *scenario, key: key.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_distinct() {
        for scenario in Scenario::ALL {
            let choice: Choice = scenario.as_str().parse().expect("a scenario");
            assert_eq!(choice, Choice { scenario: *scenario, key: None });
            assert!(!scenario.description().is_empty());
            assert_eq!(Scenario::ALL.iter().filter(|other| other.as_str() == scenario.as_str()).count(), 1);
        }
    }

    #[test]
    fn keys_and_sizes() {
        let choice = |text: &str| text.parse::<Choice>().map(|choice| (choice.scenario, choice.key));
        assert_eq!(choice("cutonce.a-1"), Ok((Scenario::CutOnce, Some("a-1".to_owned()))));
        assert_eq!(choice("long60k"), Ok((Scenario::Long, Some("60".to_owned()))));
        for wrong in ["", "nothing", "auto.", "auto.a/b", "auto.a.b", "long99999k", "Auto"] {
            let error = choice(wrong).expect_err("no scenario").to_string();
            assert!(error.contains("the scenarios are auto, autofenced, "), "{error}");
        }
    }
}
