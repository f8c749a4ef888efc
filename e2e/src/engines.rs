//! The engines that are tried, how each is pointed at a model, and where one of them may differ from the others.

use skillrun_engine::descriptor::ProbeRule;
use skillrun_engine::{Descriptor, Engines};

use crate::clis::Clis;
use crate::place::KEY;
use crate::problem::Problem;
use crate::scenarios::Scenario;

/// In the order of the table: the engines that are started for each turn, then the agents that stay (ACP). Those that
/// skillrun does not know are left out.
const ROWS: &[&str] = &[
    "codex",
    "claude",
    "gemini",
    "opencode",
    "qwen",
    "codex-acp",
    "claude-acp",
    "gemini-acp",
    "opencode-acp",
    "qwen-acp",
];

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
    #[expect(dead_code, reason = "for whoever reads the table")]
    why: &'static str,
}

const DIFFERENCES: &[Difference] = &[Difference {
    engine: "claude",
    scenario: Scenario::Cut,
    expected: Expected::Succeeds,
    why: "after a cut stream it asks once more without streaming, and that answer comes whole",
}];

/// An engine whose program is there.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) name: String,
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
    if let Some(unknown) = names.iter().find(|name| !ROWS.contains(&name.as_str())) {
        return Err(Problem(format!("there is no engine {unknown} to try; there are {}", ROWS.join(", "))));
    }
    let wanted = ROWS.iter().filter(|row| names.is_empty() || names.iter().any(|name| name == *row));
    Ok(wanted.filter_map(|row| engines.get(row).ok().cloned()).collect())
}

/// The engine, if its program is there.
pub(crate) fn installed(descriptor: &Descriptor, clis: &Clis) -> Option<Engine> {
    let found = clis.program(descriptor)?;
    let probe = descriptor.probe.clone()?;
    Some(Engine {
        name: descriptor.name.to_string(),
        version: found.version?,
        model: probe.model.clone(),
        probe,
        secret: descriptor.environment.secret.clone(),
    })
}
