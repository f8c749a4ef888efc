use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ignore::gitignore::GitignoreBuilder;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use skillrun_engine::{Descriptor, Engines, LoginFound};
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::ProcessLeft::{self, Gone, Living};
use skillrun_log::{EventLog, FileLog};
use skillrun_model::rasp::ControlData;
use skillrun_model::{Code, RunId};

use super::{found, give_back, give_back_left, give_up, is_left, rules, take, users};
use crate::data_folder::DataFolder;

const FIRST: &str = r#"{"token":"first"}"#;
const SECOND: &str = r#"{"token":"second"}"#;
const THIRD: &str = r#"{"token":"third"}"#;

/// A user who is logged in, and runs.
struct Lab {
    folder: tempfile::TempDir,
    engine: Descriptor,
}

impl Lab {
    fn with(engine: &str) -> Self {
        let lab = Self {
            folder: tempfile::tempdir().expect("a folder"),
            engine: Engines::shipped().get(engine).expect("an engine").clone(),
        };
        fs::create_dir_all(lab.users().parent().expect("a parent")).expect("folders");
        lab.write(&lab.users(), FIRST);
        lab
    }

    fn new() -> Self {
        Self::with("codex")
    }

    /// The first run has taken the login, and its engine has refreshed it.
    fn refreshed() -> Self {
        let lab = Self::new();
        lab.take(1).expect("taken");
        lab.write(&lab.ours(1), SECOND);
        lab
    }

    fn write(&self, path: &Path, text: &str) {
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    fn data(&self) -> DataFolder {
        DataFolder::new(self.folder.path().join("data"))
    }

    fn login(&self) -> &Path {
        &self.engine.login.files[0].path
    }

    fn users(&self) -> PathBuf {
        self.folder.path().join("me").join(self.login())
    }

    fn home(&self, run: u8) -> PathBuf {
        self.folder.path().join(format!("run{run}"))
    }

    fn ours(&self, run: u8) -> PathBuf {
        self.home(run).join(self.login())
    }

    fn take(&self, run: u8) -> std::io::Result<()> {
        fs::create_dir_all(self.home(run)).expect("a home");
        let user_home = self.folder.path().join("me");
        let found = LoginFound::File(String::new());
        take(&self.data(), id(run), &self.engine, &found, &self.home(run), &user_home, |_| false)
    }

    /// The codes and texts of everything that is reported.
    fn said(&self, run: u8, process: ProcessLeft) -> Vec<(Code, String)> {
        let words = |event: ControlEvent| {
            let ControlData::ParserWarning(warning) = event.data else { panic!("{:?}", event.data) };
            (warning.code, warning.message)
        };
        give_back(&self.data(), id(run), process).into_iter().map(words).collect()
    }

    /// What could not be kept, as messages.
    fn told(&self, run: u8, process: ProcessLeft) -> Vec<String> {
        let told = self.said(run, process).into_iter().filter(|(code, _)| *code != Code::LoginCopiedBack);
        told.inspect(|(code, _)| assert!(matches!(code, Code::LoginNotKept | Code::LoginOtherAccount), "{code}"))
            .map(|(_, words)| words)
            .collect()
    }

    /// The codes of what could not be kept.
    fn give_back(&self, run: u8) -> Vec<Code> {
        self.told(run, Gone).into_iter().map(|_| Code::LoginNotKept).collect()
    }

    /// The names in the folder of notes.
    fn notes(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data().logins()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The login that was kept beside the user's.
    fn kept(&self, run: u8) -> PathBuf {
        let name = self.login().display().to_string().replace('/', "_");
        self.data().logins().join(format!("{}.{name}.kept", id(run)))
    }

    /// Nothing can be created beside the user's file, as in a read-only folder.
    fn obstacle(&self) -> PathBuf {
        let name = format!("{}.skillrun.tmp", self.login().file_name().expect("a name").display());
        let folder = self.users().with_file_name(name);
        fs::create_dir_all(folder.join("full")).expect("a folder");
        folder
    }

    fn read(&self) -> String {
        fs::read_to_string(self.users()).expect("a login")
    }

    /// Names beside the user's login, which must not become more.
    fn beside(&self) -> Vec<String> {
        let folder = self.users().parent().expect("a parent").to_owned();
        let names = fs::read_dir(folder).expect("a folder").flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

fn id(number: u8) -> RunId {
    RunId::new(1_000, [number; 10])
}

#[test]
fn a_login_is_copied_for_its_owner_alone_and_removed_afterwards() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    assert_eq!(fs::read_to_string(lab.ours(1)).expect("a copy"), FIRST);
    assert_eq!(fs::metadata(lab.ours(1)).expect("a copy").permissions().mode() & 0o777, 0o600);
    assert_eq!(lab.give_back(1), []);
    assert!(!lab.ours(1).exists());
    assert_eq!((lab.read().as_str(), lab.beside().len()), (FIRST, 1));
    assert_eq!(fs::read_dir(lab.data().logins()).expect("notes").count(), 0);
}

#[test]
fn a_user_who_is_not_logged_in_has_nothing_taken() {
    let lab = Lab::new();
    fs::remove_file(lab.users()).expect("logged out");
    lab.take(1).expect("nothing to take");
    assert!(!lab.ours(1).exists());
    assert!(!lab.data().logins().exists());
}

#[test]
fn a_login_that_was_refreshed_goes_back_with_its_mode() {
    let lab = Lab::new();
    fs::set_permissions(lab.users(), fs::Permissions::from_mode(0o640)).expect("a mode");
    lab.take(1).expect("taken");
    // As an engine does it: beside, and moved.
    lab.write(&lab.home(1).join("new"), SECOND);
    fs::rename(lab.home(1).join("new"), lab.ours(1)).expect("moved");
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.read(), SECOND);
    assert_eq!(fs::metadata(lab.users()).expect("a login").permissions().mode() & 0o777, 0o640);
    assert_eq!(lab.beside().len(), 1, "nothing else was made there");
}

#[test]
fn of_two_refreshes_the_first_wins_and_the_second_warns() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.take(2).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    lab.write(&lab.ours(2), THIRD);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.give_back(2), [Code::LoginNotKept]);
    assert_eq!(lab.read(), SECOND);
    assert_eq!(lab.give_back(2), [], "it is reported once");
}

#[test]
fn a_login_that_the_user_changed_meanwhile_stays() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.write(&lab.users(), THIRD);
    assert_eq!(lab.give_back(1), [], "the engine changed nothing");
    lab.take(2).expect("taken");
    lab.write(&lab.ours(2), SECOND);
    fs::remove_file(lab.users()).expect("logged out");
    assert_eq!(lab.give_back(2), [Code::LoginNotKept]);
    assert!(!lab.users().exists(), "a user who has logged out stays logged out");
}

#[test]
fn what_is_cut_short_never_goes_back() {
    let lab = Lab::new();
    for broken in ["", "{\"token\":\"sec", "not JSON"] {
        lab.take(1).expect("taken");
        lab.write(&lab.ours(1), broken);
        assert_eq!(lab.give_back(1), [Code::LoginNotKept], "{broken:?}");
        assert_eq!(lab.read(), FIRST);
    }
}

#[test]
fn an_owner_that_died_leaves_it_to_the_next_attempt() {
    let lab = Lab::refreshed();
    // The login was not given back; the next attempt of the run begins.
    assert_eq!(lab.give_back(1), []);
    lab.take(1).expect("taken again");
    assert_eq!(lab.read(), SECOND);
    assert_eq!(fs::read_to_string(lab.ours(1)).expect("a copy"), SECOND);
    assert_eq!(lab.give_back(1), []);
}

#[test]
fn a_run_that_is_over_leaves_it_to_another() {
    let lab = Lab::refreshed();
    give_back_left(&lab.data(), id(2), |_| false);
    assert_eq!(lab.read(), FIRST, "its run continues");
    give_back_left(&lab.data(), id(2), |run| run == id(1));
    assert_eq!(lab.read(), SECOND);
    assert!(!lab.ours(1).exists());
}

#[test]
fn a_crash_between_the_users_file_and_the_note_is_no_conflict() {
    let lab = Lab::refreshed();
    // The state on disk when the file was moved and the note was not removed.
    lab.write(&lab.users(), SECOND);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.read(), SECOND);
}

#[test]
fn a_link_that_the_engine_left_in_the_way_is_not_followed() {
    let lab = Lab::new();
    let victim = lab.folder.path().join("victim");
    fs::create_dir(&victim).expect("a folder");
    // A folder of the login that leads elsewhere.
    fs::create_dir_all(lab.home(1)).expect("a home");
    symlink(&victim, lab.ours(1).parent().expect("a parent")).expect("a link");
    assert!(lab.take(1).is_err());
    assert_eq!(fs::read_dir(&victim).expect("a folder").count(), 0);
    // A login that leads elsewhere is replaced, and its target is not given back.
    lab.take(2).expect("taken");
    lab.write(&victim.join("secret"), THIRD);
    fs::remove_file(lab.ours(2)).expect("gone");
    symlink(victim.join("secret"), lab.ours(2)).expect("a link");
    assert_eq!(lab.give_back(2), []);
    assert_eq!(lab.read(), FIRST);
    assert!(victim.join("secret").exists());
}

#[test]
fn where_the_user_has_a_link_what_it_leads_to_is_replaced() {
    let lab = Lab::new();
    let real = lab.folder.path().join("dotfiles.json");
    fs::rename(lab.users(), &real).expect("moved");
    symlink(&real, lab.users()).expect("a link");
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    assert_eq!(lab.give_back(1), []);
    assert!(fs::symlink_metadata(lab.users()).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(real).expect("there"), SECOND);
}

#[test]
fn what_is_only_copied_is_never_given_back() {
    let lab = Lab::with("gemini");
    let account = "me/.gemini/google_accounts.json";
    lab.write(&lab.folder.path().join(account), FIRST);
    lab.take(1).expect("taken");
    let copy = lab.home(1).join(".gemini/google_accounts.json");
    assert_eq!(fs::read_to_string(&copy).expect("a copy"), FIRST);
    lab.write(&copy, SECOND);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(fs::read_to_string(lab.folder.path().join(account)).expect("there"), FIRST);
    assert!(!copy.exists());
}

#[test]
fn a_variable_comes_before_a_file() {
    let lab = Lab::new();
    let home = lab.folder.path().join("me");
    let of = |name: &'static str| found(&lab.engine, &home, move |known| known == name);
    assert_eq!(of("CODEX_API_KEY"), LoginFound::Variable("CODEX_API_KEY".to_owned()));
    assert_eq!(of("OTHER"), LoginFound::File(".codex/auth.json".to_owned()));
    fs::remove_file(lab.users()).expect("logged out");
    assert_eq!(of("OTHER"), LoginFound::Nothing);
}

fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || done.send(what()).ok());
    wait.recv_timeout(Duration::from_secs(60)).expect("in time")
}

/// Refresh tokens are used once: a copy that could not be given back is the only valid login.
#[test]
fn an_unwritable_login_stays_in_the_run_and_returns_later() {
    let lab = Lab::refreshed();
    let obstacle = lab.obstacle();
    let told = lab.told(1, Gone);
    assert!(told.len() == 1 && told[0].contains("could not be given back yet"), "{told:?}");
    assert_eq!(lab.read(), FIRST);
    assert_eq!(fs::read_to_string(lab.ours(1)).expect("a copy"), SECOND);
    // The next attempt continues with the login of the earlier one, and not with the invalid one.
    lab.take(1).expect("taken");
    assert_eq!(fs::read_to_string(lab.ours(1)).expect("a copy"), SECOND);
    assert_eq!(lab.give_back(1), [Code::LoginNotKept]);
    fs::remove_dir_all(obstacle).expect("out of the way");
    give_back_left(&lab.data(), id(2), |_| true);
    assert_eq!(lab.read(), SECOND);
    assert!(!lab.ours(1).exists() && lab.notes().is_empty());
}

#[test]
fn a_refreshed_login_that_is_not_returned_is_kept_privately() {
    let lab = Lab::refreshed();
    lab.write(&lab.users(), THIRD);
    let told = lab.told(1, Gone);
    let kept = lab.kept(1);
    assert!(told[0].contains(&kept.display().to_string()), "{told:?}");
    assert_eq!((lab.read().as_str(), fs::read_to_string(&kept).expect("kept").as_str()), (THIRD, SECOND));
    assert_eq!(fs::metadata(kept).expect("kept").permissions().mode() & 0o777, 0o600);
    assert_eq!((lab.ours(1).exists(), lab.notes().len()), (false, 1));
}

#[test]
fn a_login_that_was_taken_out_never_goes_back() {
    let lab = Lab::new();
    for emptied in ["{}", "null", "[]", "1", r#"{"token":""}"#, r#"{"token":null}"#, r#"{"other":"x"}"#] {
        lab.take(1).expect("taken");
        lab.write(&lab.ours(1), emptied);
        assert_eq!(lab.give_back(1), [Code::LoginNotKept], "{emptied}");
        assert_eq!(lab.read(), FIRST);
    }
    // Empty members may stay empty, and new ones may appear.
    lab.write(&lab.users(), r#"{"key":null,"list":[],"token":"first"}"#);
    lab.take(1).expect("taken");
    let refreshed = r#"{"key":null,"token":"second","more":1}"#;
    lab.write(&lab.ours(1), refreshed);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.read(), refreshed);
}

#[test]
fn a_draft_of_a_killed_process_is_removed_by_the_next() {
    let lab = Lab::new();
    lab.write(&lab.users().with_file_name("auth.json.skillrun.tmp"), THIRD);
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    assert_eq!(lab.give_back(1), []);
    assert_eq!((lab.read().as_str(), lab.beside()), (SECOND, vec!["auth.json".to_owned()]));
}

/// A file of root's in the home of a user: a user who is not root may not give it away, and then nothing is replaced.
#[test]
fn a_login_keeps_its_owner() {
    let lab = Lab::new();
    if chown(lab.users(), Some(1234), Some(4321)).is_ok() {
        lab.take(1).expect("taken");
        lab.write(&lab.ours(1), SECOND);
        assert_eq!(lab.give_back(1), []);
        let is = fs::metadata(lab.users()).expect("a login");
        assert_eq!((lab.read().as_str(), is.uid(), is.gid(), is.mode() & 0o777), (SECOND, 1234, 4321, 0o600));
    } else {
        let file = File::open(lab.users()).expect("a login");
        let roots = fs::metadata("/").expect("a folder of root's");
        let refused = users::keep_owner(&file, &roots).expect_err("not ours to give");
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
    }
}

#[test]
fn a_held_lock_is_waited_for_with_a_bound() {
    let lab = Lab::refreshed();
    let folder = File::open(lab.users().parent().expect("a parent")).expect("a folder");
    folder.lock().expect("locked");
    let data = lab.data();
    in_time(move || give_back_left(&data, id(2), |_| true));
    let users = lab.users();
    let refused = in_time(move || users::lock(&users, Duration::from_millis(100))).expect_err("locked");
    assert!(refused.to_string().contains("locked"), "{refused}");
    assert_eq!((lab.read().as_str(), lab.ours(1).exists()), (FIRST, true), "nothing was given up");
    drop(folder);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.read(), SECOND);
}

#[test]
fn a_running_process_keeps_its_copy_after_a_refresh() {
    let lab = Lab::refreshed();
    assert_eq!(lab.told(1, Living), Vec::<String>::new());
    assert_eq!((lab.read().as_str(), lab.ours(1).exists()), (SECOND, true));
    // The process may be writing at this moment.
    lab.write(&lab.ours(1), "{\"tok");
    assert_eq!(lab.told(1, Living), Vec::<String>::new());
    lab.write(&lab.ours(1), THIRD);
    assert_eq!(lab.give_back(1), []);
    assert_eq!((lab.read().as_str(), lab.ours(1).exists(), lab.notes().len()), (THIRD, false, 0));
}

#[test]
fn what_a_living_process_could_not_give_back_is_told_once() {
    let lab = Lab::refreshed();
    lab.write(&lab.users(), THIRD);
    assert_eq!(lab.told(1, Living).len(), 1);
    assert_eq!(lab.told(1, Living).len(), 0);
    assert_eq!(lab.told(1, Gone).len(), 0);
    assert_eq!((lab.read().as_str(), lab.ours(1).exists()), (THIRD, false));
    assert_eq!(fs::read_to_string(lab.kept(1)).expect("kept"), SECOND);
}

#[test]
fn a_users_file_that_cannot_be_reached_is_no_conflict() {
    let lab = Lab::refreshed();
    let real = lab.folder.path().join("aside");
    fs::rename(lab.users(), &real).expect("moved");
    symlink(lab.users(), lab.users()).expect("a link to itself");
    let told = lab.told(1, Gone);
    assert!(told.len() == 1 && told[0].contains("could not be given back yet"), "{told:?}");
    fs::remove_file(lab.users()).expect("gone");
    fs::rename(real, lab.users()).expect("back again");
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.read(), SECOND);
}

#[test]
fn a_pipe_in_the_place_of_a_login_does_not_hang() {
    let lab = Lab::new();
    fs::remove_file(lab.users()).expect("gone");
    mknodat(CWD, lab.users(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let refused = in_time(move || lab.take(1)).expect_err("no file");
    assert!(refused.to_string().contains("not an ordinary file"), "{refused}");
}

/// The agent moved the folder of its login and put a link there.
#[test]
fn a_copy_that_cannot_be_removed_is_not_forgotten() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    let folder = lab.home(1).join(".codex");
    fs::rename(&folder, lab.home(1).join("elsewhere")).expect("moved");
    symlink("elsewhere", &folder).expect("a link");
    lab.give_back(1);
    assert_eq!(lab.notes(), [format!("{}.json", id(1))]);
    fs::remove_file(&folder).expect("gone");
    fs::rename(lab.home(1).join("elsewhere"), &folder).expect("moved");
    lab.give_back(1);
    assert!(!lab.ours(1).exists() && lab.notes().is_empty());
}

#[test]
fn a_run_that_is_removed_takes_no_login_with_it() {
    let lab = Lab::refreshed();
    let obstacle = lab.obstacle();
    give_up(&lab.data(), id(1)).expect("kept");
    assert_eq!(fs::read_to_string(lab.kept(1)).expect("kept"), SECOND);
    assert_eq!(lab.notes().len(), 1, "and nothing else");
    fs::remove_dir_all(obstacle).expect("out of the way");
    lab.take(2).expect("taken");
    lab.write(&lab.ours(2), THIRD);
    give_up(&lab.data(), id(2)).expect("given back");
    assert_eq!((lab.read().as_str(), lab.kept(2).exists()), (THIRD, false));
}

#[test]
fn a_file_is_not_taken_along_where_a_variable_is_the_login() {
    for (engine, is_taken) in [("codex", false), ("opencode", true)] {
        let lab = Lab::with(engine);
        let (data, home, user_home) = (lab.data(), lab.home(1), lab.folder.path().join("me"));
        fs::create_dir_all(&home).expect("a home");
        let variable = LoginFound::Variable("OPENAI_API_KEY".to_owned());
        take(&data, id(1), &lab.engine, &variable, &home, &user_home, |_| false).expect("as it should be");
        assert_eq!(lab.ours(1).exists(), is_taken, "{engine}");
    }
    // Its key is valid only at another address.
    let lab = Lab::new();
    let home = lab.folder.path().join("me");
    let of = |names: &'static [&'static str]| found(&lab.engine, &home, move |known| names.contains(&known));
    let key = LoginFound::Variable("OPENAI_API_KEY".to_owned());
    assert_eq!(of(&["OPENAI_API_KEY", "OPENAI_BASE_URL"]), key);
    assert_eq!(of(&["OPENAI_API_KEY"]), LoginFound::File(".codex/auth.json".to_owned()));
}

/// Without free descriptors a server could not read the Log of an active run, and took its login away.
#[test]
fn a_run_whose_log_cannot_be_read_is_not_over() {
    let lab = Lab::new();
    let log = FileLog::new(lab.data().runs());
    assert!(is_left(&log, &lab.data(), id(1)), "there is no such run");
    log.create(id(1)).expect("a Log");
    assert!(!is_left(&log, &lab.data(), id(1)), "it has not begun");
    log.release(id(1));
    let events = lab.data().run(id(1)).events();
    fs::remove_file(&events).ok();
    fs::create_dir_all(&events).expect("in the way");
    assert!(!is_left(&log, &lab.data(), id(1)), "it cannot be read");
}

#[test]
fn logins_are_not_seen_in_a_workspace_at_whatever_depth() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = fs::canonicalize(folder.path()).expect("a path").join("a [b] {c} \u{e4} !#");
    let data = DataFolder::new(home.join("share/skill run*"));
    fs::create_dir_all(data.runs()).expect("folders");
    fs::create_dir_all(home.join(".codex")).expect("a folder");
    fs::create_dir_all(home.join("dot\u{e4}files")).expect("a folder");
    fs::write(home.join("dot\u{e4}files/c"), FIRST).expect("a login");
    symlink("../dot\u{e4}files/c", home.join(".codex/auth.json")).expect("a link");
    let rules = rules(&data, &Engines::shipped(), &home, &home);
    let mut matcher = GitignoreBuilder::new("");
    for rule in &rules {
        matcher.add_line(None, rule).expect(rule);
    }
    let matcher = matcher.build().expect("rules");
    let is_out = |path: &str| matcher.matched(path, false).is_ignore();
    for path in
        [".codex/auth.json", "x/y/.claude/.credentials.json", ".local/share/opencode/auth.json", "dot\u{e4}files/c"]
    {
        assert!(is_out(path), "{path}: {rules:?}");
    }
    assert!(matcher.matched("share/skill run*", true).is_ignore(), "{rules:?}");
    for path in ["auth.json", "src/auth.json", "share/other", "dot\u{e4}files/d", ".codex/config.toml"] {
        assert!(!is_out(path), "{path}: {rules:?}");
    }
}

/// Regression: an agent wrote the login of another account into its HOME, and that replaced the user's login, so that
/// all later requests of the user went to that account.
#[test]
fn a_login_of_another_account_never_goes_back() {
    let login = |account: &str, token: &str| {
        format!(r#"{{"tokens":{{"account_id":"{account}","access_token":"{token}"}},"last_refresh":"{token}"}}"#)
    };
    let lab = Lab::new();
    let mine = login("mine", "first");
    lab.write(&lab.users(), &mine);
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), &login("somebody", "second"));
    assert_eq!(lab.said(1, Living), [], "it may be writing at this moment");
    let told = lab.said(1, Gone);
    assert_eq!(told.iter().map(|(code, _)| *code).collect::<Vec<_>>(), [Code::LoginOtherAccount], "{told:?}");
    assert!(told[0].1.contains("tokens.account_id"), "{told:?}");
    assert_eq!(lab.read(), mine);
    assert_eq!(fs::read_to_string(lab.kept(1)).expect("kept"), login("somebody", "second"));
    assert!(!lab.ours(1).exists());
    // A login of the same account is copied back, and the run reports it.
    lab.take(2).expect("taken");
    lab.write(&lab.ours(2), &login("mine", "second"));
    let told = lab.said(2, Gone);
    assert!(
        matches!(&told[..], [(Code::LoginCopiedBack, words)] if words.contains("for the same account")),
        "{told:?}"
    );
    assert_eq!(lab.read(), login("mine", "second"));
}

/// Opaque tokens do not identify an account; that is reported too.
#[test]
fn a_login_without_an_account_is_returned_with_a_note() {
    let lab = Lab::refreshed();
    let told = lab.said(1, Gone);
    assert!(matches!(&told[..], [(Code::LoginCopiedBack, words)] if words.contains("names no account")), "{told:?}");
}
