use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// A folder with programs, which is all of PATH.
struct Machine {
    folder: tempfile::TempDir,
    environment: Vec<(OsString, OsString)>,
}

impl Machine {
    fn with(programs: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, script) in programs {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
        }
        let environment = vec![("PATH".into(), folder.path().into()), ("SKILLRUN_QWEN".into(), OsString::new())];
        Self { folder, environment }
    }

    fn list(&self, probing: Probing) -> EngineList {
        EngineList::of(&Engines::shipped(), self.around(), probing)
    }

    fn around(&self) -> EngineContext<'_> {
        let own = Path::new("/bin/sh");
        EngineContext {
            own,
            cwd: self.folder.path(),
            user_home: None,
            programs: None,
            environment: &self.environment,
            consents: &[],
            data: None,
        }
    }
}

/// An engine that has to be installed, and whose versions are known: its name, its program and its first version.
fn some_engine(engines: &Engines) -> (String, String, String) {
    let fits = |descriptor: &&Descriptor| descriptor.tested_versions().is_some() && descriptor.version.is_some();
    let found = engines.iter().filter(fits).find_map(|descriptor| match &descriptor.executable {
        Executable::Installed(installed) if installed.instead.is_empty() => {
            let after = descriptor.version.as_ref().and_then(|rule| rule.after.clone()).unwrap_or_default();
            let (EngineVersion(major, minor, patch), _) = descriptor.tested_versions()?;
            let version = format!("{after} {major}.{minor}.{patch}");
            Some((descriptor.name.as_str().to_owned(), installed.names.first()?.clone(), version))
        }
        Executable::Installed(_) | Executable::Own => None,
    });
    found.expect("one that is installed")
}

#[test]
fn what_is_installed_tells_its_version_and_the_others_why_not() {
    let (name, program, version) = some_engine(&Engines::shipped());
    let list = Machine::with(&[(&program, &format!("echo {version}"))]).list(Probing::On);
    assert_eq!(list.broken, Vec::<String>::new());
    for engine in &list.engines {
        if engine.name == name {
            assert!(version.ends_with(engine.version.as_deref().expect("a version")), "{engine:?}");
            assert_eq!((engine.tested, &engine.problem), (Tested::Yes, &None));
            assert!(engine.program.as_ref().is_some_and(|path| path.ends_with(&program)));
        } else {
            assert_eq!((&engine.version, engine.tested), (&None, Tested::Unknown), "{engine:?}");
            assert_eq!(engine.program.is_none(), engine.problem.is_some(), "{engine:?}");
        }
    }
}

#[test]
fn untested_versions_are_marked_and_missing_ones_explained() {
    let engines = Engines::shipped();
    let (name, program, version) = some_engine(&engines);
    let words = version.rsplit_once(' ').map_or("", |(words, _)| words).to_owned();
    let of = |script: &str| {
        let machine = Machine::with(&[(&program, script)]);
        State::of(engines.get(&name).expect("there"), machine.around(), Probing::On).engine()
    };
    assert_eq!(of(&format!("echo {words} 9999.0.0")).tested, Tested::No);
    let silent = of("echo nothing");
    assert_eq!((silent.version, silent.tested), (None, Tested::Unknown));
    assert!(silent.problem.is_some_and(|why| why.ends_with("reports no version")));
}

#[test]
fn nothing_is_started_without_a_probe() {
    let (name, program, _) = some_engine(&Engines::shipped());
    let machine = Machine::with(&[(&program, "echo started > \"$0.started\"")]);
    let list = machine.list(Probing::Off);
    let engine = list.engines.iter().find(|engine| engine.name == name).expect("listed");
    assert_eq!((&engine.version, &engine.problem), (&None, &None));
    assert!(!machine.folder.path().join(format!("{program}.started")).exists());
    machine.list(Probing::On);
    assert!(machine.folder.path().join(format!("{program}.started")).exists(), "the program never starts");
}

#[test]
fn details_have_everything_in_one_object() {
    let engines = Engines::shipped();
    let (name, ..) = some_engine(&engines);
    let machine = Machine::with(&[]);
    let state = State::of(engines.get(&name).expect("there"), machine.around(), Probing::On);
    let json = serde_json::to_value(state.details()).expect("JSON");
    assert_eq!(json["name"], name.as_str());
    assert_eq!(json["tested"], "unknown");
    assert!(json["tested_versions"].is_array() && json["environment"]["secret"].is_array());
    let order: Vec<_> = json["permissions"].as_object().expect("an object").keys().cloned().collect();
    let all: Vec<_> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
    assert_eq!(order, all);
}

#[test]
fn the_list_tells_which_versions_were_tested_and_how_to_get_one() {
    let engines = Engines::shipped();
    let (name, ..) = some_engine(&engines);
    let list = Machine::with(&[]).list(Probing::Off);
    let engine = list.engines.iter().find(|engine| engine.name == name).expect("listed");
    let install = engine.install.as_deref().expect("a command");
    let problem = engine.problem.as_deref().expect("it is not installed");
    assert!(problem.contains(&format!("`{install}`")), "{problem}");
    assert!(engine.tested_versions.is_some());
    for engine in &list.engines {
        let descriptor = engines.get(&engine.name).expect("there");
        if descriptor.executable == Executable::Own {
            assert_eq!((&engine.install, &engine.tested_versions), (&None, &None), "{engine:?}");
        }
    }
}

#[test]
fn a_login_is_told_as_far_as_it_can_be_seen_and_no_path_of_it() {
    let engines = Engines::shipped();
    let codex = engines.get("codex").expect("codex");
    let mut machine = Machine::with(&[]);
    let home = machine.folder.path().join("me");
    let of = |machine: &Machine| {
        let around = EngineContext { user_home: Some(&home), ..machine.around() };
        State::of(codex, around, Probing::Off).engine()
    };
    let command = Some("codex login".to_owned());
    let nothing = EngineLogin { found: LoginKind::Nothing, variable: None, command: command.clone() };
    assert_eq!(of(&machine).login, nothing);
    fs::create_dir_all(home.join(".codex")).expect("a folder");
    fs::write(home.join(".codex/auth.json"), "{}").expect("a login");
    let by_file = of(&machine);
    assert_eq!(by_file.login.found, LoginKind::File);
    assert!(!serde_json::to_string(&by_file).expect("JSON").contains("auth.json"));
    machine.environment.push(("CODEX_API_KEY".into(), "sesame".into()));
    let by_variable = of(&machine);
    assert_eq!(
        (by_variable.login.found, by_variable.login.variable.as_deref()),
        (LoginKind::Variable, Some("CODEX_API_KEY"))
    );
    assert!(!serde_json::to_string(&by_variable).expect("JSON").contains("sesame"));
    let scripted = engines.get("scripted").expect("scripted");
    assert_eq!(State::of(scripted, machine.around(), Probing::Off).login.found, LoginKind::NotNeeded);
}

#[test]
fn a_private_install_reports_its_version_without_a_start() {
    let machine = Machine::with(&[]);
    let folder = machine.folder.path().join("programs/opencode/1.18.33");
    let program = folder.join("node_modules/.bin/opencode");
    fs::create_dir_all(folder.join("node_modules/.bin")).expect("folders");
    fs::write(&program, "#!/bin/sh\necho started > \"$0.started\"; echo 9.9.9\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::write(folder.join("installed.json"), "{}").expect("a mark");
    let engines = Engines::shipped();
    let programs = machine.folder.path().join("programs");
    let around = EngineContext { programs: Some(&programs), ..machine.around() };
    let engine = State::of(engines.get("opencode").expect("opencode"), around, Probing::On).engine();
    assert_eq!((engine.version.as_deref(), engine.tested), (Some("1.18.33"), Tested::Yes));
    assert!(!program.with_extension("started").exists());
}
