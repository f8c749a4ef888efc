//! A transcript for a reader or for another agent. Headings begin at the margin and every other line is indented, so no
//! text inside can be mistaken for a heading.

use std::io::{self, Write};

use super::marked;
use crate::item::{Item, ToolOutcome};

pub(super) fn write<'a>(items: impl Iterator<Item = &'a Item>, out: &mut dyn Write) -> io::Result<()> {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.write_all(b"\n")?;
        }
        match item {
            Item::User { text, truncated, .. } => section("User:", &marked(text, *truncated), out)?,
            Item::Agent { text, truncated, .. } => section("Agent:", &marked(text, *truncated), out)?,
            Item::Child { text, .. } => section("Child run:", text, out)?,
            Item::ToolCall { name, input, truncated, .. } => {
                let input = input.as_ref().map_or("", |input| input.0.get());
                let name = name.replace(char::is_control, " ");
                section(&format!("Tool call: {name}"), &marked(input, *truncated), out)?;
            }
            Item::ToolResult { outcome, output, truncated, .. } => {
                let heading = match outcome {
                    ToolOutcome::Ok => "Tool result:",
                    ToolOutcome::Failed => "Tool result (the tool failed):",
                };
                section(heading, &marked(output, *truncated), out)?;
            }
        }
    }
    Ok(())
}

fn section(heading: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{heading}")?;
    for line in text.lines() {
        if line.is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
