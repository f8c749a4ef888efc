use std::fs;
use std::path::Path;

use serde_json::json;
use skillrun_engine::{Permission, Posture};
use skillrun_model::checks::CheckCommand;
use skillrun_model::confinement::{BoxChoice, NetworkAccess};
use skillrun_model::limits::ResourceLimits;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::OnQuota;
use skillrun_model::{RunId, Timestamp};
use skillrun_runs::record::{EngineRecord, FORMAT, HomeChoice, RetryPolicy, SkillRecord, Snapshot, Timeouts};

use super::*;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn skill(folder: &Path) {
    fs::create_dir_all(folder).expect("made");
    fs::write(folder.join("SKILL.md"), "---\nname: demo\ndescription: D.\n---\nDo it.\n").expect("written");
}

fn check(name: &str, origin: CheckOrigin) -> RunCheck {
    let command = CheckCommand::Line("make".to_owned());
    RunCheck { name: name.to_owned(), command, timeout_sec: 9.0, origin }
}

/// A run of a skill in `source` and a copy of it.
fn run(root: &Path) -> (RunRecord, RunFolder) {
    let folder = RunFolder::at(root.join("run"));
    skill(&root.join("source"));
    skill(&folder.skill());
    let record = RunRecord {
        format: FORMAT,
        run_id: RunId::new(1, [7; 10]),
        created_at: Timestamp::EPOCH,
        skillrun: "0".to_owned(),
        translator: 1,
        gate: 1,
        skill: Some(SkillRecord {
            name: "demo".to_owned(),
            version: None,
            source: root.join("source").into(),
            hash: "h".to_owned(),
            layers_hash: "l".to_owned(),
        }),
        engine: EngineRecord {
            name: "one".to_owned(),
            program: "/one".into(),
            interpreter: None,
            version: None,
            profile: ProfileId::PlainText,
            profile_version: 1,
            continuation: Continuation::Resumable,
            posture: Posture::Enforced,
            login: None,
        },
        confinement: None,
        workspace_starts: Vec::new(),
        workspace_credentials: Vec::new(),
        request: RunRequest {
            prompt: None,
            workflow: None,
            reuses: None,
            mode: ExecutionMode::Interactive,
            input: object(json!({"a": 1, "b": 2})),
            parameter: object(json!({"c": 3})),
            files: [("data".to_owned(), "1-data.csv".to_owned()), ("more".to_owned(), "2-more".to_owned())].into(),
            workspace: Workspace::Folder { path: "/work".into(), sharing: Sharing::Allowed },
            home: HomeChoice::User,
            permission: Permission::ReadOnly,
            confinement: BoxChoice::Off,
            network: NetworkAccess::Open,
            allow_hosts: Vec::new(),
            limits: ResourceLimits::default(),
            workspace_settings: Default::default(),
            model: Some("m".to_owned()),
            effort: Some("high".to_owned()),
            script: Some("script.yaml".to_owned()),
            timeouts: Timeouts { hard_sec: 10.0, stall_sec: 5.0, linger_sec: Some(1.0) },
            max_bytes: 99,
            interactive_require_user_reply: false,
            session_timeout_sec: 7.0,
            idle_sec: 8.0,
            auto_decision_limit: 4,
            default_decision_policy: None,
            max_attempt: Some(3),
            require_marker: true,
            snapshot: Snapshot::Off,
            env: vec!["LANG".to_owned()],
            secrets: vec!["KEY".to_owned()],
            mcp_servers: Default::default(),
            priority: 2,
            retry: RetryPolicy { quota: OnQuota::Wait, quota_max: 3 },
            delegation: None,
            checks: vec![check("of the skill", CheckOrigin::Skill), check("tests", CheckOrigin::Request)],
            artifacts: Vec::new(),
            request_id: Some("mine".to_owned()),
        },
        input_hashes: Default::default(),
        redact_patterns: Vec::new(),
        retry_of: None,
        continues: None,
        parent: None,
        quota_retry: None,
    };
    (record, folder)
}

fn skill_root(new: &NewRun) -> &Path {
    &new.task.skill().expect("a skill").root
}

#[test]
fn retry_without_a_skill_has_the_same_prompt() {
    let root = tempfile::tempdir().expect("a folder");
    let (mut record, folder) = run(root.path());
    (record.skill, record.request.prompt) = (None, Some(" Why?\n".to_owned()));
    let Again { new, skill_from } = again(&record, &folder, Overrides::default()).expect("a request");
    assert_eq!(skill_from, SkillFrom::NoSkill);
    assert!(matches!(&new.task, RunTask::Prompt(prompt) if prompt == " Why?\n"), "{:?}", new.task);
    assert_eq!(new.files["data"], folder.inputs().join("1-data.csv"));
    let same = the_same(&record, &folder).expect("a request");
    assert!(matches!(&same.task, RunTask::Prompt(prompt) if prompt == " Why?\n"), "{:?}", same.task);
}

#[test]
fn without_a_word_it_is_what_it_was() {
    let root = tempfile::tempdir().expect("a folder");
    let (record, folder) = run(root.path());
    let Again { new, skill_from } = again(&record, &folder, Overrides::default()).expect("a request");
    assert_eq!(skill_from, SkillFrom::Source);
    assert_eq!(skill_root(&new), root.path().join("source"));
    assert_eq!((new.engine.as_str(), new.mode), ("one", Some(ExecutionMode::Interactive)));
    assert_eq!((&new.input, &new.parameter), (&record.request.input, &record.request.parameter));
    assert_eq!(new.files["data"], folder.inputs().join("1-data.csv"));
    assert_eq!(new.workspace, Some(("/work".into(), Sharing::Allowed)));
    assert_eq!(new.script, Some(folder.inputs().join("script.yaml")));
    assert_eq!((new.profile, new.continuation), (Some(ProfileId::PlainText), Some(Continuation::Resumable)));
    let expected = Options {
        permission: Some(Permission::ReadOnly),
        confinement: Some(BoxChoice::Off),
        network: Some(NetworkAccess::Open),
        allow_hosts: Vec::new(),
        limits: ResourceLimits::default(),
        workspace_settings: Some(Default::default()),
        home: Some(HomeChoice::User),
        model: Some("m".to_owned()),
        effort: Some("high".to_owned()),
        hard_timeout_sec: Some(10.0),
        stall_timeout_sec: Some(5.0),
        linger_sec: Some(1.0),
        max_bytes: Some(99),
        require_user_reply: Some(false),
        session_timeout_sec: Some(7.0),
        idle_sec: Some(8.0),
        auto_decision_limit: Some(4),
        default_decision_policy: None,
        max_attempt: Some(3),
        require_marker: Some(true),
        snapshot: Some(Snapshot::Off),
        retry_quota: Some(OnQuota::Wait),
        retry_quota_max: Some(3),
        env: vec!["LANG".to_owned()],
        secrets: vec!["KEY".to_owned()],
        mcp_servers: Default::default(),
        priority: Some(2),
        delegation: None,
        // Those of the skill are read again with it.
        checks: vec![CheckRequest {
            name: Some("tests".to_owned()),
            timeout_sec: Some(9.0),
            ..CheckRequest::line("make")
        }],
    };
    assert_eq!(new.options, expected);
    assert_eq!((new.retry_of, new.request_id), (Some(record.run_id), None), "a request id names one request");
}

#[test]
fn another_engine_gets_nothing_that_is_the_first_ones_own() {
    let root = tempfile::tempdir().expect("a folder");
    let (record, folder) = run(root.path());
    let of = |engine: &str| {
        let overrides = Overrides { engine: Some(engine.to_owned()), ..Overrides::default() };
        again(&record, &folder, overrides).expect("a request").new
    };
    let other = of("two");
    assert_eq!((&other.script, other.profile, other.continuation), (&None, None, None));
    assert_eq!((&other.options.model, &other.options.effort), (&None, &None));
    assert_eq!(other.options.hard_timeout_sec, Some(10.0), "time is not the engine's");
    let same = of("one");
    assert!(same.script.is_some() && same.profile.is_some() && same.options.model.is_some());
}

#[test]
fn what_is_given_now_goes_before_what_was() {
    let root = tempfile::tempdir().expect("a folder");
    let (record, folder) = run(root.path());
    let overrides = Overrides {
        mode: Some(ExecutionMode::Auto),
        input: object(json!({"b": "new", "z": null})),
        files: [("data".to_owned(), "/other.csv".into())].into(),
        workspace: Some(("/else".into(), Sharing::Alone)),
        options: Options {
            home: Some(HomeChoice::Run),
            max_bytes: Some(1),
            priority: Some(0),
            env: vec!["TERM".to_owned()],
            ..Options::default()
        },
        ..Overrides::default()
    };
    let new = again(&record, &folder, overrides).expect("a request").new;
    assert_eq!(new.mode, Some(ExecutionMode::Auto));
    assert_eq!(Value::Object(new.input), json!({"a": 1, "b": "new", "z": null}));
    assert_eq!((new.files["data"].as_path(), new.files.len()), (Path::new("/other.csv"), 2));
    assert_eq!(new.workspace, Some(("/else".into(), Sharing::Alone)));
    assert_eq!((new.options.home, new.options.max_bytes), (Some(HomeChoice::Run), Some(1)));
    assert_eq!((new.options.priority, new.options.env), (Some(0), vec!["TERM".to_owned()]));
    assert_eq!(new.options.secrets, ["KEY"]);
}

/// A skill's servers are checked each time; as a part of the request they would be the user's own.
#[test]
fn servers_of_the_skill_do_not_become_servers_of_the_request() {
    let servers = |value: Value| serde_json::from_value::<McpServers>(value).expect("servers");
    let root = tempfile::tempdir().expect("a folder");
    let (mut record, folder) = run(root.path());
    let of_skill = json!({"lab": {"command": "lab"}});
    let runner = json!({"mcp_servers": of_skill}).to_string();
    fs::create_dir_all(root.path().join("source/assets")).expect("a folder");
    fs::write(root.path().join("source/assets/runner.json"), runner).expect("written");
    record.request.mcp_servers = servers(json!({"lab": {"command": "lab"}, "web": {"url": "http://h"}}));
    let again = |overrides| again(&record, &folder, overrides).expect("a request").new.options.mcp_servers;
    assert_eq!(again(Overrides::default()), servers(json!({"web": {"url": "http://h"}})));
    let other = servers(json!({"db": {"command": "db"}}));
    let options = Options { mcp_servers: other.clone(), ..Options::default() };
    assert_eq!(again(Overrides { options, ..Overrides::default() }), other);
}

#[test]
fn a_source_that_is_gone_is_told_and_the_copy_used() {
    let root = tempfile::tempdir().expect("a folder");
    let (record, folder) = run(root.path());
    let source = root.path().join("source");
    fs::remove_dir_all(&source).expect("removed");
    let Again { new, skill_from } = again(&record, &folder, Overrides::default()).expect("a request");
    assert_eq!((skill_root(&new), skill_from), (folder.skill().as_path(), SkillFrom::OwnCopy { gone: source }));
    fs::remove_dir_all(folder.skill()).expect("removed");
    assert!(again(&record, &folder, Overrides::default()).is_err(), "nothing is left of it");
}

/// A skill may have other checks by now, whose numbers would be names that are taken.
#[test]
fn number_of_an_unnamed_check_is_not_kept_as_its_name() {
    let root = tempfile::tempdir().expect("a folder");
    let (mut record, folder) = run(root.path());
    record.request.checks = vec![check("check 2", CheckOrigin::Request), check("check this", CheckOrigin::Request)];
    let checks = again(&record, &folder, Overrides::default()).expect("a request").new.options.checks;
    let names: Vec<_> = checks.iter().map(|check| check.name.as_deref()).collect();
    assert_eq!(names, [None, Some("check this")]);
}
