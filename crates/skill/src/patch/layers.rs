//! The four layers: what is added to a skill, each in a Markdown file of its own.
//!
//! The files in `src/layers/` are shipped in the program. An operator may have a folder with others: then it has to
//! hold all four, and they are checked before the first run, because an agent without instructions how to finish costs
//! hours to find out about.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_model::ExecutionMode;

use super::block;
use crate::bounded;
use crate::error::{SkillError, SkillErrorKind};
use crate::template;

/// Largest layer; it goes into every prompt.
const LAYER_MAX: u64 = 64 * 1024;
/// The one placeholder a layer may have.
pub(super) const ARTIFACTS_DIR: &str = "artifacts_dir";

/// One of the texts that are added to a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SkillLayer")]
pub enum Layer {
    Artifacts,
    Auto,
    Interactive,
    Completion,
}

impl Layer {
    pub const ALL: &'static [Self] = &[Self::Artifacts, Self::Auto, Self::Interactive, Self::Completion];

    /// The layers of a mode, in the order in which they are added.
    pub fn of(mode: ExecutionMode) -> &'static [Self] {
        match mode {
            ExecutionMode::Auto => &[Self::Artifacts, Self::Auto, Self::Completion],
            ExecutionMode::Interactive => &[Self::Artifacts, Self::Interactive, Self::Completion],
            // A turn of a conversation ends with its answer; nothing has to be marked or asked in a special form.
            ExecutionMode::Conversation => &[Self::Artifacts],
        }
    }

    pub fn file_name(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts.md",
            Self::Auto => "auto.md",
            Self::Interactive => "interactive.md",
            Self::Completion => "completion.md",
        }
    }

    pub fn shipped(self) -> &'static str {
        match self {
            Self::Artifacts => include_str!("../layers/artifacts.md"),
            Self::Auto => include_str!("../layers/auto.md"),
            Self::Interactive => include_str!("../layers/interactive.md"),
            Self::Completion => include_str!("../layers/completion.md"),
        }
    }

    /// Texts that every layer needs for its purpose, whether built in or configured.
    fn must_say(self) -> &'static [&'static str] {
        match self {
            Self::Artifacts => &["{{artifacts_dir}}"],
            Self::Auto => &[],
            Self::Interactive => &["<ASK_USER_YAML>", "</ASK_USER_YAML>"],
            Self::Completion => &["\"__SKILL_DONE__\": true"],
        }
    }
}

/// The four texts, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    artifacts: String,
    auto: String,
    interactive: String,
    completion: String,
}

impl Layers {
    pub fn shipped() -> Self {
        let text = |layer: Layer| layer.shipped().to_owned();
        Self {
            artifacts: text(Layer::Artifacts),
            auto: text(Layer::Auto),
            interactive: text(Layer::Interactive),
            completion: text(Layer::Completion),
        }
    }

    /// The layers in an operator's folder.
    pub fn load(folder: &Path) -> Result<Self, SkillError> {
        if !folder.is_dir() {
            return Err(SkillError::new(folder, SkillErrorKind::NoFolder));
        }
        let text = |layer: Layer| {
            let path = folder.join(layer.file_name());
            let text = bounded::read_text(&path, LAYER_MAX)?;
            check(layer, &text).map_err(|kind| SkillError::new(path, kind))?;
            Ok::<_, SkillError>(text)
        };
        Ok(Self {
            artifacts: text(Layer::Artifacts)?,
            auto: text(Layer::Auto)?,
            interactive: text(Layer::Interactive)?,
            completion: text(Layer::Completion)?,
        })
    }

    pub fn text(&self, layer: Layer) -> &str {
        match layer {
            Layer::Artifacts => &self.artifacts,
            Layer::Auto => &self.auto,
            Layer::Interactive => &self.interactive,
            Layer::Completion => &self.completion,
        }
    }

    /// One hash over the four, for the record of a run.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for text in Layer::ALL.iter().map(|layer| self.text(*layer)) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize()
    }
}

fn check(layer: Layer, text: &str) -> Result<(), SkillErrorKind> {
    if text.trim().is_empty() {
        return Err(SkillErrorKind::Empty);
    }
    if let Some(words) = layer.must_say().iter().find(|words| !text.contains(**words)) {
        return Err(SkillErrorKind::LayerLacks(words));
    }
    if let Some(line) = block::marker_line(text) {
        return Err(SkillErrorKind::LayerMarker(line));
    }
    match template::names(text).find(|name| *name != ARTIFACTS_DIR) {
        Some(name) => Err(SkillErrorKind::LayerPlaceholder(name.to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use serde_json::{Value, json};
    use skillrun_lifecycle::ask_user::{self, AskUser};
    use skillrun_model::interaction::{DecisionPolicy, InteractionKind};

    /// The text with its line breaks as spaces, so that a sentence is found however it is broken.
    fn flat(layer: Layer) -> String {
        layer.shipped().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn says(layer: Layer, statements: &[(&str, &str)]) {
        let text = flat(layer);
        for (statement, words) in statements {
            assert!(text.contains(words), "{} must instruct the agent: {statement}", layer.file_name());
        }
    }

    #[test]
    fn the_shipped_ones_pass_their_own_check() {
        for layer in Layer::ALL {
            assert!(check(*layer, layer.shipped()).is_ok(), "{}", layer.file_name());
        }
    }

    // contract R10.5, row by row: what a reworded layer still has to contain.

    #[test]
    fn artifacts_says_what_it_must() {
        says(
            Layer::Artifacts,
            &[
                ("where to write artifacts", "Write artifacts into this folder"),
                ("which folder that is", "{{artifacts_dir}}"),
                ("and nowhere else", "and nowhere else"),
                ("also where the skill names another place", "use the folder above instead"),
            ],
        );
    }

    #[test]
    fn auto_says_what_it_must() {
        says(
            Layer::Auto,
            &[
                ("decide by yourself and go on", "Decide by yourself and go on."),
                ("unless it is impossible", "only when it is impossible to go on"),
                ("no questions", "Ask no questions"),
            ],
        );
        assert!(!Layer::Auto.shipped().contains("ASK_USER"), "auto must not teach how to ask");
    }

    #[test]
    fn interactive_says_what_it_must() {
        says(
            Layer::Interactive,
            &[
                ("ask when a decision is the user's", "When a decision is the user's to make"),
                ("kind is required", "`kind` (required)"),
                ("prompt is required", "`prompt` (required)"),
                ("options are optional", "`options` (optional)"),
                ("ui_hints are optional", "`ui_hints` (optional)"),
                ("a default_decision_policy belongs to it", "`default_decision_policy` (give it always)"),
                ("in YAML between the tags", "between them is YAML"),
                ("the reply comes as free text", "The reply comes as free text"),
                ("never demand a JSON form", "never demand JSON or any other fixed form"),
                ("never emit the marker before the work is done", "Never write the completion marker before it is"),
            ],
        );
        for kind in InteractionKind::ALL {
            assert!(flat(Layer::Interactive).contains(&format!("`{kind}`")), "the kind {kind}");
        }
        for policy in DecisionPolicy::ALL {
            assert!(flat(Layer::Interactive).contains(&format!("`{policy}`")), "the policy {policy}");
        }
    }

    #[test]
    fn completion_says_what_it_must() {
        says(
            Layer::Completion,
            &[
                ("follow the steps of the skill", "Follow the steps of this skill"),
                ("and its limits", "keep to its limits"),
                ("when all is done", "When all of it is done"),
                ("and only when", "and only then"),
                ("the marker, exactly", "\"__SKILL_DONE__\": true"),
                ("in capital letters", "in capital letters"),
                ("inside the final JSON object", "put the marker inside it"),
                ("on one line of its own when the result is not JSON", "on one line of its own"),
                ("once", "exactly once"),
                ("nothing after it", "Write nothing after it"),
                ("unfinished work is marked", "{\"__SKILL_DONE__\": false}"),
                ("not by leaving the marker out", "do not leave the marker out"),
            ],
        );
    }

    /// What the layer shows is what the reader of questions takes, to the last field.
    #[test]
    fn the_question_in_interactive_is_read_as_meant() {
        let AskUser::Found { ask, ranges, notes } = ask_user::find(Layer::Interactive.shipped()) else {
            panic!("the example is not a question")
        };
        assert_eq!((ranges.len(), notes), (1, vec![]));
        assert_eq!(ask.kind, Some(InteractionKind::ChooseOne));
        assert_eq!(ask.prompt.as_deref(), Some("Where should the release go?"));
        let options: Vec<_> = ask.options.iter().map(|o| (o.value.as_str(), o.label.as_str(), o.default)).collect();
        assert_eq!(options, [("staging", "To staging, as a rehearsal", true), ("production", "To production", false)]);
        assert_eq!(ask.ui_hints, Some(json!({"placeholder": "staging or production"})));
        assert_eq!(ask.default_decision_policy, Some(DecisionPolicy::SafeDefault));
    }

    #[test]
    fn completion_examples_have_the_marker_on_one_line() {
        let examples: Vec<Value> = Layer::Completion
            .shipped()
            .lines()
            .filter(|line| line.trim_start().starts_with('{'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let values: Vec<_> = examples.iter().map(|example| &example["__SKILL_DONE__"]).collect();
        assert_eq!(values, [true, true, false]);
        assert_eq!(examples[1], json!({"__SKILL_DONE__": true}));
        assert_eq!(examples[2], json!({"__SKILL_DONE__": false}));
    }

    fn own(layer: Layer, text: &[u8]) -> Folder {
        let folder = Layer::ALL.iter().fold(Folder::new(), |f, layer| f.with(layer.file_name(), layer.shipped()));
        folder.with_bytes(layer.file_name(), text)
    }

    #[test]
    fn an_operator_s_layers_replace_ours() {
        let folder = own(Layer::Auto, b"Decide.\n");
        let layers = Layers::load(folder.path()).unwrap();
        assert_eq!(layers.text(Layer::Auto), "Decide.\n");
        assert_eq!(layers.text(Layer::Completion), Layer::Completion.shipped());
        assert_ne!(layers.hash(), Layers::shipped().hash());
    }

    #[test]
    fn a_bad_layer_is_named() {
        let told = |folder: &Folder| Layers::load(folder.path()).unwrap_err().to_string();
        let cases: Vec<(Layer, Vec<u8>, &str)> = vec![
            (Layer::Auto, b" \n".to_vec(), "auto.md: is empty"),
            (Layer::Interactive, b"\xff".to_vec(), "interactive.md: is not UTF-8 text"),
            (Layer::Auto, vec![b'x'; LAYER_MAX as usize + 1], "auto.md: is larger than 65536 bytes"),
            (Layer::Completion, b"Finish.".to_vec(), "completion.md: this layer must contain \"__SKILL_DONE__\": true"),
            (Layer::Interactive, b"Ask.".to_vec(), "interactive.md: this layer must contain <ASK_USER_YAML>"),
            (Layer::Artifacts, b"There.".to_vec(), "artifacts.md: this layer must contain {{artifacts_dir}}"),
            (Layer::Auto, b"{{x}}".to_vec(), "auto.md: this layer has the placeholder {{x}}, which is unknown"),
            (Layer::Auto, format!("x\n{}\n", block::BEGIN).into_bytes(), "which marks where it begins or ends"),
        ];
        for (layer, text, expected) in cases {
            let told = told(&own(layer, &text));
            assert!(told.ends_with(expected), "{told}\n{expected}");
        }
        for layer in Layer::ALL {
            let folder = own(*layer, b"");
            std::fs::remove_file(folder.at(layer.file_name())).unwrap();
            let told = told(&folder);
            assert!(told.ends_with(&format!("{}: there is no such file", layer.file_name())), "{told}");
        }
        let none = Layers::load(&Folder::new().at("none")).unwrap_err().to_string();
        assert!(none.ends_with("none: is not a folder"), "{none}");
    }
}
