//! Tools of MCP servers: found among what a request offers, under the name that the CLI gives them.

use serde_json::{Map, Value};

use super::asked::Asked;
use super::shell::Call;

/// Between the name of a server and that of its tool; which of the two depends on the CLI.
const BETWEEN: [&str; 2] = ["__", "_"];

/// Tools with which a CLI lets the model search for others, which it does not offer before.
const SEARCHES: [&str; 2] = ["ToolSearch", "tool_search"];

/// A call of this tool; none when there is no such tool.
///
/// codex offers it in a namespace, the others as `mcp__SERVER__TOOL`, `mcp_SERVER_TOOL` or `SERVER_TOOL`. claude and qwen
/// may defer it: then only its name is in the conversation, and they accept a call of it nevertheless.
pub(super) fn call(asked: &Asked, tool: &str, arguments: Map<String, Value>) -> Option<Call> {
    let is_it =
        |name: &str| BETWEEN.iter().any(|between| name.strip_suffix(tool).is_some_and(|n| n.ends_with(between)));
    let offered = asked.tools.iter().find(|offered| match &offered.namespace {
        Some(_) => offered.name == tool,
        None => is_it(&offered.name),
    });
    let (namespace, name) = match offered {
        Some(offered) => (offered.namespace.clone(), offered.name.clone()),
        None => {
            let defers = asked.tools.iter().any(|offered| SEARCHES.contains(&offered.name.as_str()));
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let mut words = asked.user.split(|c| !is_part(c)).filter(|word| word.starts_with("mcp__"));
            (None, words.find(|word| defers && is_it(word))?.to_owned())
        }
    };
    Some(Call { namespace, name, arguments })
}

/// A text with the values of the conversation.
pub(super) fn filled(text: &str, asked: &Asked) -> String {
    text.replace("{{run}}", first_run(&asked.printed).unwrap_or_default())
        .replace("{{printed}}", asked.last_printed.trim())
}

/// The same for all strings of an object.
pub(super) fn filled_object(object: &Map<String, Value>, asked: &Asked) -> Map<String, Value> {
    object.iter().map(|(name, value)| (name.clone(), filled_value(value, asked))).collect()
}

fn filled_value(value: &Value, asked: &Asked) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text, asked)),
        Value::Array(values) => values.iter().map(|value| filled_value(value, asked)).collect(),
        Value::Object(fields) => Value::Object(filled_object(fields, asked)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The first id of a run in a text: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn first_run(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let is_run = |word: &&str| word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    text.split(|c| !is_part(c)).find(is_run)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::asked::Offered;
    use super::*;

    fn asked(names: &[(Option<&str>, &str)]) -> Asked {
        let offered = |(namespace, name): &(Option<&str>, &str)| Offered {
            name: (*name).to_owned(),
            namespace: namespace.map(str::to_owned),
            parameters: Value::Null,
        };
        Asked { tools: names.iter().map(offered).collect(), ..Asked::default() }
    }

    fn called(asked: &Asked) -> Option<(Option<String>, String)> {
        call(asked, "wait_runs", Map::new()).map(|call| (call.namespace, call.name))
    }

    #[test]
    fn a_tool_is_called_by_the_name_that_the_cli_gives_it() {
        let namespace = Some("mcp__skillrun");
        let mut codex = asked(&[(namespace, "spawn_run"), (namespace, "wait_runs")]);
        assert_eq!(called(&codex), Some((namespace.map(str::to_owned), "wait_runs".to_owned())));
        codex.tools[1].namespace = None;
        assert_eq!(called(&codex), None, "without a server it is another tool");
        for name in ["mcp__skillrun__wait_runs", "mcp_skillrun_wait_runs", "skillrun_wait_runs"] {
            assert_eq!(called(&asked(&[(None, "Bash"), (None, name)])), Some((None, name.to_owned())));
        }
    }

    #[test]
    fn a_deferred_tool_is_called_by_the_name_in_the_conversation() {
        let user = "<deferred>\nmcp__skillrun__spawn_run\nmcp__skillrun__wait_runs\n</deferred>".to_owned();
        let claude = Asked { user, ..asked(&[(None, "ToolSearch")]) };
        assert_eq!(called(&claude), Some((None, "mcp__skillrun__wait_runs".to_owned())));
        assert_eq!(called(&Asked { tools: Vec::new(), ..claude }), None, "it cannot be deferred");
    }

    #[test]
    fn values_of_the_conversation_are_filled_in() {
        let run = "0199aaaa-bbbb-7ccc-8ddd-0123456789ab";
        let printed = format!("at-1-2: Run {run} is started.\nRun 0199aaaa-bbbb-7ccc-8ddd-0123456789ac is not.");
        let asked = Asked { printed, last_printed: " done\n".to_owned(), ..Asked::default() };
        let arguments = json!({"run_ids": ["{{run}}"], "n": 1, "more": {"text": "it is {{printed}}"}});
        let wanted = json!({"run_ids": [run], "n": 1, "more": {"text": "it is done"}});
        assert_eq!(Value::Object(filled_object(arguments.as_object().expect("an object"), &asked)), wanted);
    }
}
