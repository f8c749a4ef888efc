//! The engines in the binary: each loads, and each starts and resumes with the arguments given here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use skillrun_engine::descriptor::Executable;
use skillrun_engine::{Descriptor, Engines, Home, LoginFound, Permission, Posture, StartRequest, login, resume, start};
use skillrun_model::status::Continuation;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{EngineName, ExecutionMode, ProfileId};
use skillrun_plan::StdinPlan;
use skillrun_plan::signals::SignalName;

mod support;
use support::{request, variables, words};

const NAMES: &str = "claude claude-acp codex codex-acp gemini gemini-acp iflow opencode opencode-acp qwen qwen-acp \
                     scripted";

/// The words on one line, as a shell would read them.
fn line<T: AsRef<str>>(words: &[T]) -> String {
    let quoted = |word: &str| if word.contains(' ') { format!("'{word}'") } else { word.to_owned() };
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn started(engine: &str, request: &StartRequest<'_>) -> String {
    line(&words(&start(Engines::shipped().get(engine).expect("an engine"), request).expect("a launch")))
}

fn resumed(engine: &str, request: &StartRequest<'_>) -> String {
    line(&words(&resume(Engines::shipped().get(engine).expect("an engine"), request, "ses_1").expect("a launch")))
}

fn environment_of(engine: &str) -> String {
    let user = "PATH=/bin HOME=/people/me SHELL=/bin/sh OPENAI_API_KEY=o ANTHROPIC_API_KEY=a GEMINI_API_KEY=g \
                IFLOW_API_KEY=i OPENAI_BASE_URL=http://x AWS_SECRET_ACCESS_KEY=w";
    let pair = |(name, value): (&str, &str)| (name.into(), value.into());
    let user: Vec<_> = user.split(' ').map(|entry| entry.split_once('=').map(pair).expect("a pair")).collect();
    let launch = start(Engines::shipped().get(engine).expect("an engine"), &request(&user)).expect("a launch");
    line(&variables(&launch))
}

#[test]
fn every_file_loads_and_is_in_the_list() {
    let engines = Engines::shipped();
    assert_eq!(engines.broken().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(engines.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(" "), NAMES);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("engines");
    let files: BTreeSet<_> =
        fs::read_dir(folder).expect("files").map(|file| file.expect("a file").file_name()).collect();
    assert_eq!(files, NAMES.split(' ').map(|name| format!("{name}.toml").into()).collect());
}

#[test]
fn engines_and_profiles_know_each_other() {
    let engines = Engines::shipped();
    for profile in ProfileId::ALL {
        if let Some(name) = profile.engine() {
            engines.get(name).unwrap_or_else(|error| panic!("{profile}: {error}"));
        }
    }
    for engine in engines.iter() {
        // The scripted engine writes any format that it is given.
        if engine.name != EngineName::new("scripted") {
            assert_eq!(engine.profile, ProfileId::for_engine(&engine.name), "{}", engine.name);
            let own = (engine.profile != ProfileId::AcpJsonrpc).then_some(engine.name.as_str());
            assert_eq!(engine.profile.engine(), own);
            assert_eq!(engine.continuation, engine.profile.continuation(), "{}", engine.name);
        }
        // Many engines speak the protocol; each has versions of its own.
        if engine.profile != ProfileId::AcpJsonrpc {
            assert_eq!(engine.tested_versions(), engine.profile.tested_versions(), "{}", engine.name);
        }
    }
    let codex = engines.get("codex").expect("codex");
    assert!(!codex.version_is_untested("0.166.0"));
    assert!(
        codex.version_is_untested("0.167.0") && codex.version_is_untested("0.165.9") && codex.version_is_untested("?")
    );
    // Regression: it was called tested.
    assert!(codex.version_is_untested("0.166.0-alpha.2"));
    let mut early = codex.clone();
    if let Some(install) = &mut early.install {
        install.version = "0.166.0-alpha.2".to_owned();
    }
    assert!(!early.version_is_untested("0.166.0-alpha.2"), "the one that is installed was tested");
}

/// `make e2e` found that opencode-acp started the wrapper of the package, which only reports that its install script did
/// not run.
#[test]
fn engines_that_share_an_install_start_the_same_program() {
    let engines = Engines::shipped();
    let shared = engines.iter().filter_map(|engine| {
        let other = engine.install.as_ref()?.shares.as_deref()?;
        Some((engine, engines.get(other).expect("an engine")))
    });
    let mut pairs = 0;
    for (engine, other) in shared {
        assert_eq!(engine.executable, other.executable, "{} and {}", engine.name, other.name);
        pairs += 1;
    }
    assert_eq!(pairs, 3, "gemini, opencode, qwen");
}

#[test]
fn nothing_is_left_to_fill_in() {
    let modes = [ExecutionMode::Auto, ExecutionMode::Interactive, ExecutionMode::Conversation];
    for engine in Engines::shipped().iter() {
        for (mode, permission) in modes.iter().flat_map(|mode| Permission::ALL.iter().map(move |one| (*mode, *one))) {
            for model in [None, Some("a/b-1")] {
                let request = StartRequest { mode, permission, model, effort: model.map(|_| "low"), ..request(&[]) };
                let launches = [start(engine, &request), resume(engine, &request, "ses_1")];
                for launch in launches.map(|launch| launch.expect("a launch")) {
                    let shown = format!("{:?} {:?}", words(&launch), variables(&launch));
                    assert!(!shown.contains("{{"), "{shown}");
                    assert!(launch.files.iter().all(|file| !String::from_utf8_lossy(&file.bytes).contains("{{")));
                    let talks = engine.prompt.protocol.is_some();
                    let stdin = match (talks, &engine.prompt.stdin) {
                        (true, _) => StdinPlan::Pipe,
                        (false, Some(_)) => StdinPlan::File(Path::new("/run/prompt.1.txt").into()),
                        (false, None) => StdinPlan::Null,
                    };
                    assert_eq!(launch.stdin, stdin, "{}", engine.name);
                    assert_eq!(launch.label.execution_mode, Some(mode));
                    let last = launch.ladder.last().map(|rung| rung.signal);
                    assert_eq!(last, Some(SignalName::KILL));
                }
            }
        }
    }
}

#[test]
fn codex() {
    let quiet = "--disable plugins --disable unbounded_connection_retries \
                 -c check_for_update_on_startup=false -c analytics.enabled=false";
    let tmp = "-c sandbox_workspace_write.exclude_slash_tmp=true";
    let request = request(&[]);
    let exec = format!("exec --json --skip-git-repo-check {quiet}");
    let exec_resume = format!("exec resume --json --skip-git-repo-check {quiet}");
    let alone = "--ignore-user-config";
    assert_eq!(started("codex", &request), format!("{exec} --sandbox workspace-write {tmp} {alone} -"));
    let expected = format!("{exec_resume} -c sandbox_mode=\"workspace-write\" {tmp} {alone} ses_1 -");
    assert_eq!(resumed("codex", &request), expected);
    let read_only = StartRequest { permission: Permission::ReadOnly, ..request };
    assert!(started("codex", &read_only).contains(" --sandbox read-only "));
    assert!(resumed("codex", &read_only).contains(" -c sandbox_mode=\"read-only\" "));
    let full = StartRequest { permission: Permission::Full, model: Some("gpt-5"), effort: Some("high"), ..request };
    let words =
        format!("--dangerously-bypass-approvals-and-sandbox {alone} --model gpt-5 -c model_reasoning_effort=\"high\"");
    assert_eq!(started("codex", &full), format!("{exec} {words} -"));
    assert_eq!(resumed("codex", &full), format!("{exec_resume} {words} ses_1 -"));
    let expected = "HOME=/run/own *OPENAI_API_KEY=o OPENAI_BASE_URL=http://x PATH=/bin";
    assert_eq!(environment_of("codex"), expected);
}

#[test]
fn gemini() {
    let request = StartRequest { model: Some("gemini-2.5-flash"), ..request(&[]) };
    let first = "--output-format stream-json --approval-mode yolo --skip-trust --model gemini-2.5-flash";
    assert_eq!(started("gemini", &request), first);
    assert_eq!(resumed("gemini", &request), format!("{first} --resume ses_1"));
    let read_only = StartRequest { permission: Permission::ReadOnly, ..request };
    assert!(started("gemini", &read_only).contains("--approval-mode default"));
    let expected = "CODE_ASSIST_ENDPOINT=https://cloudcode-pa.googleapis.com *GEMINI_API_KEY=g \
                    GEMINI_CLI_NO_RELAUNCH=true GEMINI_CLI_TRUST_WORKSPACE=false \
                    GOOGLE_GEMINI_BASE_URL=https://generativelanguage.googleapis.com HOME=/run/own \
                    NODE_TLS_REJECT_UNAUTHORIZED=1 NO_COLOR=1 PATH=/bin";
    assert_eq!(environment_of("gemini"), expected);
}

#[test]
fn opencode() {
    let request = StartRequest { model: Some("fake/fake-model"), ..request(&[]) };
    assert_eq!(started("opencode", &request), "run --format json --model fake/fake-model");
    assert_eq!(resumed("opencode", &request), "run --format json --model fake/fake-model --session ses_1");
    let config = concat!(
        r#"OPENCODE_CONFIG_CONTENT={"autoupdate":false,"share":"disabled","instructions":["/run/workspace/AGENTS.md"],"#,
        r#""permission":"allow","#,
        r#""provider":{"openai":{"options":{"baseURL":"http://x"}}}}"#
    );
    let expected = format!(
        "*ANTHROPIC_API_KEY=a *GEMINI_API_KEY=g HOME=/run/own *OPENAI_API_KEY=o OPENAI_BASE_URL=http://x {config} \
         OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 \
         OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_PROJECT_CONFIG=1 PATH=/bin"
    );
    assert_eq!(environment_of("opencode"), expected);
}

#[test]
fn opencode_configuration_is_json_at_every_permission() {
    let engines = Engines::shipped();
    for permission in Permission::ALL {
        let request = StartRequest { permission: *permission, ..request(&[]) };
        let launch = start(engines.get("opencode").expect("opencode"), &request).expect("a launch");
        let all = variables(&launch);
        let json = all.iter().find_map(|one| one.strip_prefix("OPENCODE_CONFIG_CONTENT=")).expect("a configuration");
        let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert!(!json["permission"].is_null() && !json.to_string().contains("\"ask\""), "{json}");
    }
}

#[test]
fn claude() {
    let request = request(&[]);
    let alone = "--setting-sources=user --strict-mcp-config --add-dir=/run/workspace";
    let expected = format!("-p --output-format stream-json --verbose --dangerously-skip-permissions {alone}");
    assert_eq!(started("claude", &request), expected);
    let with_model = StartRequest { model: Some("claude-sonnet-4-5"), permission: Permission::ReadOnly, ..request };
    let expected = format!(
        "-p --output-format stream-json --verbose --permission-mode=default \
         --disallowedTools=Bash,Edit,Write,NotebookEdit {alone} --model claude-sonnet-4-5 --resume ses_1"
    );
    assert_eq!(resumed("claude", &with_model), expected);
    let expected = "*ANTHROPIC_API_KEY=a CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_MAX_RETRIES=2 \
                    DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1 DISABLE_TELEMETRY=1 HOME=/run/own IS_SANDBOX=1 \
                    PATH=/bin";
    assert_eq!(environment_of("claude"), expected);
}

#[test]
fn qwen() {
    let request = StartRequest { model: Some("fake-model"), ..request(&[]) };
    let first = "--auth-type openai --output-format stream-json --approval-mode yolo \
                 --allowed-mcp-server-names=skillrun-no-other --model fake-model";
    assert_eq!(started("qwen", &request), first);
    assert_eq!(resumed("qwen", &request), format!("{first} --resume ses_1"));
    let expected = "HOME=/run/own NODE_TLS_REJECT_UNAUTHORIZED=1 NO_COLOR=1 *OPENAI_API_KEY=o \
                    OPENAI_BASE_URL=http://x PATH=/bin QWEN_CODE_NO_RELAUNCH=true \
                    QWEN_CODE_SYSTEM_SETTINGS_PATH=/run/own/.qwen/skillrun.json QWEN_TLS_INSECURE=0";
    assert_eq!(environment_of("qwen"), expected);
}

#[test]
fn iflow() {
    let request = request(&[]);
    assert_eq!(started("iflow", &request), "--yolo --thinking -p 'Do the job.'");
    assert_eq!(resumed("iflow", &request), "--resume=ses_1 --yolo --thinking -p 'Do the job.'");
    let read_only = StartRequest { permission: Permission::ReadOnly, ..request };
    assert_eq!(started("iflow", &read_only), "--thinking -p 'Do the job.'");
    assert_eq!(environment_of("iflow"), "HOME=/run/own *IFLOW_API_KEY=i NO_COLOR=1 PATH=/bin");
}

#[test]
fn scripted_is_this_program_and_speaks_any_format() {
    let engines = Engines::shipped();
    let scripted = engines.get("scripted").expect("scripted");
    assert_eq!(scripted.executable, Executable::Own);
    let request = StartRequest { mode: ExecutionMode::Interactive, ..request(&[]) };
    let written = |profile: &str, more: &str| {
        let places = "--state /run/own/.scripted --run /run/run.json";
        format!("simulate-scripted --script /run/script.yaml --profile {profile} {places} {more}")
    };
    assert_eq!(started("scripted", &request), written("codex_ndjson", "--prompt=-"));
    let claude = StartRequest { profile: Some(ProfileId::ClaudeStreamJson), ..request };
    assert_eq!(resumed("scripted", &claude), written("claude_stream_json", "--resume ses_1 --prompt=-"));
    let sticky = StartRequest { continuation: Some(Continuation::Sticky), ..claude };
    let launch = start(scripted, &sticky).expect("a launch");
    assert_eq!(line(&words(&launch)), written("claude_stream_json", "--sticky '--prompt=Do the job.'"));
    assert_eq!(launch.stdin, StdinPlan::Pipe);
    let profile = ProfileId::ClaudeStreamJson;
    assert_eq!((launch.profile, launch.label.profile), (profile, Some(profile)));
    assert_eq!(launch.continuation, Continuation::Sticky);
    let plain = StartRequest { profile: Some(ProfileId::PlainText), ..request };
    assert!(start(scripted, &plain).is_err(), "text has no session to continue");
}

#[test]
fn settings_are_json_and_go_to_the_home_of_the_run_alone() {
    let engines = Engines::shipped();
    for (name, path) in [("gemini", "/run/own/.gemini/settings.json"), ("qwen", "/run/own/.qwen/settings.json")] {
        let engine = engines.get(name).expect("an engine");
        let launch = start(engine, &request(&[])).expect("a launch");
        let files: Vec<_> = launch.files.iter().filter(|file| !file.path.ends_with("skillrun.json")).collect();
        let [file, prompt] = files.as_slice() else { panic!("{:?}", launch.files) };
        assert_eq!((file.path.as_path(), prompt.path.as_path()), (Path::new(path), Path::new("/run/prompt.1.txt")));
        let json: serde_json::Value = serde_json::from_slice(&file.bytes).expect("JSON");
        assert_eq!(json["privacy"]["usageStatisticsEnabled"], false, "{name}");
        let in_users_home = StartRequest { home: Home::User(Path::new("/people/me")), ..request(&[]) };
        let launch = start(engine, &in_users_home).expect("a launch");
        assert_eq!(launch.files.len(), 1, "the prompt alone");
        assert!(variables(&launch).contains(&"HOME=/people/me".to_owned()));
    }
}

#[test]
fn what_sounds_secret_is_masked() {
    for engine in Engines::shipped().iter() {
        let set = engine.environment.set.iter().map(|(name, _)| name);
        for name in engine.environment.pass.iter().chain(set) {
            let sounds_secret = ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word));
            assert!(!sounds_secret, "{}: {name}", engine.name);
        }
        let has_login = engine.name != EngineName::new("scripted");
        assert_eq!(!engine.environment.secret.is_empty(), has_login, "{}", engine.name);
    }
}

/// Regression: opencode was among those that are held to reading, and a file of the workspace lifts its rules.
#[test]
fn only_codex_is_held_to_its_permission() {
    let engines = Engines::shipped();
    let enforced = |permission| {
        let is_held = |one: &&Descriptor| one.permissions.rule(permission).posture == Posture::Enforced;
        engines.iter().filter(is_held).map(|one| one.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(enforced(Permission::Workspace), ["codex", "codex-acp"]);
    assert_eq!(enforced(Permission::ReadOnly), ["codex", "codex-acp"]);
    assert!(engines.iter().all(|one| one.permissions.full.posture == Posture::NotEnforced));
}

/// They read files of the workspace before they do anything.
#[test]
fn engines_that_read_the_workspace_list_what_could_start() {
    for engine in Engines::shipped().iter() {
        let reads = ["codex", "claude", "gemini", "opencode", "qwen"];
        let reads = reads.iter().any(|name| engine.name.as_str().starts_with(name));
        assert_eq!(!engine.workspace.starts.is_empty(), reads, "{}", engine.name);
    }
}

/// A run whose files may start programs is as it was before there were switches.
#[test]
fn switches_are_left_out_where_the_workspace_may_start_programs() {
    let allowed = StartRequest { workspace_settings: WorkspaceSettings::Allow, ..request(&[]) };
    for (engine, flag, variable) in [
        ("codex", "--ignore-user-config", None),
        (
            "claude",
            "--setting-sources=user --strict-mcp-config",
            Some("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1"),
        ),
        ("gemini", "--skip-trust", Some("GEMINI_CLI_TRUST_WORKSPACE=false")),
        ("opencode", "run", Some("OPENCODE_DISABLE_PROJECT_CONFIG=1")),
        ("qwen", "--allowed-mcp-server-names", Some("QWEN_CODE_SYSTEM_SETTINGS_PATH=/run/own/.qwen/skillrun.json")),
    ] {
        let has = |request: &StartRequest<'_>| {
            let launch = start(Engines::shipped().get(engine).expect("an engine"), request).expect("a launch");
            let all = variables(&launch);
            let set = variable.map(|wanted| all.iter().any(|one| one == wanted));
            (line(&words(&launch)).contains(flag), set)
        };
        let flags_are_left_out = engine != "opencode";
        assert_eq!(has(&request(&[])), (true, variable.map(|_| true)), "{engine}");
        assert_eq!(has(&allowed), (!flags_are_left_out, variable.map(|_| false)), "{engine}");
    }
}

/// codex writes into the HOME that it gets: of the user's it must not learn that the project is trusted, and the user's
/// settings there are in use.
#[test]
fn codex_is_told_otherwise_in_the_home_of_the_user() {
    let users = StartRequest { home: Home::User(Path::new("/people/me")), ..request(&[]) };
    let words = started("codex", &users);
    assert!(words.contains(r#"-c 'projects={ "/run/workspace"={trust_level="untrusted"} }'"#), "{words}");
    assert!(!words.contains("--ignore-user-config"), "{words}");
}

/// A file of the workspace could set it otherwise.
#[test]
fn a_variable_that_the_user_has_set_is_left_alone() {
    let set = |user: &[(std::ffi::OsString, std::ffi::OsString)]| {
        let launch = start(Engines::shipped().get("qwen").expect("qwen"), &request(user)).expect("a launch");
        variables(&launch).into_iter().find(|one| one.starts_with("OPENAI_BASE_URL="))
    };
    assert_eq!(set(&[]).as_deref(), Some("OPENAI_BASE_URL=https://api.openai.com/v1"));
    assert_eq!(set(&[("OPENAI_BASE_URL".into(), "http://x".into())]).as_deref(), Some("OPENAI_BASE_URL=http://x"));
}

/// Regression: with GOOGLE_API_KEY alone gemini was configured to use a key that it does not have, and a login in a
/// file was hidden.
#[test]
fn a_key_of_another_service_is_no_login() {
    let engines = Engines::shipped();
    for name in ["gemini", "gemini-acp"] {
        let engine = engines.get(name).expect("an engine");
        let found = |is_in_home: bool| login::found(engine, |name| name == "GOOGLE_API_KEY", |_| is_in_home);
        assert_eq!(found(false), LoginFound::Nothing);
        assert_eq!(found(true), LoginFound::File(".gemini/oauth_creds.json".to_owned()));
        assert!(engine.environment.secret.contains(&"GOOGLE_API_KEY".to_owned()), "it is a secret all the same");
    }
}

/// Gemini, qwen and claude read files outside of the workspace only where a flag allows it.
#[test]
fn the_folder_of_the_skill_may_be_read() {
    let request = StartRequest { skill_dir: Some(Path::new("/run/own/skills/s")), ..request(&[]) };
    for (name, word) in [
        ("gemini", "--include-directories=/run/own/skills/s"),
        ("qwen", "--include-directories=/run/own/skills/s"),
        ("claude", "--add-dir=/run/own/skills/s"),
    ] {
        for launched in [started(name, &request), resumed(name, &request)] {
            assert!(launched.split(' ').any(|one| one == word), "{name}: {launched}");
        }
    }
}

/// Regression: gemini and qwen split at commas, and could then have read the folder before the comma.
#[test]
fn a_folder_that_would_be_taken_for_two_is_refused() {
    let request = StartRequest { skill_dir: Some(Path::new("/some/me,you/skills/s")), ..request(&[]) };
    let engines = Engines::shipped();
    for name in ["gemini", "gemini-acp", "qwen", "qwen-acp"] {
        let refused = start(engines.get(name).expect("an engine"), &request).expect_err("refused").to_string();
        let words = "the value for {{skill_dir}} has a comma in it, and would be read as two values";
        assert_eq!(refused, format!("{name} cannot be started: {words}"));
    }
    assert!(started("claude", &request).split(' ').any(|word| word == "--add-dir=/some/me,you/skills/s"));
}

#[test]
fn skills_go_where_the_engine_looks() {
    let engines = Engines::shipped();
    let first = |name: &str| engines.get(name).expect("an engine").skills.project.first().cloned();
    for (name, folder) in [
        ("codex", ".codex/skills"),
        ("gemini", ".gemini/skills"),
        ("opencode", ".agents/skills"),
        ("claude", ".claude/skills"),
        ("qwen", ".qwen/skills"),
    ] {
        assert_eq!(first(name).as_deref(), Some(Path::new(folder)));
    }
    assert_eq!((first("iflow"), first("scripted")), (None, None));
}

/// A request of a user who has set these variables.
fn launched(engine: &str, user: &[(&str, &str)], login: &LoginFound) -> (Vec<String>, Vec<String>, String) {
    let user: Vec<_> = user.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let engines = Engines::shipped();
    let request = StartRequest { login, ..request(&user) };
    let launch = start(engines.get(engine).expect("an engine"), &request).expect("a launch");
    let settings = launch.files.first().map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    let argv = words(&launch).into_iter().map(str::to_owned).collect();
    (argv, variables(&launch), settings.unwrap_or_default())
}

/// Regression: codex and opencode do not read the variable, and used the real service.
#[test]
fn another_address_for_the_model_reaches_every_engine() {
    let url = "http://127.0.0.1:1/s/\"x/v1";
    let (argv, ..) = launched("codex", &[("OPENAI_BASE_URL", url)], &LoginFound::Nothing);
    let provider = argv.iter().find(|word| word.starts_with("model_providers.gateway=")).expect("a provider");
    assert!(provider.contains(r#"base_url="http://127.0.0.1:1/s/\"x/v1","#), "{provider}");
    assert!(argv.contains(&"model_provider=\"gateway\"".to_owned()));
    for user in [&[][..], &[("OPENAI_BASE_URL", "")][..]] {
        let (argv, ..) = launched("codex", user, &LoginFound::Nothing);
        assert!(!argv.join(" ").contains("gateway"), "{argv:?}");
        let (_, variables, _) = launched("opencode", user, &LoginFound::Nothing);
        assert!(!variables.join(" ").contains("provider"), "{variables:?}");
    }
    let (_, all, _) = launched("opencode", &[("OPENAI_BASE_URL", url)], &LoginFound::Nothing);
    let json = all.iter().find_map(|one| one.strip_prefix("OPENCODE_CONFIG_CONTENT=")).expect("a configuration");
    let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(json["provider"]["openai"]["options"]["baseURL"], url);
    for (name, variable) in
        [("claude", "ANTHROPIC_BASE_URL"), ("gemini", "GOOGLE_GEMINI_BASE_URL"), ("qwen", "OPENAI_BASE_URL")]
    {
        let (_, all, _) = launched(name, &[(variable, url)], &LoginFound::Nothing);
        assert!(all.contains(&format!("{variable}={url}")), "{name}: {all:?}");
    }
}

#[test]
fn settings_choose_the_kind_of_login_that_was_found() {
    let selected = |settings: &str| {
        let json: serde_json::Value = serde_json::from_str(settings).expect("JSON");
        json["security"]["auth"]["selectedType"].as_str().expect("a word").to_owned()
    };
    let file = LoginFound::File("a file".to_owned());
    let variable = LoginFound::Variable("A_KEY".to_owned());
    for (name, by_variable, by_file) in
        [("gemini", "gemini-api-key", "oauth-personal"), ("qwen", "openai", "qwen-oauth")]
    {
        for (login, expected) in [(&variable, by_variable), (&LoginFound::Nothing, by_variable), (&file, by_file)] {
            let (argv, _, settings) = launched(name, &[], login);
            assert_eq!(selected(&settings), expected, "{name}");
            assert_eq!(argv.contains(&expected.to_owned()), name == "qwen", "{argv:?}");
        }
    }
}

#[test]
fn every_installable_engine_has_a_probe_and_a_login() {
    for engine in Engines::shipped().iter() {
        let Some(install) = &engine.install else { continue };
        assert!(!engine.version_is_untested(&install.version), "{}", engine.name);
        let probe = engine.probe.as_ref().unwrap_or_else(|| panic!("{} has no [probe]", engine.name));
        let set = probe.variables("http://127.0.0.1:1/s/auto");
        assert!(set.iter().any(|(_, value)| value.starts_with("http://127.0.0.1:1/s/auto")), "{set:?}");
        assert!(set.iter().any(|(_, value)| value == "probe"), "{set:?}");
        assert!(engine.login.command.is_some() && !engine.login.variables.is_empty(), "{}", engine.name);
        assert!(!engine.login.files.is_empty(), "{}", engine.name);
    }
}

/// A script is started with its Node as the first argument, and everything else is unchanged.
#[test]
fn a_script_is_a_word_after_its_interpreter() {
    let engines = Engines::shipped();
    let qwen = engines.get("qwen").expect("qwen");
    let plain = start(qwen, &request(&[])).expect("a launch");
    let node = StartRequest { interpreter: Some(Path::new("/node")), ..request(&[]) };
    let with_node = start(qwen, &node).expect("a launch");
    assert_eq!(with_node.argv[0].as_path(), Path::new("/node"));
    assert_eq!(with_node.argv[1..], plain.argv[..]);
    assert_eq!(with_node.variables, plain.variables, "PATH is the user's");
}
