//! Names of the files in `.audit`.

use skillrun_model::{AttemptNumber, Stream};

/// The socket of a running host.
pub const SOCKET: &str = "host.sock";

/// The same before it can be connected to; the nonce is its host's.
pub fn socket_draft(nonce: &str) -> String {
    format!("{SOCKET}.{nonce}")
}

pub fn log(stream: Stream, number: AttemptNumber) -> String {
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Pty => "pty-output",
    };
    format!("{name}.{number}.log")
}

/// What was written to the process.
pub fn stdin(number: AttemptNumber) -> String {
    format!("stdin.{number}.log")
}

pub fn chunks(number: AttemptNumber) -> String {
    format!("chunks.{number}.jsonl")
}

pub fn redact(number: AttemptNumber) -> String {
    format!("redact.{number}.jsonl")
}

pub fn meta(number: AttemptNumber) -> String {
    format!("meta.{number}.json")
}

/// The host's own record.
pub fn host(number: AttemptNumber) -> String {
    format!("host.{number}.json")
}

/// Created by a host before it starts a process; the host that creates it owns the attempt.
pub fn claim(number: AttemptNumber) -> String {
    format!("claim.{number}")
}

/// Created by a host before it writes the first input of an attempt to the process. Without it, nothing was written.
pub fn given(number: AttemptNumber) -> String {
    format!("given.{number}")
}

/// Released when the disk is full, so that the end can still be recorded.
pub fn reserve(number: AttemptNumber) -> String {
    format!("reserve.{number}")
}

/// The files of an attempt in addition to its evidence: the claim, and the listings of its workspace.
pub fn beside(number: AttemptNumber) -> Vec<String> {
    let listings = ["fs-before", "fs-after", "fs-diff"].map(|name| format!("{name}.{number}.json"));
    std::iter::once(claim(number)).chain(listings).collect()
}

/// The attempt that a file belongs to.
pub fn attempt_in(name: &str) -> Option<AttemptNumber> {
    const MADE_BY: [fn(AttemptNumber) -> String; 8] = [stdin, chunks, redact, meta, host, claim, given, reserve];
    let of_stream = |stream| number_in(name, |number| log(stream, number));
    let others = || MADE_BY.into_iter().find_map(|made_by| number_in(name, made_by));
    Stream::ALL.into_iter().find_map(of_stream).or_else(others)
}

/// The number in a file name that `made_by` would produce for it.
pub fn number_in(name: &str, made_by: impl Fn(AttemptNumber) -> String) -> Option<AttemptNumber> {
    let digits = name.split('.').find(|part| part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty())?;
    let number = AttemptNumber(digits.parse().ok().filter(|n| *n > 0)?);
    // `claim.01` is not a name that skillrun writes; accepting it would give two files for one attempt.
    (made_by(number) == name).then_some(number)
}
