//! TOML of operators: the settings, and descriptors of engines.
//!
//! Laws: read or refused in one sentence; an engine that is read can be started, or says in one sentence why not.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use skillrun_engine::{Descriptor, Engines, Home, LoginFound, Permission, StartRequest, resume, start};
use skillrun_model::mcp::McpServers;
use skillrun_model::{AttemptNumber, ExecutionMode};

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::process::{assert_ended, skillrun};
use crate::tree::assert_sentence;
use crate::{seeds, words};

const SETTINGS: &str = r#"engine = "codex"
data = "~/x"
skills = ["a", "b"]
permission = "workspace"
home = "own"
hard_timeout_sec = 60
interactive_require_user_reply = true
redact = ["secret-[0-9]+"]
consent = ["qwen"]

[slots]
total = 4
engines = { codex = 2 }

[retention]
succeeded_days = 3
max_gb = 1.5

[server]
listen = "127.0.0.1:0"
hosts = ["localhost"]
origins = ["http://localhost:3000"]
body_mb = 4
webhooks = ["https://example.org/hook"]
"#;

fn no_servers() -> &'static McpServers {
    static NONE: LazyLock<McpServers> = LazyLock::new(McpServers::default);
    &NONE
}

fn request<'a>(environment: &'a [(OsString, OsString)], permission: Permission, home: Home<'a>) -> StartRequest<'a> {
    StartRequest {
        program: Path::new("/bin/engine"),
        interpreter: None,
        login: &LoginFound::Nothing,
        engine_version: Some("1.2.3"),
        mode: ExecutionMode::Interactive,
        attempt: AttemptNumber(1),
        prompt: "Do \"the\" job {{prompt}}\n--now",
        prompt_file: Path::new("/run/prompt.1.txt"),
        workspace: Path::new("/run/workspace"),
        home,
        permission,
        model: Some("big"),
        effort: None,
        skill_dir: Some(Path::new("/run/skill")),
        output_schema: None,
        script: Some(Path::new("/run/script.yaml")),
        run_record: None,
        profile: None,
        continuation: None,
        servers: no_servers(),
        workspace_settings: skillrun_model::workspace_settings::WorkspaceSettings::Ignore,
        environment,
        variables: &[],
    }
}

fn try_to_start(descriptor: &Descriptor) {
    let environment = [("OPENAI_API_KEY".into(), "k".into()), ("PATH".into(), "/bin".into())];
    let own = Path::new("/run/own");
    for (permission, home) in Permission::ALL.iter().flat_map(|one| [(*one, Home::Run(own)), (*one, Home::User(own))]) {
        let request = request(&environment, permission, home);
        for launch in [start(descriptor, &request), resume(descriptor, &request, "ses_1")] {
            match launch {
                Ok(launch) => {
                    assert!(!launch.argv.is_empty(), "no program");
                    // Nothing is written into the home of the user.
                    let is_ours = |path: &Path| home == Home::Run(own) || !path.starts_with(own);
                    assert!(launch.files.iter().all(|file| is_ours(&file.path)), "{:?}", launch.files);
                }
                Err(error) => assert_sentence(&error.to_string()),
            }
        }
    }
}

#[test]
fn toml_engines() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = seeds::files("crates/engine/engines", ".toml");
    // So that the name in the file is that of the file.
    for text in &mut all {
        let first = text.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        text.splice(..first, *b"name = \"mine\"");
    }
    all.push(skillrun_engine::load::REFERENCE.replacen("\"example\"", "\"mine\"", 1).into_bytes());
    let material = Material::new(all, words::TOML);
    fuzz("toml_engines", mutate::bytes(&material), |bytes: &Bytes| {
        fs::write(folder.path().join("mine.toml"), &bytes.0).expect("written");
        let engines = Engines::load(Some(folder.path()));
        match engines.get("mine") {
            Ok(descriptor) => try_to_start(descriptor),
            Err(error) => assert_sentence(&error.to_string()),
        }
        assert!(engines.get("codex").is_ok(), "another engine is broken by it");
    });
}

#[test]
fn toml_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let material = Material::new(vec![SETTINGS.as_bytes().to_vec()], words::TOML);
    fuzz("toml_settings", mutate::bytes(&material), |bytes: &Bytes| {
        let file = folder.path().join("config.toml");
        fs::write(&file, &bytes.0).expect("written");
        let words = ["--config", file.to_str().expect("UTF-8"), "config", "show", "--json"];
        let output = skillrun(&words).env("HOME", folder.path()).current_dir(folder.path()).output().expect("run");
        assert_ended(&output, &[2]);
        if output.status.success() {
            serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON");
        }
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["config.toml"], "it made something");
    });
}
