//! The scenario `artifact`: the model reads the skill, finds the folder for artifacts in it, and writes a report there.

use serde_json::json;

use super::asked::Asked;
use super::texts::DONE_KEY;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Command(String),
    Answer(String),
}

/// What the first prompt says before and after the folder of the skill.
const SKILL_AT: (&str, &str) = ("\" at ", ": read its SKILL.md");
/// What the skill says before the folder for artifacts, which stands on a line of its own.
const FOLDER_AFTER: &str = "and nowhere else:";
/// Where the report goes unless a path is given.
const FOLDER: &str = "artifacts";

pub(super) fn next(asked: &Asked) -> Next {
    match asked.results {
        0 => Next::Command(match skill(&asked.user) {
            Some(path) => format!("cat {}", quoted(&format!("{path}/SKILL.md"))),
            None => "echo no skill was named".to_owned(),
        }),
        1 => {
            let folder = folder(&asked.printed).or_else(|| folder(&asked.user)).unwrap_or(FOLDER);
            let report = quoted(&format!("{folder}/report.md"));
            let folder = quoted(folder);
            Next::Command(format!(
                "mkdir -p {folder} && printf '# Report\\n\\nAll is well.\\n' > {report} && cat {report}"
            ))
        }
        _ => Next::Answer(
            json!({DONE_KEY: true, "status": "ok", "summary": "the report is written", "report": "report.md"})
                .to_string(),
        ),
    }
}

fn skill(prompt: &str) -> Option<&str> {
    let (before, _) = prompt.split_once(SKILL_AT.1)?;
    let (_, path) = before.rsplit_once(SKILL_AT.0)?;
    Some(path)
}

fn folder(text: &str) -> Option<&str> {
    let (_, after) = text.split_once(FOLDER_AFTER)?;
    after.lines().map(str::trim).find(|line| !line.is_empty())
}

/// As one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(results: usize, user: &str, printed: &str) -> Asked {
        Asked { results, user: user.to_owned(), printed: printed.to_owned(), ..Asked::default() }
    }

    #[test]
    fn reads_the_skill_writes_the_report_and_says_so() {
        let prompt = "Use the skill \"probe\" at /r/it's/probe: read its SKILL.md and follow it.\n";
        assert_eq!(next(&asked(0, prompt, "")), Next::Command(r"cat '/r/it'\''s/probe/SKILL.md'".to_owned()));
        let printed =
            "# probe\nWrite artifacts into this folder, and nowhere else:\n\n    /r/artifacts\n\n- Make it.\n";
        let Next::Command(write) = next(&asked(1, prompt, printed)) else { panic!("a command") };
        assert!(write.starts_with("mkdir -p '/r/artifacts' && "), "{write}");
        assert!(write.contains("> '/r/artifacts/report.md'"), "{write}");
        let Next::Answer(answer) = next(&asked(2, prompt, printed)) else { panic!("an answer") };
        assert!(answer.contains("__SKILL_DONE__"), "{answer}");
    }

    #[test]
    fn without_a_skill_it_writes_beside_itself() {
        assert_eq!(next(&asked(0, "Do the job.", "")), Next::Command("echo no skill was named".to_owned()));
        let Next::Command(write) = next(&asked(1, "Do the job.", "no skill was named")) else { panic!("a command") };
        assert!(write.contains("> 'artifacts/report.md'"), "{write}");
    }
}
