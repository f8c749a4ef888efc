//! The arguments of a command line, and which placeholders are allowed where.

use crate::descriptor::{Command, PromptWays, Protocol};
use crate::error::LoadErrorKind;
use crate::keys::{KeyProblem, KeyResult, Value};
use crate::launch::MAX_ARGUMENT;
use crate::template::{ArgvPart, Placeholder, Template, TemplateProblem};
use skillrun_base::suggest::closest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Start,
    Resume,
}

/// Which flags a file declares, so that none of them is forgotten.
#[derive(Debug, Clone, Copy)]
pub(super) struct HasFlags {
    /// Prompt and session are passed by arguments at all.
    pub(super) words: bool,
    pub(super) permission: bool,
    pub(super) network: bool,
    pub(super) mcp: bool,
    pub(super) workspace: bool,
}

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Argv(Turn),
    PromptArgument,
    PromptStdin,
    PromptFile,
    /// A variable or a file.
    Value,
    /// Where an executable is looked for.
    Executable,
    /// The text of `[gateway]`.
    Gateway,
    /// A variable of `[probe]`.
    Probe,
    /// What `[mcp]` writes once.
    Mcp,
    /// What `[mcp]` writes for each server.
    McpEach,
    /// The switches of `[workspace_settings]`.
    Workspace,
}

/// Why a placeholder is not allowed in a place.
fn misplaced(placeholder: Placeholder, place: Place) -> Option<&'static str> {
    const ONLY_IN_PROMPT: &str = "is allowed only in the words of [prompt]";
    match (placeholder, place) {
        (Placeholder::Server, Place::Probe) | (Placeholder::Gateway, Place::Gateway) => None,
        (Placeholder::McpServers, Place::Mcp) | (Placeholder::McpName | Placeholder::McpEntry, Place::McpEach) => None,
        (_, Place::Mcp) => Some("is not allowed here; {{mcp_servers}} is"),
        (_, Place::McpEach) => Some("is not allowed here; {{mcp_name}} and {{mcp_entry}} are"),
        (Placeholder::McpName | Placeholder::McpEntry, _) => Some("is allowed only in mcp.each, mcp.item and mcp.rule"),
        (_, Place::Probe) => Some("is not allowed in [probe]; {{server}} is"),
        (_, Place::Gateway) => Some("is not allowed in the text of [gateway]; {{gateway}} is"),
        (Placeholder::Server, _) => Some("is allowed only in [probe]"),
        (Placeholder::UserHome, Place::Executable) => None,
        (_, Place::Executable) => Some("is not allowed where an executable is looked for; {{user_home}} is"),
        (Placeholder::UserHome, _) => Some("is allowed only in executable.places"),
        (Placeholder::Prompt, Place::PromptArgument) | (Placeholder::PromptFile, Place::PromptFile) => None,
        (Placeholder::Prompt, Place::PromptStdin | Place::PromptFile) => {
            Some("is allowed only in prompt.argument, because a long prompt does not fit into a word")
        }
        (Placeholder::PromptFile, Place::PromptArgument | Place::PromptStdin) => Some("is allowed only in prompt.file"),
        (Placeholder::Prompt | Placeholder::PromptFile, Place::Argv(_) | Place::Value) => Some(ONLY_IN_PROMPT),
        (Placeholder::SessionId, Place::Argv(Turn::Resume)) => None,
        (Placeholder::SessionId, _) => Some("is allowed only in [resume]"),
        (
            Placeholder::PromptFlags
            | Placeholder::PermissionFlags
            | Placeholder::NetworkFlags
            | Placeholder::McpFlags
            | Placeholder::WorkspaceFlags,
            _,
        ) => Some("must be a word of its own in argv, outside of groups"),
        (
            Placeholder::McpServers | Placeholder::McpText | Placeholder::McpList | Placeholder::McpRules,
            Place::Value,
        ) => None,
        (Placeholder::McpServers | Placeholder::McpText | Placeholder::McpList | Placeholder::McpRules, _) => {
            Some("is allowed only in variables and files")
        }
        (Placeholder::WorkspaceText, Place::Value) => None,
        (Placeholder::WorkspaceText, _) => Some("is allowed only in variables and files"),
        (Placeholder::Workspace | Placeholder::Home, Place::Workspace) => None,
        (_, Place::Workspace) => Some("is not allowed here; {{workspace}} and {{home}} are"),
        (
            Placeholder::Permission
            | Placeholder::Model
            | Placeholder::Effort
            | Placeholder::Workspace
            | Placeholder::Home
            | Placeholder::SkillDir
            | Placeholder::OutputSchema
            | Placeholder::Script
            | Placeholder::RunRecord
            | Placeholder::Profile
            | Placeholder::Sticky
            | Placeholder::Mode
            | Placeholder::Attempt
            | Placeholder::Gateway
            | Placeholder::GatewayText
            | Placeholder::Login,
            _,
        ) => None,
    }
}

fn parse(text: &str, value: &Value<'_>) -> KeyResult<Template> {
    Template::parse(text).map_err(|problem| {
        value.problem(match problem {
            TemplateProblem::Open => LoadErrorKind::OpenPlaceholder,
            TemplateProblem::Unknown(given) => {
                let names: Vec<_> = Placeholder::ALL.iter().map(|placeholder| placeholder.as_str()).collect();
                LoadErrorKind::UnknownPlaceholder {
                    suggestion: closest(&given, names.iter().copied()).map(str::to_owned),
                    known: names.into_iter().map(str::to_owned).collect(),
                    given,
                }
            }
        })
    })
}

/// A text with placeholders that are allowed in that place.
pub(super) fn template(text: &str, value: &Value<'_>, place: Place) -> KeyResult<Template> {
    let template = parse(text, value)?;
    let wrong = template.placeholders().find_map(|one| misplaced(one, place).map(|reason| (one, reason)));
    match wrong {
        None => Ok(template),
        Some((one, reason)) => Err(value.problem(LoadErrorKind::Misplaced { name: one.as_str(), reason })),
    }
}

pub(super) fn templates(value: &Value<'_>, place: Place) -> KeyResult<Vec<Template>> {
    value.strings()?.iter().map(|(text, word)| template(text, word, place)).collect()
}

fn part(value: &Value<'_>, turn: Turn) -> KeyResult<ArgvPart> {
    if value.is_list() {
        let group = templates(value, Place::Argv(turn))?;
        return match group.iter().any(|word| word.placeholders().next().is_some()) {
            true => Ok(ArgvPart::Group(group)),
            false => Err(value.unusable("a group without a placeholder is never left out; write its words in argv")),
        };
    }
    let text = value.string_or("a string or a group of strings")?;
    match parse(&text, value)?.alone() {
        Some(Placeholder::PromptFlags) => Ok(ArgvPart::PromptFlags),
        Some(Placeholder::PermissionFlags) => Ok(ArgvPart::PermissionFlags),
        Some(Placeholder::NetworkFlags) => Ok(ArgvPart::NetworkFlags),
        Some(Placeholder::McpFlags) => Ok(ArgvPart::McpFlags),
        Some(Placeholder::WorkspaceFlags) => Ok(ArgvPart::WorkspaceFlags),
        Some(_) | None => Ok(ArgvPart::Word(template(&text, value, Place::Argv(turn))?)),
    }
}

fn argv(value: &Value<'_>, turn: Turn, flags: HasFlags) -> KeyResult<Vec<ArgvPart>> {
    let parts = value.list()?.iter().map(|word| part(word, turn)).collect::<KeyResult<Vec<_>>>()?;
    let count = |wanted: &ArgvPart| parts.iter().filter(|part| *part == wanted).count();
    // A flag that is declared and never passed would be a permission that is not enforced.
    let needed = [
        (ArgvPart::PromptFlags, Placeholder::PromptFlags, flags.words),
        (ArgvPart::PermissionFlags, Placeholder::PermissionFlags, flags.permission),
        (ArgvPart::NetworkFlags, Placeholder::NetworkFlags, flags.network),
        (ArgvPart::McpFlags, Placeholder::McpFlags, flags.mcp),
        (ArgvPart::WorkspaceFlags, Placeholder::WorkspaceFlags, flags.workspace),
    ];
    for (part, placeholder, is_needed) in needed {
        match (count(&part), is_needed) {
            (1, _) | (0, false) => {}
            _ => return Err(value.problem(LoadErrorKind::Lacks(placeholder.as_str()))),
        }
    }
    let has_session = parts.iter().any(|part| match part {
        ArgvPart::Word(word) => word.placeholders().any(|one| one == Placeholder::SessionId),
        ArgvPart::Group(words) => {
            words.iter().flat_map(Template::placeholders).any(|one| one == Placeholder::SessionId)
        }
        ArgvPart::PromptFlags
        | ArgvPart::PermissionFlags
        | ArgvPart::NetworkFlags
        | ArgvPart::McpFlags
        | ArgvPart::WorkspaceFlags => false,
    });
    match turn {
        Turn::Resume if !has_session && flags.words => {
            Err(value.problem(LoadErrorKind::Lacks(Placeholder::SessionId.as_str())))
        }
        Turn::Start | Turn::Resume => Ok(parts),
    }
}

pub(super) fn command(value: &Value<'_>, turn: Turn, flags: HasFlags) -> KeyResult<Command> {
    let section = value.section(&["argv", "interactive"])?;
    Ok(Command {
        argv: argv(&section.required("argv")?, turn, flags)?,
        interactive: section.get("interactive").map(|value| argv(&value, turn, flags)).transpose()?,
    })
}

pub(super) fn prompt(value: &Value<'_>) -> KeyResult<PromptWays> {
    let section = value.section(&["argument", "stdin", "file", "protocol", "limit"])?;
    let way = |key: &str, place: Place| -> KeyResult<Option<(Vec<Template>, Value<'_>)>> {
        section.get(key).map(|value| Ok((templates(&value, place)?, value))).transpose()
    };
    let needs = |way: Option<(Vec<Template>, Value<'_>)>, wanted: Placeholder| match way {
        None => Ok(None),
        Some((words, value)) => {
            let count = words.iter().flat_map(Template::placeholders).filter(|one| *one == wanted).count();
            let lacks: KeyProblem = value.problem(LoadErrorKind::Lacks(wanted.as_str()));
            if count == 1 { Ok(Some(words)) } else { Err(lacks) }
        }
    };
    let argument = needs(way("argument", Place::PromptArgument)?, Placeholder::Prompt)?;
    let stdin = way("stdin", Place::PromptStdin)?.map(|(words, _)| words);
    let file = needs(way("file", Place::PromptFile)?, Placeholder::PromptFile)?;
    let protocol = section.get("protocol").map(|value| value.one_of(Protocol::ALL, Protocol::as_str)).transpose()?;
    let has_words = argument.is_some() || stdin.is_some() || file.is_some();
    match (has_words, protocol) {
        (true, None) | (false, Some(_)) => {}
        (false, None) => return Err(value.unusable("must have argument, stdin, file or protocol")),
        (true, Some(_)) => return Err(value.unusable("with protocol there must be no argument, stdin or file")),
    }
    let limit = match section.get("limit") {
        None => MAX_ARGUMENT,
        Some(value) => usize::try_from(value.number()?).unwrap_or(MAX_ARGUMENT).min(MAX_ARGUMENT),
    };
    Ok(PromptWays { argument, stdin, file, protocol, limit })
}
