use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use skillrun_engine::{Descriptor, Engines, LoginFound};
use skillrun_model::{Code, RunId};

use super::{found, give_back, give_back_left, take};
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
        take(&self.data(), id(run), &self.engine, &self.home(run), &user_home, |_| false)
    }

    /// The codes of what could not be kept.
    fn give_back(&self, run: u8) -> Vec<Code> {
        use skillrun_model::rasp::Data;
        let code = |event: skillrun_lifecycle::closing::ControlEvent| {
            let Data::ParserWarning(warning) = event.data else { panic!("{:?}", event.data) };
            warning.code
        };
        give_back(&self.data(), id(run)).into_iter().map(code).collect()
    }

    fn read(&self) -> String {
        fs::read_to_string(self.users()).expect("a login")
    }

    /// Names beside the user's login, which are to be no more than before.
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
fn of_two_runs_that_refresh_at_once_the_first_wins_and_the_second_says_so() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.take(2).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    lab.write(&lab.ours(2), THIRD);
    assert_eq!(lab.give_back(1), []);
    assert_eq!(lab.give_back(2), [Code::LoginNotKept]);
    assert_eq!(lab.read(), SECOND);
    assert_eq!(lab.give_back(2), [], "it is told once");
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
    assert!(!lab.users().exists(), "who has logged out stays logged out");
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
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    // Nobody gave it back; the next attempt of the run begins.
    lab.take(1).expect("taken again");
    assert_eq!(lab.read(), SECOND);
    assert_eq!(fs::read_to_string(lab.ours(1)).expect("a copy"), SECOND);
    assert_eq!(lab.give_back(1), []);
}

#[test]
fn a_run_that_is_over_leaves_it_to_another() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    give_back_left(&lab.data(), id(2), |_| false);
    assert_eq!(lab.read(), FIRST, "its run goes on");
    give_back_left(&lab.data(), id(2), |run| run == id(1));
    assert_eq!(lab.read(), SECOND);
    assert!(!lab.ours(1).exists());
}

#[test]
fn a_crash_between_the_users_file_and_the_note_is_no_conflict() {
    let lab = Lab::new();
    lab.take(1).expect("taken");
    lab.write(&lab.ours(1), SECOND);
    // As it is on disk when the file was moved and the note was not removed.
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
    // A login that leads elsewhere is replaced, and what it led to is not given back.
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
