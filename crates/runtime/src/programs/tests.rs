use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_engine::descriptor::{self, Executable, InstalledProgram, VersionRule};
use skillrun_engine::{Descriptor, Engines};
use skillrun_model::EngineName;

use super::{Install, InstallError, InstallOutcome, InstallProgress, Uninstall, Uninstalled};
use crate::clock::SystemClock;

/// Does what npm does for `install --prefix P -- NAME@VERSION`, and for `ci --prefix P` with a lock of Node, and
/// records its arguments and the Node it would have run with.
const NPM: &str = r#"
did=$1; told=$*
while [ "$1" != --prefix ]; do [ "$1" = --cache ] && cache=$2; shift; done
prefix=$2; wanted=$4; name=${wanted%@*}; version=${wanted##*@}
if [ "$did" = ci ]; then
    grep -q '"integrity": "sha512-' "$prefix/package-lock.json" || exit 9
    grep -q '"node":"npm:node-linux-' "$prefix/package.json" || exit 9
    name=node; version=22.23.3; wanted=node@22
fi
echo "$told" > "$prefix/told"
[ "$version" = 22 ] && version=22.23.3
version=${NPM_PICKS:-$version}
echo "$PATH" > "$prefix/path"
echo "$A_KEY $A_WORD" > "$prefix/seen"
echo "$npm_config_userconfig" > "$prefix/settings"
mkdir -p "$HOME/.npm/_logs" "$cache/_cacache"
echo "asked for $wanted"
case "$NPM_DOES" in
    fail) echo "npm ERR! no" >&2; exit 7;;
    hang) sleep 60; exit 1;;
    nothing) exit 0;;
esac
mkdir -p "$prefix/node_modules/$name/bin" "$prefix/node_modules/.bin"
echo "{\"version\":\"$version\"}" > "$prefix/node_modules/$name/package.json"
for program in "$prefix/node_modules/.bin/x" "$prefix/node_modules/$name/bin/node"; do
    [ "$NPM_DOES" = no_program ] || { echo "$SAYS" > "$program"; chmod +x "$program"; }
done
"#;

/// What npm installs: a program that reports its version and whether it was given a key, and a Node that starts
/// scripts.
const SAYS: &str = r#"#!/bin/sh
case "$1" in
    --version) echo "${X_SAYS-x 1.2.3}${A_KEY}";;
    *) script=$1; shift; exec /bin/sh "$script" "$@";;
esac"#;

/// A machine with a scripted npm.
struct Lab {
    folder: tempfile::TempDir,
    engine: Descriptor,
    rule: descriptor::Install,
    environment: Vec<(OsString, OsString)>,
}

impl Lab {
    fn new(node: Option<u32>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let npm = folder.path().join("bin/npm");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        fs::write(&npm, format!("#!/bin/sh\n{NPM}")).expect("written");
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).expect("a mode");
        let mut path = OsString::from(folder.path().join("bin"));
        path.push(":/usr/bin:/bin");
        let program = PathBuf::from("node_modules/.bin/x");
        let rule = descriptor::Install { package: "@a/x".into(), version: "1.2.3".into(), node, program, shares: None };
        let mut engine = Engines::shipped().get("scripted").expect("an engine").clone();
        engine.name = EngineName::new("x");
        engine.executable = Executable::Installed(InstalledProgram::default());
        engine.version = Some(VersionRule { argv: vec!["--version".into()], after: Some("x".into()), tested: None });
        let environment = vec![("PATH".into(), path), ("SAYS".into(), SAYS.into())];
        Self { folder, engine, rule, environment }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn programs(&self) -> PathBuf {
        self.folder.path().join("programs")
    }

    fn install_until(
        &self,
        timeout: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> (Result<InstallOutcome, InstallError>, Vec<String>) {
        let programs = self.programs();
        let install = Install {
            engine: &self.engine,
            rule: &self.rule,
            version: None,
            programs: &programs,
            environment: &self.environment,
            secrets: &["A_KEY".to_owned()],
            timeout,
            clock: &SystemClock,
            is_stopped,
        };
        let mut told = Vec::new();
        let outcome = install.run(&mut |progress| match progress {
            InstallProgress::Waits => told.push("waits".to_owned()),
            InstallProgress::Begins { what } => told.push(format!("begins {what}")),
            InstallProgress::GoesOn { .. } => {}
            InstallProgress::Done { what, .. } => told.push(format!("done {what}")),
        });
        (outcome, told)
    }

    fn install(&self) -> (Result<InstallOutcome, InstallError>, Vec<String>) {
        self.install_until(Duration::from_secs(60), &|| false)
    }

    /// Everything below the folder of an engine.
    fn left(&self, name: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.programs().join(name)) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn an_engine_is_installed_with_its_node_and_then_it_is_there() {
    let lab = Lab::new(Some(22));
    let (outcome, told) = lab.install();
    assert_eq!(outcome.expect("installed"), InstallOutcome::Installed);
    assert_eq!(told, ["begins node@22", "done node@22", "begins @a/x@1.2.3", "done @a/x@1.2.3"]);
    assert_eq!((lab.left("x"), lab.left("node")), (vec!["1.2.3".to_owned()], vec!["22".to_owned()]));
    let path = fs::read_to_string(lab.programs().join("x/1.2.3/path")).expect("noted");
    let node = lab.programs().join("node/22/node_modules/node/bin");
    assert!(Path::new(path.split(':').next().expect("a folder")) == node, "{path}");
    let mark = fs::read(lab.programs().join("x/1.2.3/installed.json")).expect("a mark");
    let mark: skillrun_engine::install::Mark = serde_json::from_slice(&mark).expect("JSON");
    assert_eq!((mark.package.as_str(), mark.version.as_str(), mark.node), ("@a/x", "1.2.3", Some(22)));
    assert!(!mark.pinned, "a package that was not tested");
    for step in ["x/1.2.3", "node/22"] {
        let told = fs::read_to_string(lab.programs().join(step).join("told")).expect("noted");
        let is_other_machine = !cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        let may_run = step == "node/22" && is_other_machine;
        assert!(may_run || told.contains(" --ignore-scripts "), "scripts of packages: {told}");
    }
    let (outcome, told) = lab.install();
    assert_eq!((outcome.expect("there"), told), (InstallOutcome::WasThere, Vec::new()));
}

#[test]
fn another_version_than_the_one_asked_for_is_an_error() {
    let lab = Lab::new(None).with("NPM_PICKS", "1.0.9");
    let error = lab.install().0.expect_err("refused").to_string();
    assert!(error.starts_with("npm was asked for @a/x@1.2.3 and silently installed 1.0.9"), "{error}");
    assert_eq!(lab.left("x").iter().filter(|name| !name.ends_with(".log")).count(), 0);
}

#[test]
fn an_npm_that_fails_leaves_its_words_and_nothing_else() {
    let lab = Lab::new(None).with("NPM_DOES", "fail");
    let error = lab.install().0.expect_err("failed").to_string();
    let log = lab.programs().join("x/1.2.3.log");
    assert!(error.contains("exit status: 7") && error.ends_with(&log.display().to_string()), "{error}");
    assert_eq!(fs::read_to_string(&log).expect("a log"), "asked for @a/x@1.2.3\nnpm ERR! no\n");
    assert_eq!(lab.left("x"), ["1.2.3.log"]);
    for does in ["nothing", "no_program"] {
        let lab = Lab::new(None).with("NPM_DOES", does);
        assert!(lab.install().0.is_err(), "{does}");
        assert!(!lab.programs().join("x/1.2.3").exists());
    }
}

/// Regression: an install was complete when there was a file, even where that only starts another one that is missing.
#[test]
fn an_install_that_reports_no_version_is_incomplete() {
    for (says, why) in
        [("", "it prints nothing"), ("Error: the native program is missing", "it prints: Error: the native")]
    {
        let lab = Lab::new(None).with("X_SAYS", says);
        let error = lab.install().0.expect_err("refused").to_string();
        assert!(error.contains("does not report its version") && error.contains(why), "{error}");
        assert!(!lab.programs().join("x/1.2.3").exists());
    }
    // No program at all for this machine.
    let lab = Lab::new(None).with("SAYS", "#!/nowhere/sh");
    let error = lab.install().0.expect_err("refused").to_string();
    assert!(error.contains("cannot be started"), "{error}");
}

/// The program that a run would start is asked: the native program, where there is one.
#[test]
fn the_program_behind_a_wrapper_is_asked() {
    let mut lab = Lab::new(None).with("X_SAYS", "nothing");
    let native = lab.folder.path().join("native");
    fs::write(&native, "#!/bin/sh\necho x 1.2.3\n").expect("written");
    fs::set_permissions(&native, fs::Permissions::from_mode(0o755)).expect("a mode");
    lab.engine.executable =
        Executable::Installed(InstalledProgram { instead: vec![native], ..InstalledProgram::default() });
    assert_eq!(lab.install().0.expect("installed"), InstallOutcome::Installed);
}

/// Regression: scripts of packages saw every key of the user.
#[test]
fn neither_npm_nor_what_it_brings_sees_a_key() {
    let lab = Lab::new(Some(22)).with("A_KEY", " and a key").with("A_WORD", "word");
    assert_eq!(lab.install().0.expect("installed"), InstallOutcome::Installed);
    assert_eq!(fs::read_to_string(lab.programs().join("x/1.2.3/seen")).expect("noted"), " word\n");
    let lab = Lab::new(None).with("A_KEY", "sesame").with("X_SAYS", "no ");
    let error = lab.install().0.expect_err("refused").to_string();
    assert!(error.contains("it prints: no)"), "{error}");
}

#[test]
fn npm_is_ended_at_its_timeout_and_when_stopped() {
    let lab = Lab::new(None).with("NPM_DOES", "hang");
    let error = lab.install_until(Duration::from_millis(300), &|| false).0.expect_err("too slow");
    assert!(matches!(error, InstallError::TooSlow { .. }), "{error}");
    assert_eq!(lab.left("x"), ["1.2.3.log"]);
    let log = lab.programs().join("x/1.2.3.log");
    fs::remove_file(&log).expect("gone");
    // Stopped as soon as it has written something, which is when it runs.
    let is_stopped = || fs::read(&log).is_ok_and(|said| !said.is_empty());
    let error = lab.install_until(Duration::from_secs(60), &is_stopped).0.expect_err("stopped");
    assert!(matches!(error, InstallError::Stopped), "{error}");
    assert_eq!(lab.left("x"), ["1.2.3.log"]);
}

#[test]
fn an_interrupted_install_is_repeated() {
    let lab = Lab::new(None);
    for half in ["x/1.2.3/node_modules", "x/.1.2.3.77.new"] {
        fs::create_dir_all(lab.programs().join(half)).expect("a folder");
    }
    assert_eq!(lab.install().0.expect("installed"), InstallOutcome::Installed);
    assert_eq!(lab.left("x"), ["1.2.3"]);
}

#[test]
fn a_second_one_waits_for_the_first_and_not_for_ever() {
    let lab = Lab::new(None);
    fs::create_dir_all(lab.programs()).expect("a folder");
    let lock = fs::File::create(lab.programs().join("lock")).expect("a lock");
    lock.lock().expect("locked");
    let (outcome, told) = lab.install_until(Duration::from_millis(300), &|| false);
    assert!(matches!(outcome, Err(InstallError::Busy(_))), "{outcome:?}");
    assert_eq!(told, ["waits"]);
    drop(lock);
    assert_eq!(lab.install().0.expect("installed"), InstallOutcome::Installed);
}

#[test]
fn without_npm_it_is_said_what_to_do() {
    let mut lab = Lab::new(None);
    lab.environment = vec![("PATH".into(), "/nowhere".into())];
    let error = lab.install().0.expect_err("no npm").to_string();
    assert_eq!(error, "there is no npm in PATH; install Node, which includes it, and try again");
    assert!(!lab.programs().exists());
}

/// Everything below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], below(&path)].concat() } else { vec![path] })
        .collect()
}

/// Regression: npm left its cache and its logs in the HOME of the user, and engines that were asked for their version
/// left their state there.
#[test]
fn an_install_leaves_nothing_in_the_home_of_the_user() {
    let says = r#"#!/bin/sh
mkdir -p "$HOME/.x" "${XDG_CACHE_HOME:-$HOME/.cache}/x"
case "$1" in
    --version) echo "x 1.2.3";;
    *) script=$1; shift; exec /bin/sh "$script" "$@";;
esac"#;
    let mut lab = Lab::new(Some(22));
    lab.environment.retain(|(name, _)| name != "SAYS");
    let home = lab.folder.path().join("home");
    fs::create_dir(&home).expect("a folder");
    let lab = lab.with("SAYS", says).with("HOME", &home.to_string_lossy());
    let lab = lab.with("XDG_CACHE_HOME", &home.join("cache").to_string_lossy());
    assert_eq!(lab.install().0.expect("installed"), InstallOutcome::Installed);
    assert_eq!(below(&home), Vec::<PathBuf>::new());
    assert_eq!((lab.left("x"), lab.left("node")), (vec!["1.2.3".to_owned()], vec!["22".to_owned()]));
    // The registry is still the one that the user has configured.
    let settings = fs::read_to_string(lab.programs().join("x/1.2.3/settings")).expect("noted");
    assert_eq!(settings.trim(), home.join(".npmrc").to_string_lossy());
    let lab = lab.with("NPM_CONFIG_USERCONFIG", "/mine").with("NPM_DOES", "fail");
    fs::remove_dir_all(lab.programs().join("x")).expect("removed");
    lab.install().0.expect_err("failed");
    assert_eq!((below(&home), lab.left("x")), (Vec::new(), vec!["1.2.3.log".to_owned()]));
}

fn uninstall(
    lab: &Lab,
    act: impl FnOnce(&Uninstall<'_>) -> Result<Uninstalled, InstallError>,
) -> Result<Uninstalled, InstallError> {
    let programs = lab.programs();
    act(&Uninstall { programs: &programs, timeout: Duration::from_secs(60), is_stopped: &|| false })
}

#[test]
fn an_uninstall_removes_the_engine_and_its_node() {
    let mut lab = Lab::new(Some(22));
    lab.install().0.expect("installed");
    // Another engine with the same Node.
    lab.engine.name = EngineName::new("y");
    lab.install().0.expect("installed");
    let removed = uninstall(&lab, |uninstall| uninstall.all("x")).expect("removed");
    let expected = Uninstalled { versions: vec!["1.2.3".to_owned()], ..Uninstalled::default() };
    assert_eq!(removed, expected, "the other engine needs Node");
    assert!(!lab.programs().join("x").exists() && lab.programs().join("node/22").exists());
    // An install that does not say which Node it needs may need any.
    let mark = lab.programs().join("y/1.2.3/installed.json");
    let (known, other) = (fs::read(&mark).expect("a mark"), lab.programs().join("z/1.0.0"));
    fs::create_dir_all(&other).expect("a folder");
    fs::write(other.join("installed.json"), "{").expect("written");
    assert_eq!(uninstall(&lab, |uninstall| uninstall.all("y")).expect("removed").node, Vec::<String>::new());
    fs::write(other.join("installed.json"), known).expect("written");
    let removed = uninstall(&lab, |uninstall| uninstall.all("z")).expect("removed");
    assert_eq!(removed.node, ["22"]);
    assert!(!lab.programs().join("node").exists());
}

/// A process that runs the installed script with the private Node, as a run does.
fn start(lab: &Lab, version: &str) -> std::process::Child {
    let folder = lab.programs().join("x").join(version);
    fs::create_dir_all(folder.join("node_modules/.bin")).expect("a folder");
    fs::write(folder.join("node_modules/.bin/long"), "echo begun\nread line\n").expect("written");
    let mut child = std::process::Command::new("/bin/sh")
        .arg(folder.join("node_modules/.bin/long"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut output, &mut line).expect("a line");
    assert_eq!(line, "begun\n");
    child
}

#[test]
fn an_engine_in_use_is_not_uninstalled() {
    let lab = Lab::new(None);
    lab.install().0.expect("installed");
    let other = lab.programs().join("x/1.0.0");
    fs::create_dir_all(&other).expect("a folder");
    fs::copy(lab.programs().join("x/1.2.3/installed.json"), other.join("installed.json")).expect("a mark");
    let mut child = start(&lab, "1.2.3");
    let error = uninstall(&lab, |uninstall| uninstall.all("x")).expect_err("refused");
    let expected =
        format!("x 1.2.3 is in use by process {}; wait until its run is over, or cancel the run", child.id());
    assert_eq!(error.to_string(), expected);
    assert_eq!(lab.left("x"), ["1.0.0", "1.2.3"], "all or nothing");
    let removed = uninstall(&lab, |uninstall| uninstall.some("x", |_| true)).expect("removed");
    assert_eq!((removed.versions, removed.used.len()), (vec!["1.0.0".to_owned()], 1));
    assert_eq!(lab.left("x"), ["1.2.3"]);
    drop(child.stdin.take());
    child.wait().expect("an end");
    assert_eq!(uninstall(&lab, |uninstall| uninstall.all("x")).expect("removed").versions, ["1.2.3"]);
    assert!(!lab.programs().join("x").exists());
}

/// The program file itself, under its new name, and through a link.
#[test]
fn a_native_program_in_use_is_found_through_links() {
    let lab = Lab::new(None);
    let real = lab.folder.path().join("real");
    fs::create_dir(&real).expect("a folder");
    std::os::unix::fs::symlink(&real, lab.programs()).expect("a link");
    lab.install().0.expect("installed");
    let program = real.join("x/1.2.3/cat");
    fs::copy("/bin/cat", &program).expect("a program");
    let mut child = std::process::Command::new(&program);
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().expect("started");
    let refused = uninstall(&lab, |uninstall| uninstall.all("x"));
    drop(child.stdin.take());
    child.wait().expect("an end");
    assert!(matches!(refused, Err(InstallError::InUse { .. })), "{refused:?}");
    assert_eq!(lab.left("x"), ["1.2.3"]);
}
