//! The HOME of the calling user: logins and settings of every engine, known byte by byte, so that any change can be
//! detected.
//!
//! The settings would break a run: they send the engine to a port on which nothing listens, or to a login in a browser.
//! A run that succeeds has not used them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Path, mode and text of each file.
const FILES: &[(&str, u32, &str)] = &[
    (".bashrc", 0o644, "alias ll='ls -l'\n"),
    (".claude.json", 0o600, "{\"numStartups\": 7, \"projects\": {}}\n"),
    (".claude/.credentials.json", 0o600, CLAUDE_LOGIN),
    (".claude/settings.json", 0o644, "{\"env\": {\"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:9\"}}\n"),
    (".codex/auth.json", 0o600, "{\"OPENAI_API_KEY\": \"sk-of-the-user-in-a-file\"}\n"),
    (".codex/config.toml", 0o600, CODEX_SETTINGS),
    (".config/opencode/opencode.json", 0o644, OPENCODE_SETTINGS),
    (".gemini/oauth_creds.json", 0o600, GOOGLE_LOGIN),
    (".gemini/settings.json", 0o644, "{\"security\": {\"auth\": {\"selectedType\": \"oauth-personal\"}}}\n"),
    (".local/share/opencode/auth.json", 0o600, "{\"anthropic\": {\"type\": \"api\", \"key\": \"sk-of-the-user\"}}\n"),
    (".qwen/oauth_creds.json", 0o600, GOOGLE_LOGIN),
    (".qwen/settings.json", 0o644, "{\"security\": {\"auth\": {\"selectedType\": \"qwen-oauth\"}}, \"$version\": 3}\n"),
];

// Far from its expiry, so that no program has a reason to renew it.
const CLAUDE_LOGIN: &str = r#"{"claudeAiOauth": {"accessToken": "of-the-user", "refreshToken": "of-the-user", "expiresAt": 4102444800000, "scopes": ["user:inference"]}}
"#;

const GOOGLE_LOGIN: &str = r#"{"access_token": "of-the-user", "refresh_token": "of-the-user", "token_type": "Bearer", "expiry_date": 4102444800000}
"#;

const CODEX_SETTINGS: &str = r#"model_provider = "nobody"
[model_providers.nobody]
name = "nobody"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
"#;

const OPENCODE_SETTINGS: &str = r#"{"permission": "deny", "provider": {"openai": {"options": {"baseURL": "http://127.0.0.1:9/v1"}}}}
"#;

#[derive(Debug)]
pub(crate) struct Home {
    root: PathBuf,
    before: BTreeMap<PathBuf, Entry>,
}

/// What is compared of a file, folder or link.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    /// Contents of a file, the target of a link.
    bytes: Vec<u8>,
}

impl Home {
    /// Fills a folder that is not there yet.
    pub(crate) fn make(root: PathBuf) -> std::io::Result<Self> {
        for (path, mode, text) in FILES {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
        }
        let before = entries(&root)?;
        Ok(Self { root, before })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    /// What is not as it was, one line each.
    pub(crate) fn changes(&self) -> std::io::Result<Vec<String>> {
        let mut after = entries(&self.root)?;
        let mut changes = Vec::new();
        for (path, entry) in &self.before {
            match after.remove(path) {
                None => changes.push(format!("{} is gone", path.display())),
                Some(now) if now.mode != entry.mode => {
                    changes.push(format!("{} has mode {:o} instead of {:o}", path.display(), now.mode, entry.mode));
                }
                Some(now) if now.bytes != entry.bytes => changes.push(format!("{} was changed", path.display())),
                Some(_) => {}
            }
        }
        changes.extend(after.keys().map(|path| format!("{} is new", path.display())));
        Ok(changes)
    }
}

fn entries(root: &Path) -> std::io::Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            let bytes = if metadata.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path)?.into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path)?
            } else {
                Vec::new()
            };
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            found.insert(name, Entry { mode: metadata.mode(), bytes });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::make(folder.path().join("home")).expect("a home");
        assert_eq!(home.changes().expect("readable"), Vec::<String>::new());
        let at = |name: &str| home.path().join(name);
        fs::write(at(".codex/auth.json"), "{}").expect("written");
        fs::set_permissions(at(".bashrc"), fs::Permissions::from_mode(0o600)).expect("changed");
        fs::remove_file(at(".claude.json")).expect("removed");
        fs::create_dir(at(".cache")).expect("made");
        let changes = home.changes().expect("readable").join("\n");
        let expected = ".bashrc has mode 100600 instead of 100644\n.claude.json is gone\n.codex/auth.json was changed\n.cache is new";
        assert_eq!(changes, expected);
    }
}
