//! The engines that are tried, how each is pointed at a model, and where one of them may differ from the others.

use std::time::Duration;

use skillrun_engine::descriptor::ProbeRule;
use skillrun_engine::{Descriptor, Engines};

use crate::clis::Clis;
use crate::place::KEY;
use crate::problem::Problem;
use crate::scenarios::Scenario;
use crate::scenarios::asked::Writing;

/// Which table an engine stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// Started for each turn.
    Clis,
    /// They speak the Agent Client Protocol and can stay.
    Agents,
}

impl Group {
    pub(crate) const ALL: [Self; 2] = [Self::Clis, Self::Agents];

    /// In the order of the table. Those that skillrun does not know are left out.
    fn engines(self) -> &'static [&'static str] {
        match self {
            Self::Clis => &["codex", "claude", "gemini", "opencode", "qwen"],
            Self::Agents => &["codex-acp", "claude-acp", "gemini-acp", "opencode-acp", "qwen-acp"],
        }
    }

    /// The other engines of its table: those after this one, and then those before it.
    fn others(self, engine: &str) -> impl Iterator<Item = &'static str> {
        let all = self.engines();
        let at = all.iter().position(|name| *name == engine).unwrap_or_default();
        (1..all.len()).map(move |step| all[(at + step) % all.len()])
    }

    fn of(engine: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.engines().contains(&engine))
    }

    /// Whether all its engines were asked for.
    pub(crate) fn is_whole(self, names: &[String]) -> bool {
        names.is_empty() || self.engines().iter().all(|engine| names.iter().any(|name| name == engine))
    }
}

/// What a run is expected to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Succeeds,
    Fails,
}

/// A case in which one engine does something else than the others.
struct Difference {
    engine: &'static str,
    scenario: Scenario,
    expected: Expected,
    #[expect(dead_code, reason = "for readers of the table")]
    why: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        engine: "claude",
        scenario: Scenario::Cut,
        expected: Expected::Succeeds,
        why: "after a cut stream it asks once more without streaming, and that answer comes whole",
    },
    Difference {
        engine: "codex-acp",
        scenario: Scenario::Denied,
        expected: Expected::Fails,
        why: "it cancels its turn when something is denied",
    },
    Difference {
        engine: "opencode-acp",
        scenario: Scenario::Denied,
        expected: Expected::Fails,
        why: "it ends its turn without a word when something is denied",
    },
    Difference {
        engine: "qwen-acp",
        scenario: Scenario::Denied,
        expected: Expected::Fails,
        why: "it ends its turn without a word when something is denied",
    },
];

/// An engine that can be made to end a call of a tool after five seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallLimit {
    engines: &'static [&'static str],
    pub(crate) setting: LimitSetting,
    /// What the model then receives, among other words.
    pub(crate) words: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitSetting {
    /// A variable of the engine, and its value.
    Variable(&'static str, &'static str),
    /// A change in the engine's file, as an operator would make it: this text by that.
    File(&'static str, &'static str),
}

const CALL_LIMITS: &[CallLimit] = &[
    CallLimit {
        engines: &["codex"],
        setting: LimitSetting::File(
            r#"each = ["-c", "mcp_servers.{{mcp_name}}={{mcp_entry}}"]"#,
            r#"each = ["-c", "mcp_servers.{{mcp_name}}={{mcp_entry}}", "-c", "mcp_servers.{{mcp_name}}.tool_timeout_sec=5"]"#,
        ),
        words: "timed out awaiting tools/call",
    },
    CallLimit {
        engines: &["claude", "claude-acp"],
        setting: LimitSetting::Variable("MCP_TOOL_TIMEOUT", "5000"),
        words: "timed out after 5s",
    },
    CallLimit {
        engines: &["opencode", "opencode-acp"],
        setting: LimitSetting::File(
            "text = ',\"mcp\":{{mcp_servers}}'",
            "text = ',\"experimental\":{\"mcp_timeout\":5000},\"mcp\":{{mcp_servers}}'",
        ),
        words: "Request timed out",
    },
];

/// It runs commands in a sandbox and asks about none of them, but about a patch it does.
const ASKS_ABOUT_PATCHES: &str = "codex-acp";

/// It keeps a session in a file with the minute in its name, and one that is loaded in that very minute is lost.
const LOADS_A_MINUTE_LATER: &str = "gemini-acp";
const A_MINUTE_LATER: Duration = Duration::from_secs(61);

/// An engine whose program is there.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) group: Group,
    /// Of the program.
    pub(crate) version: String,
    /// The model to ask for.
    pub(crate) model: Option<String>,
    probe: ProbeRule,
    /// Variables with keys in them.
    secret: Vec<String>,
}

impl Engine {
    /// What this engine is expected to come to where it is not `usual`.
    pub(crate) fn expected(&self, scenario: Scenario, usual: Expected) -> Expected {
        let differs = DIFFERENCES.iter().find(|case| case.engine == self.name && case.scenario == scenario);
        differs.map_or(usual, |case| case.expected)
    }

    /// What the model does so that it asks before it writes a file.
    pub(crate) fn writing(&self) -> Writing {
        if self.name == ASKS_ABOUT_PATCHES { Writing::Patch } else { Writing::Command }
    }

    /// How a call of a tool is made to end early; none where no setting of the engine does that.
    pub(crate) fn call_limit(&self) -> Option<CallLimit> {
        CALL_LIMITS.iter().find(|limit| limit.engines.contains(&self.name.as_str())).copied()
    }

    /// The other engines of its table: those after this one, and then those before it.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'static str> {
        self.group.others(&self.name)
    }

    /// The engine that continues its conversations: the next one in its table, and the first one after the last.
    pub(crate) fn heir(&self) -> &'static str {
        self.others().next().unwrap_or_default()
    }

    /// How old a session must be before another process can load it.
    pub(crate) fn loads_after(&self) -> Duration {
        if self.name == LOADS_A_MINUTE_LATER { A_MINUTE_LATER } else { Duration::ZERO }
    }

    /// Variables that point it at a model, as a user with a gateway would set them.
    pub(crate) fn variables(&self, server: &str) -> Vec<(String, String)> {
        let mut variables = self.probe.variables(server);
        let keys = variables.iter_mut().filter(|(name, _)| self.secret.contains(name));
        keys.for_each(|(_, value)| *value = KEY.to_owned());
        variables
    }
}

/// The engines that were asked for.
pub(crate) fn asked_for(engines: &Engines, names: &[String]) -> Result<Vec<Descriptor>, Problem> {
    let all = || Group::ALL.into_iter().flat_map(|group| group.engines().iter().copied());
    if let Some(unknown) = names.iter().find(|name| Group::of(name).is_none()) {
        let all: Vec<_> = all().collect();
        return Err(Problem(format!("there is no engine {unknown} to try; there are {}", all.join(", "))));
    }
    let wanted = all().filter(|engine| names.is_empty() || names.iter().any(|name| name == engine));
    Ok(wanted.filter_map(|engine| engines.get(engine).ok().cloned()).collect())
}

/// The engine, if its program is there.
pub(crate) fn installed(descriptor: &Descriptor, clis: &Clis) -> Option<Engine> {
    let found = clis.program(descriptor)?;
    let probe = descriptor.probe.clone()?;
    Some(Engine {
        name: descriptor.name.to_string(),
        group: Group::of(descriptor.name.as_str())?,
        version: found.version?,
        model: probe.model.clone(),
        probe,
        secret: descriptor.environment.secret.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_begin_after_the_engine_and_end_before_it() {
        let others: Vec<_> = Group::Clis.others("opencode").collect();
        assert_eq!(others, ["qwen", "codex", "claude", "gemini"]);
    }
}
