//! `auto` once more, with every attempted connection recorded.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::process::Command;

use crate::problem::{Miss, must};
use crate::trial::Trial;

/// The program that notes connections.
pub(super) const TRACER: &str = "strace";

/// Names are looked up there, and an answer may come from this very machine.
const DNS: u16 = 53;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let trace = trial.place.root().join("connections");
    let run = trial.run_command(&[]);
    let mut command = Command::new(TRACER);
    command.args(["-f", "-qq", "--seccomp-bpf", "-s", "64", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]);
    command.arg(&trace).arg("--").arg(run.get_program()).args(run.get_args());
    trial.place.surround(&mut command, trial.lab.world(), trial.engine, &trial.server());
    let finished = trial.finish(command, "run")?;
    trial.over(trial.only_run(&finished)?)?.must_give_the_answer()?;
    let text = String::from_utf8_lossy(&fs::read(&trace)?).into_owned();
    // Without the model's address in it nothing was noted at all.
    must(text.contains("127.0.0.1"), "no trace", || "strace recorded no connection to the model".to_owned())?;
    let outside = addresses(&text);
    let list = || outside.iter().cloned().collect::<Vec<_>>().join(", ");
    must(outside.is_empty(), &list(), || format!("it tried to reach {}", list()))
}

/// Addresses in lines of strace that are not this machine, or are asked for names.
fn addresses(trace: &str) -> BTreeSet<String> {
    trace
        .lines()
        .filter_map(address)
        .filter(|(ip, port)| !is_here(*ip) || *port == DNS)
        .map(|(ip, port)| format!("{ip}:{port}"))
        .collect()
}

fn is_here(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified()
}

/// `{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("1.2.3.4")}`, or with AF_INET6
/// `{..., sin6_port=htons(443), ..., inet_pton(AF_INET6, "::1", &sin6_addr), ...}`.
fn address(line: &str) -> Option<(IpAddr, u16)> {
    let after = |mark: &str| line.split_once(mark).map(|(_, rest)| rest);
    let port = after("_port=htons(")?.split(')').next()?.parse().ok()?;
    let quoted = after("inet_addr(\"").or_else(|| after("inet_pton(AF_INET6, \""))?;
    Some((quoted.split('"').next()?.parse().ok()?, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_inside_and_a_name_server_never_is() {
        let trace = r#"
11 connect(5, {sa_family=AF_INET, sin_port=htons(4711), sin_addr=inet_addr("127.0.0.1")}, 16) = -1 EINPROGRESS
11 connect(5, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0
12 connect(6, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0
12 connect(6, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::ffff:127.0.0.1", &sin6_addr), sin6_scope_id=0}, 28) = 0
13 sendto(7, ""..., 40, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 40
14 connect(8, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = -1 ENETUNREACH
15 connect(9, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = -1 ENETUNREACH
"#;
        let found: Vec<_> = addresses(trace).into_iter().collect();
        assert_eq!(found, ["127.0.0.53:53", "192.0.2.7:443", "2001:db8::1:443"]);
    }
}
