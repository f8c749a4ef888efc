//! Attempts to get out of a box, made by a real process. The table says what each must find.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use lab::host::{HostLab, text};
use lab::wait_until;
use skillrun_collect::plan::{HostPlan, Variable, VariableKind};
use skillrun_collect::start;
use skillrun_confine::{BoxPlan, NetworkPlan, ProbeScope, probe};
use skillrun_evidence::OsText;
use skillrun_model::EndedBy;
use skillrun_model::confinement::BoxMechanism;

use super::mechanisms;
use crate::SKILLRUN;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// The attempt fails.
    Held,
    /// The attempt works: it is part of what the box lets in, or `docs/security.md` says that it is not held.
    Open,
}
use Cell::{Held, Open};

/// What each attempt must find: with namespaces, and with Landlock alone.
const TABLE: &[(&str, Cell, Cell)] = &[
    ("read the HOME of the user", Held, Held),
    ("read another run", Held, Held),
    ("read its own evidence", Held, Held),
    ("read through a symbolic link", Held, Held),
    ("read through ..", Held, Held),
    ("read through the root of a process", Held, Held),
    ("read through a hard link", Held, Held),
    ("write into the HOME of the user", Held, Held),
    ("write through a symbolic link", Held, Held),
    ("write into its own evidence", Held, Held),
    ("write into the programs of the system", Held, Held),
    ("write into /etc", Held, Held),
    ("write into the root", Held, Held),
    ("change the mode of a file outside", Held, Open),
    ("see the command line of a process outside", Held, Open),
    ("read the environment of a process outside", Held, Held),
    ("read the memory of the first process", Held, Held),
    ("follow the descriptors of the first process", Held, Held),
    ("signal a process outside", Held, Held),
    ("trace a process outside", Held, Held),
    ("write settings of the kernel", Held, Held),
    ("open the keys of the kernel", Held, Held),
    ("mount a file system", Held, Held),
    ("mount the programs of the system again", Held, Held),
    ("mount in a user namespace", Held, Held),
    ("make a device", Held, Held),
    ("change the root", Held, Held),
    ("send raw packets", Held, Held),
    ("connect to an abstract socket outside", Held, Held),
    ("connect to a socket file outside", Held, Open),
    ("connect to its own host", Held, Open),
    ("connect to a port outside", Open, Open),
    ("have capabilities", Held, Held),
    ("have inherited descriptors", Held, Held),
    ("write into the workspace", Open, Open),
    ("write into its folder for temporary files", Open, Open),
    ("write into /tmp", Open, Held),
    ("write into /dev/null", Open, Open),
    ("run tools", Open, Open),
];

const ATTEMPTS: &str = include_str!("attempts.py");

/// A process outside that the box must not reach; killed when dropped.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// That of the system: one in the HOME of the user is not in the box.
pub(super) const PYTHON: &str = "/usr/bin/python3";

pub(super) fn has_python() -> bool {
    let has = std::path::Path::new(PYTHON).exists();
    if !has {
        eprintln!("skipped: there is no {PYTHON}");
    }
    has
}

/// Makes all attempts as a user, and compares them with the table.
fn attempt(mechanism: BoxMechanism, network: &NetworkPlan, is_other_user: bool) {
    let lab = HostLab::new();
    let user = if is_other_user { lab.other_user() } else { None };
    if is_other_user && user.is_none() {
        return;
    }
    let place = lab.workspace().parent().expect("a folder").to_owned();
    for folder in ["user-home/.ssh", "other/.audit"] {
        fs::create_dir_all(place.join(folder)).expect("folders");
    }
    fs::write(place.join("user-home/.ssh/id"), "a key").expect("written");
    fs::write(place.join("other/.audit/stdout.1.log"), "output").expect("written");
    symlink(place.join("user-home"), lab.workspace().join("link")).expect("a link");
    fs::write(lab.workspace().join("attempts.py"), ATTEMPTS).expect("written");
    let word = format!("victim-{}", start::random_nonce().expect("randomness"));
    let address = SocketAddr::from_abstract_name(&word).expect("a name");
    let _abstract_socket = UnixListener::bind_addr(&address).expect("a socket");
    let _file_socket = UnixListener::bind(place.join("outside.sock")).expect("a socket");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut victim = Command::new("sh");
    // The last word is in its command line, and the variable in its environment. It waits without another process.
    victim.args(["-c", "read line", &word]).env("SECRET", "kept").stdin(Stdio::piped());
    if let Some(user) = user {
        victim.uid(user).gid(user);
    }
    let victim = Victim(victim.spawn().expect("a victim"));
    let plain = |name: &str, value: OsText| Variable { name: name.into(), value, kind: VariableKind::Plain };
    let base = lab.plan(&[]);
    let mut variables = base.variables.clone();
    variables.extend([
        plain("LAB", place.as_path().into()),
        plain("WORKSPACE", lab.workspace().into()),
        plain("AUDIT", lab.audit().into()),
        plain("VICTIM", victim.0.id().to_string().as_str().into()),
        plain("VICTIM_WORD", word.as_str().into()),
        plain("PORT", tcp.local_addr().expect("an address").port().to_string().as_str().into()),
    ]);
    let plan = HostPlan {
        argv: [PYTHON, "attempts.py"].map(OsText::from).to_vec(),
        variables,
        confinement: Some(BoxPlan {
            mechanism,
            network: network.clone(),
            readable: Vec::new(),
            writable: vec![OsText::from(lab.workspace())],
        }),
        ..base
    };
    let mut command = Command::new(SKILLRUN);
    command.arg("attempt-host");
    if let Some(user) = user {
        let owned = Command::new("chown").arg("-R").arg(format!("{user}:{user}")).arg(&place).status();
        assert!(owned.expect("chown").success());
        command.uid(user).gid(user);
    }
    let mut host = start::start(command, &plan).expect("a host");
    host.wait().expect("ended");
    let record = lab.record(1);
    let output = lab.read_stdout(1);
    let shown = || format!("{output}\n{}\n{record:?}", text(&lab.evidence("stderr.1.log")));
    assert_eq!((record.exit_code, record.ended_by), (Some(0), Some(EndedBy::Exited)), "{}", shown());
    let found: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    let wrong = TABLE.iter().filter_map(|(name, with_namespaces, with_landlock)| {
        let expected = match (mechanism, *name) {
            (BoxMechanism::Namespaces, "connect to a port outside") if !network.is_open() => Held,
            (BoxMechanism::Namespaces, _) => *with_namespaces,
            (BoxMechanism::Landlock, _) => *with_landlock,
        };
        let word = match expected {
            Held => "held",
            Open => "open",
        };
        (found.get(name) != Some(&word)).then(|| format!("{name}: must be {word}, is {:?}", found.get(name)))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{mechanism}, network {network:?}, user {user:?}: {wrong:#?}\n{}", shown());
    assert_eq!(found.len(), TABLE.len(), "{}", shown());
    // What was written for itself is not outside, and nothing was written where it may not.
    assert!(lab.workspace().join("written").exists());
    let outside = [place.join("user-home/written"), lab.audit().join("written"), format!("/tmp/written-{word}").into()];
    assert_eq!(outside.iter().filter(|path| path.exists()).count(), 0);
    wait_until("the victim is there", || victim_lives(&victim));
}

fn victim_lives(victim: &Victim) -> bool {
    std::path::Path::new("/proc").join(victim.0.id().to_string()).join("stat").exists()
}

#[test]
fn a_process_reaches_what_the_table_says() {
    if has_python() {
        mechanisms().into_iter().for_each(|mechanism| attempt(mechanism, &NetworkPlan::Open, false));
    }
}

#[test]
fn a_process_of_an_ordinary_user_reaches_the_same() {
    if has_python() {
        mechanisms().into_iter().for_each(|mechanism| attempt(mechanism, &NetworkPlan::Open, true));
    }
}

#[test]
fn without_a_network_no_port_outside_is_reached() {
    if !has_python() || !mechanisms().contains(&BoxMechanism::Namespaces) {
        return;
    }
    if let Err(reason) = &probe(ProbeScope::All).network_namespace {
        eprintln!("skipped: network namespaces ({reason})");
        return;
    }
    attempt(BoxMechanism::Namespaces, &NetworkPlan::Only(Vec::new()), false);
}
