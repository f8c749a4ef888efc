use skillrun_engine::Engines;

use super::*;

fn names(data: &DataFolder) -> Vec<String> {
    given(data).expect("read").into_keys().collect()
}

#[test]
fn consent_is_added_and_revoked_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = DataFolder::new(folder.path().join("data"));
    assert!(names(&data).is_empty());
    let now = Timestamp::EPOCH;
    assert!(give(&data, "claude", now).expect("given"));
    assert!(give(&data, "gemini", now).expect("given"));
    assert!(!give(&data, "claude", now.plus_nanos(1)).expect("given"), "it was given before");
    assert_eq!(names(&data), ["claude", "gemini"], "the second does not take the first back");
    assert_eq!(given(&data).expect("read")["claude"], now);
    assert!(revoke(&data, "claude").expect("revoked"));
    assert!(!revoke(&data, "claude").expect("revoked"));
    assert_eq!(names(&data), ["gemini"]);
    fs::write(data.consent(), "[]").expect("written");
    given(&data).expect_err("a file that cannot be read gives no consent");
}

#[test]
fn many_at_once_lose_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = DataFolder::new(folder.path());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let data = &data;
            scope.spawn(move || give(data, &format!("engine-{number}"), Timestamp::EPOCH).expect("given"));
        }
    });
    assert_eq!(names(&data).len(), 8);
}

#[test]
fn only_engines_that_nothing_holds_back_need_it() {
    let engines = Engines::shipped();
    let consent = |name: &str, given| EngineConsent::of(engines.get(name).expect("an engine"), given);
    assert_eq!(consent("scripted", false).needed_for, []);
    let missing = consent("claude", false);
    assert!(missing.needed_for.contains(&Permission::Workspace));
    assert!(missing.advice.is_some_and(|advice| advice.ends_with("`skillrun consent claude`")));
    assert_eq!(consent("claude", true).advice, None);
    assert_eq!(consent("codex", false).needed_for, [Permission::Full]);
}
