//! Templates: text with placeholders, `{{name}}`; `{{name:json}}` for a JSON string with its quotes, `{{name:in_json}}`
//! for a part of one, `{{name:list}}`
//! where the engine takes a list with commas and the value is one entry of it.
//!
//! The names are a closed list, checked when a file is loaded. Inserted values are not expanded again. There is no
//! escape; `{{` that is not closed on its line is refused, because it is a mistake.

use std::ffi::{OsStr, OsString};

use skillrun_model::word_enum;

word_enum! {
    /// What stands between the braces: everything a template can ask for.
    pub Placeholder {
        /// Only in the words of `[prompt]`.
        Prompt = "prompt",
        /// Only in the words of `[prompt]`.
        PromptFile = "prompt_file",
        /// The words of `[prompt]`.
        PromptFlags = "prompt_flags",
        /// The flags of the permission.
        PermissionFlags = "permission_flags",
        /// The flags of `[network]`.
        NetworkFlags = "network_flags",
        /// The text of the permission.
        Permission = "permission",
        /// Only in `[resume]`.
        SessionId = "session_id",
        Model = "model",
        Effort = "effort",
        Workspace = "workspace",
        /// The HOME of the engine.
        Home = "home",
        /// The HOME of the user; only where an executable is looked for.
        UserHome = "user_home",
        SkillDir = "skill_dir",
        OutputSchema = "output_schema",
        Script = "script",
        /// The record of the run, `run.json`.
        RunRecord = "run_record",
        Profile = "profile",
        /// `sticky` for a process that is kept for later turns, else without a value.
        Sticky = "sticky",
        Mode = "mode",
        Attempt = "attempt",
        /// Another address for the model's server, where the user has set one.
        Gateway = "gateway",
        /// The text of `[gateway]`, or nothing.
        GatewayText = "gateway_text",
        /// The MCP servers of the run as JSON, in the form of `[mcp]`; without a value where there are none.
        McpServers = "mcp_servers",
        /// The flags of `[mcp]`, where there are servers.
        McpFlags = "mcp_flags",
        /// The text of `[mcp]`, or nothing.
        McpText = "mcp_text",
        /// The items of `[mcp]` with commas between; without a value where there are no servers.
        McpList = "mcp_list",
        /// The rules of `[mcp]` with commas between; without a value where there are no servers.
        McpRules = "mcp_rules",
        /// The name of a server; only in what `[mcp]` writes for each one.
        McpName = "mcp_name",
        /// A server in the form of `[mcp]`; only in what `[mcp]` writes for each one.
        McpEntry = "mcp_entry",
        /// The flags of `[workspace_settings]`, where the workspace may not start programs.
        WorkspaceFlags = "workspace_flags",
        /// The text of `[workspace_settings]`, or nothing where the workspace may start programs.
        WorkspaceText = "workspace_text",
        /// The text of the login that was found.
        Login = "login",
        /// The address of a scripted model; only in `[probe]`.
        Server = "server",
    }
}

impl Placeholder {
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|placeholder| placeholder.as_str() == name)
    }

    /// Whether it stands for the MCP servers of the run.
    pub(crate) fn is_of_servers(self) -> bool {
        matches!(
            self,
            Self::McpServers
                | Self::McpFlags
                | Self::McpText
                | Self::McpList
                | Self::McpRules
                | Self::McpName
                | Self::McpEntry
        )
    }
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    Plain,
    /// As a JSON string, so that no value can break out of a JSON document.
    Json,
    /// As a part of a JSON string, without its quotes.
    InJson,
    /// As it is, but without commas: an engine that splits at commas would take it for several values.
    Listed,
}

impl ValueForm {
    /// The name of a placeholder, and the format written after it.
    fn split(given: &str) -> (&str, Self) {
        let forms = [(":json", Self::Json), (":in_json", Self::InJson), (":list", Self::Listed)];
        let form = forms.into_iter().find_map(|(end, form)| Some((given.strip_suffix(end)?, form)));
        form.unwrap_or((given, Self::Plain))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Placeholder, ValueForm),
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateProblem {
    Unknown(String),
    Open,
}

/// Why a template could not be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("there is no value for {{{{{}}}}}", .0.as_str())]
    NoValue(Placeholder),
    #[error("the value for {{{{{}:json}}}} is not UTF-8", .0.as_str())]
    NotUtf8(Placeholder),
    #[error("the value for {{{{{}}}}} has a comma in it, and would be read as two values", .0.as_str())]
    HasComma(Placeholder),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, TemplateProblem> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let inside = &rest[open + 2..];
            let stop = inside.find(['{', '}', '\n', '\r']).unwrap_or(inside.len());
            if !inside[stop..].starts_with("}}") {
                return Err(TemplateProblem::Open);
            }
            if open > 0 {
                pieces.push(Piece::Text(rest[..open].to_owned()));
            }
            let given = inside[..stop].trim();
            let (name, form) = ValueForm::split(given);
            let placeholder = Placeholder::parse(name).ok_or_else(|| TemplateProblem::Unknown(given.to_owned()))?;
            pieces.push(Piece::Value(placeholder, form));
            rest = &inside[stop + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    pub fn placeholders(&self) -> impl Iterator<Item = Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(placeholder, _) => Some(*placeholder),
        })
    }

    /// The placeholder, if the text is nothing else.
    pub(crate) fn alone(&self) -> Option<Placeholder> {
        match self.0.as_slice() {
            [Piece::Value(placeholder, ValueForm::Plain)] => Some(*placeholder),
            _ => None,
        }
    }

    pub fn fill<'v>(&self, value: impl Fn(Placeholder) -> Option<&'v OsStr>) -> Result<OsString, FillError> {
        let mut filled = OsString::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push(text),
                Piece::Value(placeholder, form) => {
                    let value = value(*placeholder).ok_or(FillError::NoValue(*placeholder))?;
                    match form {
                        ValueForm::Plain => filled.push(value),
                        ValueForm::Listed if value.as_encoded_bytes().contains(&b',') => {
                            return Err(FillError::HasComma(*placeholder));
                        }
                        ValueForm::Listed => filled.push(value),
                        ValueForm::Json => {
                            let text = value.to_str().ok_or(FillError::NotUtf8(*placeholder))?;
                            filled.push(serde_json::Value::from(text).to_string());
                        }
                        ValueForm::InJson => {
                            let text = value.to_str().ok_or(FillError::NotUtf8(*placeholder))?;
                            let quoted = serde_json::Value::from(text).to_string();
                            filled.push(&quoted[1..quoted.len() - 1]);
                        }
                    }
                }
            }
        }
        Ok(filled)
    }
}

/// One entry of an `argv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgvPart {
    Word(Template),
    /// Left out as a whole when one of its placeholders has no value.
    Group(Vec<Template>),
    PromptFlags,
    PermissionFlags,
    NetworkFlags,
    McpFlags,
    WorkspaceFlags,
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn value(placeholder: Placeholder) -> Option<&'static OsStr> {
        let values = [
            (Placeholder::Model, OsStr::new("a \"b\" {{home}}")),
            (Placeholder::Workspace, OsStr::from_bytes(b"/w/\xff")),
        ];
        values.into_iter().find(|(known, _)| *known == placeholder).map(|(_, value)| value)
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        let filled = |text: &str| Template::parse(text).expect("a template").fill(value).expect("values");
        assert_eq!(filled("x{{model}}y"), "xa \"b\" {{home}}y");
        assert_eq!(filled(r#"{"a":{"m":{{ model:json }}}}"#), r#"{"a":{"m":"a \"b\" {{home}}"}}"#);
        assert_eq!(filled(r#"["{{model:in_json}}/x"]"#), r#"["a \"b\" {{home}}/x"]"#);
        assert_eq!(filled("{{workspace}}").as_bytes(), b"/w/\xff");
        assert_eq!(filled(""), "");
        assert_eq!(filled("{ {model} }"), "{ {model} }");
    }

    #[test]
    fn slips_are_refused() {
        for (text, problem) in [
            ("{{modle}}", TemplateProblem::Unknown("modle".to_owned())),
            ("{{}}", TemplateProblem::Unknown(String::new())),
            ("{{model:toml}}", TemplateProblem::Unknown("model:toml".to_owned())),
            ("{{model", TemplateProblem::Open),
            ("{{model}", TemplateProblem::Open),
            ("{{mo\ndel}}", TemplateProblem::Open),
            ("{{{model}}", TemplateProblem::Open),
        ] {
            assert_eq!(Template::parse(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_named() {
        let fill = |text: &str| Template::parse(text).expect("a template").fill(value).expect_err("no value");
        assert_eq!(fill("{{script}}").to_string(), "there is no value for {{script}}");
        assert_eq!(fill("{{workspace:json}}").to_string(), "the value for {{workspace:json}} is not UTF-8");
    }
}
