//! What a process in a box reaches over the network, and what the record of the host process says of the rest.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;

use lab::host::{HostLab, text};
use skillrun_collect::plan::{HostPlan, Variable};
use skillrun_collect::start;
use skillrun_confine::{BoxPlan, NetworkPlan, ProbeScope, probe};
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::{RefusalKind, RefusalList};
use skillrun_model::confinement::{BoxMechanism, HostPattern};

use super::escapes::{PYTHON, has_python};
use crate::SKILLRUN;

const ATTEMPTS: &str = include_str!("networks.py");

/// What is reached with a list, and what with an empty one.
const TABLE: &[(&str, &str, &str)] = &[
    ("the listed port", "open", "held"),
    ("the listed port by another name", "open", "held"),
    ("the listed port through a tunnel", "open", "held"),
    ("the listed port through the proxy", "open", "held"),
    ("another port", "held", "held"),
    ("another port through a tunnel", "held", "held"),
    ("another port through the proxy", "held", "held"),
    ("the address of a listed name", "open", "held"),
    ("the address of another name", "held", "held"),
    ("a host of version 4", "held", "held"),
    ("a host of version 6", "held", "held"),
    ("the metadata of a cloud", "held", "held"),
    ("a datagram", "held", "held"),
];

/// Answers every connection with a greeting, as long as the test runs.
pub(super) fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // A connection that is closed with unread bytes is reset, and its client may lose the answer.
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                match connection.read(&mut byte) {
                    Ok(1) => request.extend(byte),
                    Ok(_) | Err(_) => break,
                }
            }
            connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\na greeting").ok();
        }
    });
    port
}

/// Whether this machine can make networks.
pub(super) fn has_networks() -> bool {
    let abilities = probe(ProbeScope::All);
    match (&abilities.namespaces, &abilities.network_namespace) {
        (Ok(()), Ok(())) => true,
        (namespaces, network) => {
            eprintln!("skipped: {namespaces:?}, {network:?}");
            false
        }
    }
}

/// Makes all attempts; the words that were found, and what was refused.
fn attempt(is_listed: bool, is_other_user: bool) -> Option<(BTreeMap<String, String>, RefusalList, u16)> {
    let lab = HostLab::new();
    let user = if is_other_user { Some(lab.other_user()?) } else { None };
    let (listed, other) = (server(), server());
    fs::write(lab.workspace().join("networks.py"), ATTEMPTS).expect("written");
    let base = lab.plan(&[]);
    let mut variables = base.variables.clone();
    variables.extend([Variable::plain("LISTED", &listed.to_string()), Variable::plain("OTHER", &other.to_string())]);
    let hosts = [format!("127.0.0.1:{listed}"), "api.listed.test:443".to_owned()];
    let hosts: Vec<HostPattern> = hosts.iter().map(|host| host.parse().expect("a host")).collect();
    let plan = HostPlan {
        argv: [PYTHON, "networks.py"].map(OsText::from).to_vec(),
        variables,
        confinement: Some(BoxPlan {
            mechanism: BoxMechanism::Namespaces,
            network: NetworkPlan::Only(if is_listed { hosts } else { Vec::new() }),
            readable: Vec::new(),
            writable: vec![OsText::from(lab.workspace())],
        }),
        ..base
    };
    let mut command = Command::new(SKILLRUN);
    command.arg("attempt-host");
    if let Some(user) = user {
        let place = lab.workspace().parent().expect("a folder").to_owned();
        let owned = Command::new("chown").arg("-R").arg(format!("{user}:{user}")).arg(place).status();
        assert!(owned.expect("chown").success());
        command.uid(user).gid(user);
    }
    start::start(command, &plan).expect("a host").wait().expect("ended");
    let record = lab.record(1);
    let output = lab.read_stdout(1);
    assert_eq!(record.exit_code, Some(0), "{output}\n{}\n{record:?}", text(&lab.evidence("stderr.1.log")));
    let found = output.lines().filter_map(|line| line.rsplit_once(' '));
    let found = found.map(|(name, word)| (name.to_owned(), word.to_owned())).collect();
    Some((found, record.network.expect("a list"), other))
}

fn check(is_listed: bool, is_other_user: bool) {
    if !has_networks() || !has_python() {
        return;
    }
    let Some((found, refused, other)) = attempt(is_listed, is_other_user) else { return };
    for (name, with_list, without) in TABLE {
        let expected = if is_listed { with_list } else { without };
        assert_eq!(found.get(*name).map(String::as_str), Some(*expected), "{name}: {found:#?}\n{refused:#?}");
    }
    assert_eq!(found.len(), TABLE.len(), "{found:#?}");
    let is_known = |kind: RefusalKind, host: &str, port: Option<u16>| {
        refused.refused.iter().any(|one| one.kind == kind && one.host == host && one.port == port)
    };
    let expected = [
        (RefusalKind::Tcp, "127.0.0.1", Some(other)),
        (RefusalKind::Proxy, "127.0.0.1", Some(other)),
        (RefusalKind::Name, "evil.other.test", None),
        (RefusalKind::Tcp, "192.0.2.1", Some(443)),
        (RefusalKind::Tcp, "2001:db8::1", Some(443)),
        (RefusalKind::Tcp, "169.254.169.254", Some(80)),
        (RefusalKind::Udp, "192.0.2.1", Some(53)),
    ];
    for (kind, host, port) in expected {
        assert!(is_known(kind, host, port), "{kind:?} {host} {port:?}: {refused:#?}");
    }
    assert_eq!(is_known(RefusalKind::Name, "api.listed.test", None), !is_listed, "{refused:#?}");
}

#[test]
fn only_listed_hosts_are_reached_and_the_others_are_recorded() {
    check(true, false);
}

#[test]
fn an_ordinary_user_reaches_the_same_hosts() {
    check(true, true);
}

#[test]
fn without_a_list_no_host_is_reached() {
    check(false, false);
}
