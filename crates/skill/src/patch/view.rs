//! What the agent will read of a skill, and which lines of it are not the skill's own. For people who want to see what
//! is added; nothing is changed.

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_base::fields::line_of;

use super::apply::{Patch, filled};
use super::block;
use super::layers::{Layer, Layers};
use crate::error::SkillError;
use crate::package::Skill;

/// `SKILL.md` as the agent will read it. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PatchedText {
    pub text: String,
    /// From this line on nothing is the skill's own.
    pub added_from_line: usize,
    /// In the order in which they stand.
    pub layers: Vec<AddedLayer>,
}

/// A layer, and the lines it has become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddedLayer {
    pub name: Layer,
    pub origin: LayerOrigin,
    pub from_line: usize,
    /// The last of its lines.
    pub to_line: usize,
}

/// Who wrote a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SkillLayerOrigin")]
pub enum LayerOrigin {
    /// It is part of the program.
    Shipped,
    /// The operator has put another text in its place.
    Operator,
}

pub fn patched_view(skill: &Skill, layers: &Layers, patch: &Patch<'_>) -> Result<PatchedText, SkillError> {
    Ok(view(&skill.text()?, layers, patch))
}

fn view(text: &str, layers: &Layers, patch: &Patch<'_>) -> PatchedText {
    let (joined, places) = filled(layers, patch);
    let text = block::put(text, &joined);
    let content = joined.trim();
    let lead = joined.len() - joined.trim_start().len();
    let first = line_of(&text, block::content_start(&text, content));
    let added = |(layer, place): (Layer, std::ops::Range<usize>)| {
        let words = joined[place.clone()].trim();
        let start = place.start + (place.len() - joined[place].trim_start().len());
        let line = |at: usize| first + line_of(content, at - lead) - 1;
        AddedLayer {
            name: layer,
            origin: if layers.text(layer) == layer.shipped() { LayerOrigin::Shipped } else { LayerOrigin::Operator },
            from_line: line(start),
            to_line: line(start + words.len()),
        }
    };
    // The marker stands on the line before.
    PatchedText { added_from_line: first - 1, layers: places.into_iter().map(added).collect(), text }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use skillrun_model::ExecutionMode;

    use super::*;
    use crate::copy::SkillCopy;
    use crate::package::SKILL_FILE;
    use crate::testing::Folder;

    fn patch(mode: ExecutionMode) -> Patch<'static> {
        Patch { mode, artifacts_dir: Path::new("/run/workspace/artifacts") }
    }

    #[test]
    fn the_view_is_what_the_agent_reads() {
        let folder = Folder::skill("demo");
        let skill = Skill::load(&folder.at("demo")).unwrap();
        let copy = SkillCopy::make(&folder.at("demo"), &folder.at("copy")).unwrap();
        for mode in ExecutionMode::ALL {
            let patch = patch(*mode);
            copy.patch(&Layers::shipped(), &patch).unwrap();
            let read = fs::read_to_string(copy.root().join(SKILL_FILE)).unwrap();
            assert_eq!(patched_view(&skill, &Layers::shipped(), &patch).unwrap().text, read);
        }
    }

    #[test]
    fn each_layer_stands_on_its_lines() {
        let sources =
            ["# Do it\n", "", "a\n\n\nb", "a\r\nb\r\n", "x\n<!-- skillrun:begin -->\nold\n<!-- skillrun:end -->\n"];
        for (source, mode) in sources.into_iter().zip(ExecutionMode::ALL.iter().cycle()) {
            let layers = Layers::shipped();
            let seen = view(source, &layers, &patch(*mode));
            let lines: Vec<&str> = seen.text.split('\n').collect();
            assert_eq!(lines[seen.added_from_line - 1], "<!-- skillrun:begin -->", "{source:?}");
            let names: Vec<Layer> = seen.layers.iter().map(|added| added.name).collect();
            assert_eq!(names, Layer::of(*mode));
            let mut before = seen.added_from_line;
            for added in &seen.layers {
                let words = lines[added.from_line - 1..added.to_line].join("\n");
                let shipped = layers.text(added.name).trim().replace("{{artifacts_dir}}", "/run/workspace/artifacts");
                assert_eq!(words, shipped, "{source:?}");
                assert!(before < added.from_line, "{source:?}");
                before = added.to_line;
            }
            assert_eq!(lines[before..], ["<!-- skillrun:end -->", ""], "{source:?}");
        }
    }

    #[test]
    fn a_configured_layer_is_distinguished_and_counted() {
        let mut folder = Folder::new();
        for layer in Layer::ALL {
            folder = folder.with(&format!("layers/{}", layer.file_name()), layer.shipped());
        }
        let folder =
            folder.with("layers/artifacts.md", "\n\n  Put it into {{artifacts_dir}}.\nAnd nowhere else.\n\n\n");
        let layers = Layers::load(&folder.at("layers")).unwrap();
        let seen = view("# Do it\n", &layers, &patch(ExecutionMode::Auto));
        let origins: Vec<LayerOrigin> = seen.layers.iter().map(|added| added.origin).collect();
        assert_eq!(origins, [LayerOrigin::Operator, LayerOrigin::Shipped, LayerOrigin::Shipped]);
        let lines: Vec<&str> = seen.text.split('\n').collect();
        let of = |added: &AddedLayer| (lines[added.from_line - 1], lines[added.to_line - 1]);
        assert_eq!(of(&seen.layers[0]), ("Put it into /run/workspace/artifacts.", "And nowhere else."));
        assert_eq!(of(&seen.layers[1]).0, "## No user can answer");
    }
}
