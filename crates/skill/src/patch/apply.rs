//! Puts the layers of a mode at the end of the copy's `SKILL.md`: artifacts, mode, completion. Doing it again changes
//! nothing; doing it for another mode replaces what was there.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use skillrun_base::files;
use skillrun_model::ExecutionMode;

use super::block;
use super::layers::{ARTIFACTS_DIR, Layer, Layers};
use crate::copy::{SkillCopy, write_new};
use crate::error::SkillError;
use crate::package::{SKILL_FILE, read_skill_file};
use crate::template;

/// What the layers are filled with.
#[derive(Debug, Clone, Copy)]
pub struct Patch<'a> {
    pub mode: ExecutionMode,
    /// As it is given to the agent.
    pub artifacts_dir: &'a Path,
}

impl SkillCopy {
    /// Adds the layers to the copy.
    pub fn patch(&self, layers: &Layers, patch: &Patch<'_>) -> Result<(), SkillError> {
        let text = read_skill_file(self.root())?;
        let patched = block::put(&text, &filled(layers, patch).0);
        if patched == text {
            return Ok(());
        }
        let path = self.root().join(SKILL_FILE);
        replace(&path, &patched).map_err(|e| SkillError::new(path, e))
    }
}

/// Whether our block, or a part of it, stands in a text already.
pub(crate) fn has_block(text: &str) -> bool {
    block::marker_line(text).is_some()
}

/// The layers of the mode as one text, and where in it each of them stands.
pub(super) fn filled(layers: &Layers, patch: &Patch<'_>) -> (String, Vec<(Layer, Range<usize>)>) {
    let mut joined = String::new();
    let place = |layer: Layer| {
        if !joined.is_empty() {
            joined.push('\n');
        }
        let start = joined.len();
        joined.push_str(&filled_layer(layers.text(layer), patch));
        (layer, start..joined.len())
    };
    let places = Layer::of(patch.mode).iter().copied().map(place).collect();
    (joined, places)
}

fn filled_layer(layer: &str, patch: &Patch<'_>) -> String {
    let value = |name: &str| {
        let known = name == ARTIFACTS_DIR;
        // Layers are checked when they are loaded; another name cannot be here.
        Ok::<_, Infallible>(if known { patch.artifacts_dir.display().to_string() } else { format!("{{{{{name}}}}}") })
    };
    match template::fill(layer, value) {
        Ok(filled) => filled,
    }
}

/// A new file in the place of the old one. Never through it: it may be a link to another file of the skill.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_file_name("SKILL.md.skillrun");
    // What a process left that was killed here.
    files::remove_if_exists(&beside)?;
    let written = write_new(&beside, false, &mut text.as_bytes()).and_then(|_| fs::rename(&beside, path));
    if written.is_err() {
        fs::remove_file(&beside).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::Skill;
    use crate::patch::patched_view;
    use crate::testing::{Folder, photo};

    fn patch(mode: ExecutionMode) -> Patch<'static> {
        Patch { mode, artifacts_dir: Path::new("/run/workspace/artifacts") }
    }

    fn read(copy: &SkillCopy) -> String {
        fs::read_to_string(copy.root().join(SKILL_FILE)).unwrap()
    }

    fn copied(folder: &Folder) -> SkillCopy {
        SkillCopy::make(&folder.at("demo"), &folder.at("copy")).unwrap()
    }

    #[test]
    fn the_layers_come_in_order_and_the_skill_comes_first() {
        let folder = Folder::skill("demo");
        let copy = copied(&folder);
        let source = read(&copy);
        for (mode, title, other) in [
            (ExecutionMode::Auto, "## No user can answer", "## You can ask the user"),
            (ExecutionMode::Interactive, "## You can ask the user", "## No user can answer"),
        ] {
            copy.patch(&Layers::shipped(), &patch(mode)).unwrap();
            let text = read(&copy);
            assert!(text.starts_with(&source));
            let place = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in {text}"));
            let places = [place("## Where your files go"), place(title), place("## How to finish")];
            assert!(places.is_sorted(), "{places:?}");
            assert!(!text.contains(other));
            assert!(text.contains("\n    /run/workspace/artifacts\n"));
            assert!(!text.contains("{{"));
        }
    }

    #[test]
    fn twice_is_once_and_another_mode_replaces() {
        let folder = Folder::skill("demo");
        let copy = copied(&folder);
        let layers = Layers::shipped();
        let texts =
            [ExecutionMode::Auto, ExecutionMode::Auto, ExecutionMode::Interactive, ExecutionMode::Auto].map(|mode| {
                copy.patch(&layers, &patch(mode)).unwrap();
                read(&copy)
            });
        assert_eq!(texts[0], texts[1]);
        assert_ne!(texts[1], texts[2]);
        assert_eq!(texts[0], texts[3]);
    }

    #[test]
    fn the_source_stays_as_it_is() {
        let folder = Folder::skill("demo").with("demo/scripts/a.sh", "x").with_link("demo/l", "SKILL.md");
        let before = photo(&folder.at("demo"));
        let copy = copied(&folder);
        for mode in ExecutionMode::ALL {
            copy.patch(&Layers::shipped(), &patch(*mode)).unwrap();
        }
        let skill = Skill::load(&folder.at("demo")).unwrap();
        patched_view(&skill, &Layers::shipped(), &patch(ExecutionMode::Auto)).unwrap();
        assert_eq!(photo(&folder.at("demo")), before);
    }

    #[test]
    fn only_skill_md_of_the_copy_changes() {
        let folder = Folder::skill("demo").with("demo/a", "x").with_link("demo/l", "a");
        let copy = copied(&folder);
        let without = |mut photo: std::collections::BTreeMap<_, _>| {
            photo.remove(Path::new(SKILL_FILE));
            photo
        };
        let before = without(photo(copy.root()));
        copy.patch(&Layers::shipped(), &patch(ExecutionMode::Auto)).unwrap();
        assert_eq!(without(photo(copy.root())), before);
    }

    #[test]
    fn a_linked_skill_md_is_replaced_and_not_written_through() {
        let folder = Folder::new().with("demo/docs/real.md", "# Do it\n").with_link("demo/SKILL.md", "docs/real.md");
        let copy = copied(&folder);
        copy.patch(&Layers::shipped(), &patch(ExecutionMode::Auto)).unwrap();
        assert_eq!(fs::read_to_string(copy.root().join("docs/real.md")).unwrap(), "# Do it\n");
        assert!(read(&copy).contains("## How to finish"));
    }

    /// The rest of a process that was killed between writing and renaming.
    #[test]
    fn a_leftover_is_no_obstacle() {
        let folder = Folder::skill("demo");
        let copy = copied(&folder);
        fs::write(copy.root().join("SKILL.md.skillrun"), "half").unwrap();
        copy.patch(&Layers::shipped(), &patch(ExecutionMode::Auto)).unwrap();
        assert!(!copy.root().join("SKILL.md.skillrun").exists());
    }

    #[test]
    fn front_matter_and_windows_line_ends_are_left_alone() {
        let folder = Folder::new().with("demo/SKILL.md", "---\r\nname: demo\r\n---\r\nDo it.\r\n");
        let copy = copied(&folder);
        copy.patch(&Layers::shipped(), &patch(ExecutionMode::Auto)).unwrap();
        assert!(read(&copy).starts_with("---\r\nname: demo\r\n---\r\nDo it."));
    }
}
