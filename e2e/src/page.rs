//! The tables in `docs/engines.md`, each between two marks. The rest of the page is not touched.

use std::fmt::Write as _;
use std::path::Path;

use crate::engines::Group;
use crate::problem::Problem;
use crate::table::Table;

fn marks(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::Clis => ("<!-- e2e: written by `make e2e` -->", "<!-- e2e: end -->"),
        Group::Agents => ("<!-- e2e agents: written by `make e2e` -->", "<!-- e2e agents: end -->"),
    }
}

pub(crate) fn write(path: &Path, table: &Table<'_>, date: &str) -> Result<(), Problem> {
    let page = std::fs::read_to_string(path)?;
    std::fs::write(path, replaced(&page, table.group, &section(table, date))?)?;
    eprintln!("written to {}", path.display());
    Ok(())
}

fn section(table: &Table<'_>, date: &str) -> String {
    let (title, story) = match table.group {
        Group::Clis => (
            "Tests with the real programs",
            format!(
                "Made by `make e2e` on {date}: each program, installed from npm, run by skillrun against a scripted model \
                 on loopback. ✓ passed, with the seconds it took; ✗ failed, with the failure in a word or two; – \
                 not tested, with the reason."
            ),
        ),
        Group::Agents => (
            "Tests with the real agents",
            format!(
                "Made by `make e2e` on {date} in the same way, with the same scenarios and with those that apply only \
                 to agents of the Agent Client Protocol. Gemini cannot load a session in its first minute, so the \
                 tests wait for that minute."
            ),
        ),
    };
    let mut text = format!("## {title}\n\n{}\n\n{}\n", wrapped(&story, ""), table.markdown());
    let is_new = |group: Group| match group {
        Group::Clis => table.scenarios.clone(),
        // The others are explained below the other table.
        Group::Agents => table.scenarios.iter().copied().filter(|one| !one.is_for(Group::Clis)).collect(),
    };
    for scenario in is_new(table.group) {
        let _ = writeln!(text, "{}", wrapped(&format!("- *{}*: {}.", scenario.as_str(), scenario.meaning()), "  "));
    }
    text
}

/// Broken at spaces where a line would be longer than 80 characters; all but the first begin with `indent`.
fn wrapped(item: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut line = 0;
    for word in item.split(' ') {
        let more = word.chars().count();
        if line > 0 && line + 1 + more > 80 {
            text.push('\n');
            text.push_str(indent);
            line = indent.len();
        } else if line > 0 {
            text.push(' ');
            line += 1;
        }
        text.push_str(word);
        line += more;
    }
    text
}

/// The page with another section between the marks, or with marks and section at its end.
fn replaced(page: &str, group: Group, section: &str) -> Result<String, Problem> {
    let (begin, end) = marks(group);
    let marked = format!("{begin}\n\n{section}\n{end}");
    match (page.split_once(begin), page.split_once(end)) {
        (Some((before, _)), Some((_, after))) => Ok(format!("{before}{marked}{after}")),
        (None, None) => Ok(format!("{}\n\n{marked}\n", page.trim_end())),
        (Some(_), None) | (None, Some(_)) => Err(Problem(format!("the page has only one of {begin} and {end}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::example;

    #[test]
    fn a_table_and_a_list_of_what_was_tried() {
        let tried = example();
        let text = section(&Table::of(Group::Clis, &tried).expect("a table"), "2026-11-15");
        assert!(text.contains("by `make e2e` on 2026-11-15"), "{text}");
        assert!(text.contains("\n| auto    | ✓ 1.3 s     |\n"), "{text}");
        assert!(text.contains("\n- *auto*: a command, then the result.\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let text = section(&Table::of(Group::Agents, &tried).expect("a table"), "2026-11-15");
        assert!(text.contains("| denied  | – no time |\n"), "{text}");
        assert!(text.contains("\n- *denied*: "), "{text}");
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let (begin, end) = marks(Group::Clis);
        let first = replaced("# Page\n\nText.\n", Group::Clis, "one\n").expect("written");
        assert_eq!(first, format!("# Page\n\nText.\n\n{begin}\n\none\n\n{end}\n"));
        let both = replaced(&first, Group::Agents, "agents\n").expect("written");
        assert!(both.starts_with(&first), "{both}");
        let more = format!("{both}\n## More\n");
        let second = replaced(&more, Group::Clis, "two\n").expect("written");
        assert_eq!(second, more.replace("one", "two"));
        assert!(replaced(&format!("{begin} text"), Group::Clis, "x").is_err());
    }
}
