//! A request as a run would make it, and helpers to examine the result.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use skillrun_engine::launch::Launch;
use skillrun_engine::{Home, LoginFound, Permission, StartRequest};
use skillrun_model::mcp::McpServers;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{AttemptNumber, ExecutionMode};
use skillrun_plan::VariableKind;

/// A run without MCP servers.
pub(crate) fn no_servers() -> &'static McpServers {
    static NONE: LazyLock<McpServers> = LazyLock::new(McpServers::default);
    &NONE
}

pub(crate) fn request(environment: &[(OsString, OsString)]) -> StartRequest<'_> {
    StartRequest {
        program: Path::new("/bin/engine"),
        interpreter: None,
        login: &LoginFound::Nothing,
        engine_version: None,
        mode: ExecutionMode::Auto,
        attempt: AttemptNumber(1),
        prompt: "Do the job.",
        prompt_file: Path::new("/run/prompt.1.txt"),
        workspace: Path::new("/run/workspace"),
        home: Home::Run(Path::new("/run/own")),
        permission: Permission::Workspace,
        model: None,
        effort: None,
        skill_dir: None,
        output_schema: None,
        script: Some(Path::new("/run/script.yaml")),
        run_record: Some(Path::new("/run/run.json")),
        profile: None,
        continuation: None,
        servers: no_servers(),
        workspace_settings: WorkspaceSettings::Ignore,
        environment,
        variables: &[],
    }
}

/// The words after the program.
pub(crate) fn words(launch: &Launch) -> Vec<&str> {
    let argv: Vec<_> = launch.argv.iter().map(|word| word.as_os_str().to_str().expect("UTF-8")).collect();
    assert_eq!(argv[0], "/bin/engine");
    argv[1..].to_vec()
}

/// `NAME=value`, with a star before secrets.
pub(crate) fn variables(launch: &Launch) -> Vec<String> {
    let show = |text: &skillrun_evidence::OsText| text.as_os_str().to_str().expect("UTF-8").to_owned();
    let star = |kind| match kind {
        VariableKind::Plain => "",
        VariableKind::Secret => "*",
    };
    launch.variables.iter().map(|one| format!("{}{}={}", star(one.kind), show(&one.name), show(&one.value))).collect()
}
