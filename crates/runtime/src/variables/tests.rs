use super::*;

fn process(role: OwnerRole, variables: &[(&str, &str)]) -> ProcessVariables {
    let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    ProcessVariables { role, environment, user_home: "/users/me".into() }
}

fn sealed(role: OwnerRole, variables: &[(&str, &str)]) -> SealedVariables {
    let names = ["ADDRESS", "KEY", "TOKEN", HOME].into_iter().map(str::to_owned).collect();
    SealedVariables::of(names, &process(role, variables), [7; 32])
}

fn changed(sealed: &SealedVariables, now: &ProcessVariables) -> Vec<String> {
    sealed.changed(now).iter().map(ToString::to_string).collect()
}

#[test]
fn the_same_variables_are_the_same_and_others_are_named() {
    use OwnerRole::{Caller, Server};
    let was = sealed(Caller, &[("KEY", "first"), ("ADDRESS", "http://one"), ("OTHER", "x")]);
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: [Case; 5] = [
        (&[("KEY", "first"), ("ADDRESS", "http://one")], &[]),
        (&[("KEY", "first"), ("ADDRESS", "http://one"), ("TOKEN", "")], &[]),
        (&[("KEY", "first")], &["ADDRESS is not set here"]),
        (&[("KEY", ""), ("ADDRESS", "http://two")], &["ADDRESS has another value here", "KEY is not set here"]),
        (&[("KEY", "first"), ("ADDRESS", "http://one"), ("TOKEN", "mine")], &["TOKEN was not set and is set here"]),
    ];
    for (now, expected) in cases {
        for role in [Caller, Server] {
            assert_eq!(changed(&was, &process(role, now)), expected, "{now:?}");
        }
    }
}

#[test]
fn another_home_is_another_login() {
    let was = sealed(OwnerRole::Caller, &[]);
    let now = ProcessVariables { user_home: "/users/you".into(), ..process(OwnerRole::Caller, &[]) };
    assert_eq!(changed(&was, &now), ["HOME has another value here"]);
}

/// A key that the operator replaced must not stop runs that the server accepted before; a missing key would end them.
#[test]
fn a_server_may_change_its_key_but_must_have_one() {
    let was = sealed(OwnerRole::Server, &[("KEY", "first")]);
    let now = |role, variables: &[(&str, &str)]| changed(&was, &process(role, variables));
    assert!(now(OwnerRole::Server, &[("KEY", "second"), ("TOKEN", "new")]).is_empty());
    assert_eq!(now(OwnerRole::Server, &[]), ["KEY is not set here"]);
    assert_eq!(now(OwnerRole::Caller, &[("KEY", "second")]), ["KEY has another value here"]);
}

#[test]
fn the_file_has_no_values_and_comes_back_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("variables.json");
    assert_eq!(SealedVariables::read(&path).expect("read"), None, "runs of older versions have none");
    let was = sealed(OwnerRole::Caller, &[("KEY", "a-secret-value"), ("ADDRESS", "http://one")]);
    was.write(&path).expect("written");
    let text = fs::read_to_string(&path).expect("text");
    assert!(!text.contains("a-secret-value") && !text.contains("http://one") && !text.contains("/users/me"), "{text}");
    assert_eq!(SealedVariables::read(&path).expect("read"), Some(was));
    fs::write(&path, "{").expect("written");
    SealedVariables::read(&path).expect_err("half a file is not accepted");
}

#[test]
fn equal_values_of_two_names_and_two_runs_have_different_hashes() {
    let one = sealed(OwnerRole::Caller, &[("KEY", "same"), ("TOKEN", "same")]);
    assert_ne!(one.variables["KEY"], one.variables["TOKEN"]);
    let other = one.again(&process(OwnerRole::Caller, &[("KEY", "same")]), [8; 32]);
    assert_ne!(one.variables["KEY"], other.variables["KEY"]);
    assert_eq!(other.variables["TOKEN"], None);
}
