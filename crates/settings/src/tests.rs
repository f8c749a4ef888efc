//! What is read, from where, and how it is written.

use std::fs;
use std::path::Path;

use serde_json::json;
use skillrun_engine::GetError;

use super::edit::{self, Edit};
use super::key::{Address, Key, Shape};
use super::testing::{global, settings, surroundings};
use super::{SettingOptions, SettingSource, Settings, SettingsError};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A file that sets every key to something other than its default.
const ALL: &str = r#"
data = "data"
engine = "codex"
skills = ["team", "~/mine", "/opt/skills"]
engines = "engines"
programs = 'programs'
layers = "~/layers"
permission = "read_only"
home = "user"
box = "required"
network = "model"
hard_timeout_sec = 60
stall_timeout_sec = 1.5
session_timeout_sec = 10
idle_sec = 20
interactive_require_user_reply = false
require_marker = true
auto_decision_limit = 0
redact = ["sk-[a-z]+"]
consent = ["gemini"]

[limits]
memory = "2G"
processes = 100
cpu_sec = 600
disk = 1000000

[slots]
total = 8
per_engine = 2
sticky = 1
queued = 0
engines = { codex = 3 }

[retention]
succeeded_days = 1
failed_days = "forever"
canceled_days = 0.5
succeeded_count = 10
failed_count = 20
canceled_count = 0
max_gb = 2.5
evidence_days = 7

[server]
listen = "[::1]:8000"
hosts = ["skillrun.example.org", "[::1]:8000"]
origins = ["https://example.org"]
body_mb = 16
connections = 10
webhooks = ["https://example.org/a?b=c"]
webhook_secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
webhook_private = true
"#;

#[test]
fn every_key_can_be_set_and_is_shown_as_it_was_set() {
    let folder = folder();
    let all = settings(folder.path(), ALL).unwrap();
    let defaults = settings(folder.path(), "").unwrap();
    for key in Key::ALL {
        assert_eq!(all.source(*key), SettingSource::File, "{}", key.as_str());
        assert_eq!(defaults.source(*key), SettingSource::Default, "{}", key.as_str());
        assert_ne!(all.get(*key), defaults.get(*key), "{}", key.as_str());
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (key, expected) in [
        (Key::Data, json!(path("data"))),
        (Key::Skills, json!([path("team"), path("home/mine"), "/opt/skills"])),
        (Key::Layers, json!(path("home/layers"))),
        (Key::StallTimeoutSec, json!(1.5)),
        (Key::SlotsEngines, json!({"codex": 3})),
        (Key::RetentionFailedDays, json!("forever")),
        (Key::RetentionCanceledDays, json!(0.5)),
        (Key::RetentionMaxGb, json!(2.5)),
        (Key::ServerListen, json!("[::1]:8000")),
        (Key::ServerOrigins, json!(["https://example.org"])),
        (Key::ServerBodyMb, json!(16)),
        (Key::ServerWebhookSecret, json!("(hidden)")),
    ] {
        assert_eq!(all.get(key), expected, "{}", key.as_str());
    }
}

#[test]
fn a_mistake_is_one_sentence_with_file_line_and_key() {
    let folder = folder();
    let file = folder.path().join("config.toml").display().to_string();
    for (text, expected) in [
        ("\negnine = 'x'", ", line 2: there is no setting \"egnine\"; did you mean \"engine\"?"),
        ("total = 3", ", line 1: there is no setting \"total\"; did you mean \"slots.total\"?"),
        ("[slots]\n\ntotl = 3", ", line 3: there is no setting \"slots.totl\"; did you mean \"slots.total\"?"),
        ("[slots.engines]\ncodex = 0", ", line 2: slots.engines.codex must be a whole number from 1, and is 0"),
        ("engine = 3", ", line 1: engine must be a single-line string that is not empty, and is 3"),
        ("engine = ''", ", line 1: engine must be a single-line string that is not empty, and is \"\""),
        ("slots = 3", ", line 1: slots must be a table, and is not one"),
        ("skills = 'x'", ", line 1: skills must be a list of paths, and is \"x\""),
        ("skills = [\n'x',\n3]", ", line 3: skills must be a list of paths, and is a list that contains 3"),
        ("home = 'mine'", ", line 1: home must be \"run\" or \"user\", and is \"mine\""),
        ("permission = true", ", line 1: permission must be \"workspace\" or \"read_only\" or \"full\", and is true"),
        ("hard_timeout_sec = 0", ", line 1: hard_timeout_sec must be a number of seconds above 0, and is 0"),
        ("hard_timeout_sec = nan", ", line 1: hard_timeout_sec must be a number of seconds above 0, and is nan"),
        (
            "[retention]\nfailed_days = -1",
            ", line 2: retention.failed_days must be a number of days from 0, or \"forever\", and is -1",
        ),
        ("engine = [", ", line 1: is not TOML: unclosed array"),
        ("engine = 'a'\nengine = 'b'", ", line 2: is not TOML: duplicate key"),
        ("a\u{7f} = 1", ", line 1: is not TOML: "),
    ] {
        let error = settings(folder.path(), text).unwrap_err().to_string();
        let rest = error.strip_prefix(&file).unwrap_or_else(|| panic!("{error}"));
        assert!(rest.starts_with(expected), "{error}\n{expected}");
        assert!(!rest.contains('\n'), "{error}");
    }
}

#[test]
fn the_last_that_says_something_wins() {
    let folder = folder();
    let base = |more: &[(&str, &str)], global: &SettingOptions| {
        let settings = Settings::load_in(global, surroundings(folder.path(), more)).unwrap();
        let data = settings.data.root().strip_prefix(folder.path()).unwrap().display().to_string();
        (data, settings.source(Key::Data))
    };
    let none = SettingOptions::default();
    let xdg = folder.path().join("xdg").display().to_string();
    assert_eq!(base(&[], &none), ("home/.local/share/skillrun".to_owned(), SettingSource::Default));
    assert_eq!(base(&[("XDG_DATA_HOME", &xdg)], &none), ("xdg/skillrun".to_owned(), SettingSource::Default));
    let relative = base(&[("XDG_DATA_HOME", "xdg")], &none);
    assert_eq!(relative.0, "home/.local/share/skillrun", "a relative one does not count");
    fs::create_dir_all(folder.path().join("xdg/skillrun")).unwrap();
    fs::write(folder.path().join("xdg/skillrun/config.toml"), "data = 'd'").unwrap();
    let file = ("XDG_CONFIG_HOME", xdg.as_str());
    assert_eq!(base(&[file], &none), ("xdg/skillrun/d".to_owned(), SettingSource::File));
    let variable = ("SKILLRUN_DATA", "v");
    assert_eq!(base(&[file, variable], &none), ("cwd/v".to_owned(), SettingSource::Environment("SKILLRUN_DATA")));
    let option = SettingOptions { data: Some("./o".into()), ..SettingOptions::default() };
    assert_eq!(base(&[file, variable], &option), ("cwd/o".to_owned(), SettingSource::Option("--data")));
}

#[test]
fn the_folder_of_private_installs() {
    let folder = folder();
    let of = |more: &[(&str, &str)]| {
        let settings = Settings::load_in(SettingOptions::default(), surroundings(folder.path(), more)).unwrap();
        let programs = settings.programs.clone().unwrap();
        let programs = programs.strip_prefix(folder.path()).unwrap().display().to_string();
        (programs, settings.source(Key::Programs))
    };
    let xdg = folder.path().join("xdg").display().to_string();
    assert_eq!(of(&[]), ("home/.local/share/skillrun/programs".to_owned(), SettingSource::Default));
    // Another data folder has the same programs.
    assert_eq!(of(&[("SKILLRUN_DATA", "d")]).0, "home/.local/share/skillrun/programs");
    assert_eq!(of(&[("XDG_DATA_HOME", &xdg)]).0, "xdg/skillrun/programs");
    fs::create_dir_all(folder.path().join("xdg/skillrun")).unwrap();
    fs::write(folder.path().join("xdg/skillrun/config.toml"), "programs = 'p'").unwrap();
    let file = ("XDG_CONFIG_HOME", xdg.as_str());
    assert_eq!(of(&[file]), ("xdg/skillrun/p".to_owned(), SettingSource::File));
    let variable = ("SKILLRUN_PROGRAMS", "v");
    assert_eq!(of(&[file, variable]), ("cwd/v".to_owned(), SettingSource::Environment("SKILLRUN_PROGRAMS")));
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let folder = folder();
    let load =
        |global: &SettingOptions, more: &[(&str, &str)]| Settings::load_in(global, surroundings(folder.path(), more));
    let told = |global: &SettingOptions, more: &[(&str, &str)]| load(global, more).unwrap_err().to_string();
    let named = SettingOptions { config: Some("none.toml".into()), ..SettingOptions::default() };
    assert!(told(&named, &[]).ends_with("/cwd/none.toml: there is no such file (given by --config)"));
    let told = told(&SettingOptions::default(), &[("SKILLRUN_CONFIG", "none.toml")]);
    assert!(told.ends_with("/cwd/none.toml: there is no such file (given by SKILLRUN_CONFIG)"), "{told}");
    assert!(load(&SettingOptions::default(), &[("SKILLRUN_CONFIG", "/dev/null")]).is_ok());
    assert!(
        load(&SettingOptions::default(), &[("SKILLRUN_CONFIG", "")]).is_ok(),
        "an empty variable is one that is not set"
    );
    let is_folder = SettingOptions { config: Some(folder.path().to_owned()), ..SettingOptions::default() };
    assert!(load(&is_folder, &[]).unwrap_err().to_string().ends_with("is not an ordinary file"));
}

#[test]
fn without_a_home_folder_the_error_names_the_option() {
    let folder = folder();
    let mut around = surroundings(folder.path(), &[]);
    around.environment.clear();
    let load = |global: &SettingOptions| Settings::load_in(global, around.clone());
    let told = |global: &SettingOptions| load(global).unwrap_err().to_string();
    let expected = "there is no home folder to keep settings in; set HOME, or give --config FILE";
    assert_eq!(told(&SettingOptions::default()), expected);
    let global = SettingOptions { config: Some("/dev/null".into()), ..SettingOptions::default() };
    assert_eq!(told(&global), "there is no home folder to keep runs in; set HOME, or give --data DIR");
    assert!(load(&SettingOptions { data: Some("d".into()), ..global }).is_ok());
}

fn edited(folder: &Path, before: &str, key: &str, words: &[&str]) -> Result<String, SettingsError> {
    edit(folder, before, key, words)?.write()?;
    Ok(fs::read_to_string(folder.join("config.toml")).unwrap())
}

/// No words: takes it out.
fn edit(folder: &Path, before: &str, key: &str, words: &[&str]) -> Result<Edit, SettingsError> {
    fs::write(folder.join("config.toml"), before).unwrap();
    let address: Address = key.parse().unwrap();
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let (global, around) = (global(folder), surroundings(folder, &[]));
    match words.is_empty() {
        true => edit::unset(&global, around, &address),
        false => edit::set(&global, around, &address, &words),
    }
}

const COMMENTED: &str = "\
# My settings

engine = \"codex\" # the best

# Not too many.
[slots] # at once
total   =   2   # two
";

#[test]
fn comments_and_spaces_stay_when_something_is_set() {
    let folder = folder();
    let set = |key: &str, words: &[&str]| edited(folder.path(), COMMENTED, key, words).unwrap();
    assert_eq!(set("engine", &["gemini"]), COMMENTED.replace("\"codex\"", "\"gemini\""));
    assert_eq!(set("slots.total", &["3"]), COMMENTED.replace("   2   ", "   3   "));
    assert_eq!(set("slots.sticky", &["1"]), format!("{COMMENTED}sticky = 1\n"));
    assert_eq!(set("slots.engines.codex", &["1"]), format!("{COMMENTED}\n[slots.engines]\ncodex = 1\n"));
    let expected = format!("{COMMENTED}\n[retention]\nfailed_days = \"forever\"\n");
    assert_eq!(set("retention.failed_days", &["forever"]), expected);
    let expected = COMMENTED.replace("# the best\n", "# the best\nconsent = [\"codex\", \"gemini\"]\n");
    assert_eq!(set("consent", &["codex", "gemini"]), expected);
}

#[test]
fn what_is_taken_out_takes_no_comment_with_it() {
    let folder = folder();
    let unset = |before: &str, key: &str| edited(folder.path(), before, key, &[]);
    assert_eq!(unset(COMMENTED, "engine").unwrap(), COMMENTED.replace("engine = \"codex\" # the best\n", ""));
    assert_eq!(unset(COMMENTED, "slots.total").unwrap(), COMMENTED.replace("total   =   2   # two\n", ""));
    assert_eq!(unset("slots = { total = 1, sticky = 2 }", "slots.total").unwrap().trim(), "slots = { sticky = 2 }");
    assert_eq!(unset("slots.total = 1\nslots.sticky = 2\n", "slots.total").unwrap(), "slots.sticky = 2\n");
    assert_eq!(unset("skills = [\n  'a', # one\n]\nengine = 'x'", "skills").unwrap(), "engine = 'x'");
    assert_eq!(unset("[slots.engines]\na = 1\nb = 2\n", "slots.engines.a").unwrap(), "[slots.engines]\nb = 2\n");
    let expected = "[retention]\nmax_gb = 1\n";
    assert_eq!(unset("[slots.engines]\na = 1\n[retention]\nmax_gb = 1\n", "slots.engines").unwrap(), expected);
    let error = unset(COMMENTED, "home").unwrap_err().to_string();
    assert!(error.starts_with("home is not set in /"), "{error}");
}

#[test]
fn paths_begin_where_the_user_stands() {
    let folder = folder();
    let text = edited(folder.path(), "", "skills", &["../team", "~/mine", "/opt"]).unwrap();
    assert_eq!(text, format!("skills = [\"{}/cwd/../team\", \"~/mine\", \"/opt\"]\n", folder.path().display()));
}

#[test]
fn a_bad_value_changes_nothing() {
    let folder = folder();
    for (key, words, expected) in [
        ("slots.total", &["0"][..], "slots.total must be a whole number from 1, and is 0"),
        ("slots.total", &["many"], "slots.total must be a whole number from 1, and is \"many\""),
        ("slots.total", &["1", "2"], "slots.total must be one value, and is 2"),
        ("home", &["mine"], "home must be \"run\" or \"user\", and is \"mine\""),
        (
            "interactive_require_user_reply",
            &["yes"],
            "interactive_require_user_reply must be true or false, and is \"yes\"",
        ),
        ("engine", &["a\nb"], "engine must be a single-line string that is not empty, and is \"a\\nb\""),
        (
            "slots.engines",
            &["3"],
            "slots.engines must be set for one engine at a time, such as slots.engines.codex, and is given for all",
        ),
        ("slots.engines.codex", &["0"], "slots.engines.codex must be a whole number from 1, and is 0"),
        ("redact", &["fine", "a(b"], "redact: the pattern \"a(b\" is not a regular expression (unclosed group)"),
    ] {
        assert_eq!(edit(folder.path(), COMMENTED, key, words).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_file_with_a_mistake_can_be_put_right_and_made_no_worse() {
    let folder = folder();
    assert!(edit(folder.path(), "home = 3\n", "home", &["run"]).is_ok());
    assert!(edit(folder.path(), "home = 3\n", "home", &[]).is_ok());
    let error = edit(folder.path(), "home = 3\n", "engine", &["codex"]).unwrap_err().to_string();
    assert!(error.ends_with("config.toml, line 1: home must be \"run\" or \"user\", and is 3"), "{error}");
}

#[test]
fn an_engine_that_does_not_exist_is_noticed() {
    let folder = folder();
    for (key, word) in [("engine", "codx"), ("consent", "codx"), ("slots.engines.codx", "1")] {
        let edit = edit(folder.path(), "", key, &[word]).unwrap();
        let error = edit.check_engines(&key.parse().unwrap()).unwrap_err();
        assert!(matches!(error, GetError::Unknown { .. }), "{error}");
    }
    let edit = edit(folder.path(), "consent = ['gone']", "engine", &["codex"]).unwrap();
    assert_eq!(edit.check_engines(&"engine".parse().unwrap()), Ok(()), "what was there before is not this one's fault");
}

/// A superuser would have put a file in the place of the device.
#[test]
fn nothing_is_written_over_dev_null() {
    let folder = folder();
    let global = SettingOptions { config: Some("/dev/null".into()), ..SettingOptions::default() };
    let (address, words) = ("engine".parse().unwrap(), ["codex".to_owned()]);
    let error = edit::set(&global, surroundings(folder.path(), &[]), &address, &words).unwrap_err().to_string();
    assert_eq!(error, "/dev/null: is not an ordinary file");
    assert!(edit::unset(&global, surroundings(folder.path(), &[]), &address).is_err());
}

#[test]
fn a_link_stays_a_link() {
    let folder = folder();
    fs::write(folder.path().join("real.toml"), "").unwrap();
    std::os::unix::fs::symlink("real.toml", folder.path().join("link.toml")).unwrap();
    let global = SettingOptions { config: Some(folder.path().join("link.toml")), ..SettingOptions::default() };
    let words = ["codex".to_owned()];
    let edit = edit::set(&global, surroundings(folder.path(), &[]), &"engine".parse().unwrap(), &words).unwrap();
    edit.write().unwrap();
    assert!(folder.path().join("link.toml").is_symlink());
    assert_eq!(fs::read_to_string(folder.path().join("real.toml")).unwrap(), "engine = \"codex\"\n");
}

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

#[test]
fn settings_of_the_service_are_checked() {
    let folder = folder();
    for (key, bad) in [
        ("server.listen", &["localhost", "7333", "::1:80", "example.org:80", "[::1]:70000"][..]),
        ("server.hosts", &["https://example.org", "a b", "a/b", "a@b", "ü.org"]),
        ("server.origins", &["*", "null", "example.org", "https://", "https://example.org/", "https://a@example.org"]),
        ("server.webhooks", &["example.org", "file:///x", "https://", "http:///path", "https://a b.org"]),
        ("server.body_mb", &["0", "-1", "1.5", "many"]),
        ("server.connections", &["0"]),
        ("server.webhook_private", &["yes"]),
    ] {
        for word in bad {
            let error = edit(folder.path(), "", key, &[word]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{key} must be ")), "{word}: {error}");
        }
    }
    for (key, word) in [("server.origins", "http://localhost:5173"), ("server.hosts", "localhost:8000")] {
        assert!(edit(folder.path(), "", key, &[word]).is_ok(), "{word}");
    }
}

/// Neither what is shown, nor what is complained about, nor what a panic would print.
#[test]
fn a_secret_is_never_shown() {
    let folder = folder();
    let good = settings(folder.path(), &format!("[server]\nwebhook_secret = '{SECRET}'")).unwrap();
    assert!(good.get(Key::ServerWebhookSecret) == json!("(hidden)"));
    assert!(!format!("{good:?}").contains(&SECRET[6..]));
    let no_prefix = &SECRET[6..];
    let (cut, long) = (&SECRET[..20], format!("{SECRET}{}", "A".repeat(100)));
    for bad in [no_prefix, cut, &long, "whsec_", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!", "hunter2"] {
        let by_words = edit(folder.path(), "", "server.webhook_secret", &[bad]).unwrap_err().to_string();
        let in_file = settings(folder.path(), &format!("[server]\nwebhook_secret = '{bad}'")).unwrap_err().to_string();
        for error in [by_words, in_file] {
            assert!(error.contains("server.webhook_secret must be whsec_ and "), "{error}");
            assert!(error.ends_with("and is something else, which is not shown"), "{error}");
        }
    }
}

/// Every key can be written by a command, too.
#[test]
fn every_key_can_be_set_by_words() {
    let folder = folder();
    for key in Key::ALL {
        let (name, word) = match key.shape() {
            Shape::Text if *key == Key::Permission => (key.as_str().to_owned(), "full"),
            Shape::Text if *key == Key::Home => (key.as_str().to_owned(), "user"),
            Shape::Text if *key == Key::Box => (key.as_str().to_owned(), "required"),
            Shape::Text if *key == Key::Network => (key.as_str().to_owned(), "model"),
            Shape::Text if matches!(key, Key::LimitsMemory | Key::LimitsDisk) => (key.as_str().to_owned(), "2G"),
            Shape::Text if *key == Key::ServerListen => (key.as_str().to_owned(), "[::1]:80"),
            Shape::Text if *key == Key::ServerWebhookSecret => (key.as_str().to_owned(), SECRET),
            Shape::Texts if matches!(key, Key::ServerOrigins | Key::ServerWebhooks) => {
                (key.as_str().to_owned(), "https://example.org")
            }
            Shape::Text | Shape::Texts => (key.as_str().to_owned(), "codex"),
            Shape::Path | Shape::Paths => (key.as_str().to_owned(), "folder"),
            Shape::Number => (key.as_str().to_owned(), "3"),
            Shape::Flag => (key.as_str().to_owned(), "false"),
            Shape::PerEngine => (format!("{}.codex", key.as_str()), "3"),
        };
        let edit = edit(folder.path(), "", &name, &[word]).unwrap();
        assert_eq!(edit.source(*key), SettingSource::File, "{name}");
    }
}
