//! What the README and the files beside it say works as it is written.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use lab::Lab;
use testkit::paths;

/// The address in the README.
const ADDRESS: &str = "127.0.0.1:7333";

/// The lines of the README under "Serve runs" that are for a shell.
fn lines() -> String {
    let readme = fs::read_to_string(paths::workspace().join("README.md")).expect("the README");
    let (_, section) = readme.split_once("\n## Serve runs\n").expect("a section about the service");
    let (_, block) = section.split_once("```sh\n").expect("lines for a shell");
    block.split_once("```").expect("their end").0.to_owned()
}

fn script(path: &std::path::Path, text: &str) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn the_lines_of_the_readme_work_as_written() {
    let lab = Lab::new();
    let bin = lab.path("bin");
    fs::create_dir(&bin).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_skillrun"), bin.join("skillrun")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    let curl = path.split(':').map(|folder| format!("{folder}/curl")).find(|curl| fs::exists(curl).unwrap_or(false));
    let curl = curl.expect("curl is installed");
    // The same curl, which also reports an answer that is not a success.
    script(&bin.join("curl"), &format!("#!/bin/sh\nexec {curl} --fail-with-body --max-time 60 \"$@\"\n"));
    // As written, unless another process has the port.
    let is_free = TcpListener::bind(ADDRESS).is_ok();
    let server = lab.serve_at(if is_free { ADDRESS } else { "127.0.0.1:0" }, &["--demo"]);
    let mut text = lines();
    if !is_free {
        eprintln!("{ADDRESS} is taken here, so the lines are tried with another port");
        text = text.replace(ADDRESS, &server.client.address.to_string());
    }
    let count = text.lines().filter(|line| line.starts_with("curl ")).count();
    assert!(count > 6, "only {count} lines with curl");
    let output = lab
        .command(&[])
        .get_envs()
        .fold(&mut Command::new("bash"), |command, (name, value)| match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        })
        .env("PATH", format!("{}:{path}", bin.display()))
        .current_dir(lab.path("tmp"))
        .args(["-euo", "pipefail", "-c", &text])
        .output()
        .expect("bash");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    for expected in
        ["\"words\":3", "\"interactions\":[{", "name-a-release", "event: chat_event", "conversation.completed"]
    {
        assert!(stdout.contains(expected), "{expected} is not in:\n{stdout}");
    }
    assert!(stdout.contains("id: 6\n") && !stdout.contains("id: 5\nevent: run_event"), "the stream continues after 5");
    let zip = fs::read(lab.path("tmp/run.zip")).expect("the bundle");
    assert!(zip.starts_with(b"PK"));
    server.stop();
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    let unit = fs::read_to_string(paths::workspace().join("deploy/skillrun.service")).expect("the unit");
    let lab = Lab::new();
    // Verified with programs and users that are here.
    let there =
        unit.replace("/usr/local/bin/skillrun", env!("CARGO_BIN_EXE_skillrun")).replace("User=skillrun", "User=root");
    assert_ne!(there, unit);
    fs::write(lab.path("skillrun.service"), there).expect("written");
    let verify = Command::new("systemd-analyze").arg("verify").arg(lab.path("skillrun.service")).output();
    match verify {
        Err(error) => eprintln!("skipped: systemd-analyze is not here ({error})"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let about_ours: Vec<&str> = said.lines().filter(|line| line.contains("skillrun.service")).collect();
            assert!(output.status.success() && about_ours.is_empty(), "{said}");
        }
    }
}

/// Exposure as `systemd-analyze security` counts it, in tenths. 8.0 is a unit with little more than a user of its own.
const EXPOSURE_MAX: &str = "30";

#[test]
fn the_unit_leaves_little_open() {
    let unit = paths::workspace().join("deploy/skillrun.service");
    let asked = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager", "--threshold", EXPOSURE_MAX])
        .arg(&unit)
        .output();
    match asked {
        Err(error) => eprintln!("skipped: systemd-analyze is not here ({error})"),
        Ok(output) => {
            let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{said}{wrong}");
            assert!(!wrong.contains("ignoring"), "a line of the unit means nothing: {wrong}");
        }
    }
    // What the engines need is not taken from them, whatever the figure.
    let text = fs::read_to_string(unit).expect("the unit");
    let has = |line: &str| text.lines().any(|known| known == line);
    for needed in ["KillMode=process", "Delegate=yes", "PrivateTmp=yes", "ProtectHome=yes", "StateDirectory=skillrun"] {
        assert!(has(needed), "{needed}");
    }
    for harmful in ["MemoryDenyWriteExecute=yes", "PrivateUsers=yes", "PrivateNetwork=yes", "RestrictNamespaces=yes"] {
        assert!(!has(harmful), "{harmful}");
    }
}

#[test]
fn the_image_is_built_from_what_is_here_and_pinned_by_arguments() {
    let root = paths::workspace();
    let text = fs::read_to_string(root.join("deploy/Dockerfile")).expect("the Dockerfile");
    let ignored = fs::read_to_string(root.join(".dockerignore")).expect("the .dockerignore");
    let ignored: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
    let lines = || text.lines().map(str::split_whitespace).map(Iterator::collect::<Vec<_>>);
    let mut copied = 0;
    for words in lines() {
        match words.as_slice() {
            ["FROM", image, ..] => {
                let name = image.strip_prefix("${").and_then(|name| name.strip_suffix('}')).expect("an argument");
                assert!(text.contains(&format!("\nARG {name}=")), "{name} has no default");
                assert!(text.contains(&format!("--build-arg {name}=")), "{name}: how it is pinned is not said");
            }
            ["COPY", from, ..] if from.starts_with("--from=") => {}
            ["COPY", sources @ .., _] => {
                for source in sources {
                    assert!(root.join(source).exists(), "{source} is not here");
                    assert!(!ignored.contains(source), "{source} is left out by .dockerignore");
                    copied += 1;
                }
            }
            _ => {}
        }
    }
    assert!(copied > 5, "only {copied}");
    for secret in [".git", "**/target", "**/node_modules", "**/server.token", "**/server.key"] {
        assert!(ignored.contains(&secret), "{secret}");
    }
    assert!(lines().any(|words| words.first() == Some(&"USER")), "it would run as root");
    assert!(text.contains("ENTRYPOINT [\"/usr/bin/tini\", \"--\","), "nothing reaps what hosts leave");
}
