//! The owner of the run that an attempt belongs to, over the socket of the attempt.
//!
//! One line of JSON each way per connection:
//!
//! ```text
//! {"skillrun_delegation":1,"token":"…","ask":{"do":"list"}}
//! {"is":"listed","runs":[]}
//! ```
//!
//! The owner of a run may change: a connection that is refused or breaks off is tried again for a while. Requests can
//! be repeated without another effect.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_model::delegation::{DelegationRequest, DelegationResponse, RefusalReason};
use skillrun_plan::delegation::DelegationAddress;
pub use skillrun_plan::delegation::{SOCKET_VARIABLE, TOKEN_VARIABLE};

use crate::desk::{RunDesk, refusal};

/// How long another owner may take to listen.
const OWNER_CHANGE_TIMEOUT: Duration = Duration::from_secs(10);

const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// How long an owner may take for a response, in addition to the time of a wait.
const OWNER_RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The desk of an attempt.
pub struct AttemptDesk {
    address: DelegationAddress,
    owner_change_timeout: Duration,
}

impl fmt::Debug for AttemptDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptDesk").field("socket", &self.address.socket).finish_non_exhaustive()
    }
}

impl AttemptDesk {
    pub fn new(socket: impl Into<PathBuf>, token: impl Into<String>) -> Self {
        let address = DelegationAddress { socket: socket.into(), token: token.into() };
        Self { address, owner_change_timeout: OWNER_CHANGE_TIMEOUT }
    }
}

/// Whether another owner may answer.
fn may_pass(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::Interrupted
    )
}

/// How long the owner may take by itself.
fn wait_of(request: &DelegationRequest) -> Duration {
    match request {
        DelegationRequest::Wait { timeout_sec, .. } => {
            Duration::try_from_secs_f64(*timeout_sec).unwrap_or(crate::WAIT_MAX).min(crate::WAIT_MAX)
        }
        DelegationRequest::Spawn { .. }
        | DelegationRequest::Send { .. }
        | DelegationRequest::Cancel { .. }
        | DelegationRequest::List
        | DelegationRequest::Result { .. } => Duration::ZERO,
    }
}

impl RunDesk for AttemptDesk {
    fn ask(&self, request: DelegationRequest) -> DelegationResponse {
        let unavailable = |why: &dyn fmt::Display| {
            let message = format!("the process that owns this run does not answer ({why}); try again in a minute");
            DelegationResponse::Refused { refusal: refusal(RefusalReason::Unavailable, message) }
        };
        let (begin, wait) = (Instant::now(), wait_of(&request));
        let mut lost_at = None;
        loop {
            // A wait that is repeated takes only the rest of its time.
            let left = wait.saturating_sub(begin.elapsed());
            let asked_at = Instant::now();
            match self.address.ask_within(within(&request, left), left + OWNER_RESPONSE_TIMEOUT) {
                Ok(response) => return response,
                Err(error) if may_pass(&error) => {
                    let since = *lost_at.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.owner_change_timeout {
                        return unavailable(&error);
                    }
                    if asked_at.elapsed() < RETRY_INTERVAL {
                        thread::sleep(RETRY_INTERVAL);
                    }
                }
                Err(error) => return unavailable(&error),
            }
        }
    }
}

/// The request, with the time that is left for a wait.
fn within(request: &DelegationRequest, left: Duration) -> DelegationRequest {
    match request {
        DelegationRequest::Wait { runs, .. } => {
            DelegationRequest::Wait { runs: runs.clone(), timeout_sec: left.as_secs_f64() }
        }
        DelegationRequest::Spawn { .. }
        | DelegationRequest::Send { .. }
        | DelegationRequest::Cancel { .. }
        | DelegationRequest::List
        | DelegationRequest::Result { .. } => request.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::sync::mpsc;

    use super::*;
    use serde_json::{Value, json};

    fn desk(socket: &Path, timeout: Duration) -> AttemptDesk {
        AttemptDesk { owner_change_timeout: timeout, ..AttemptDesk::new(socket, "secret") }
    }

    /// An owner that answers connections with these texts, in order; returns the lines that it got.
    fn owner(socket: &Path, answers: Vec<&'static str>) -> mpsc::Receiver<Value> {
        let listener = UnixListener::bind(socket).expect("a socket");
        let (lines, got) = mpsc::channel();
        thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().expect("a connection");
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).expect("a line");
                lines.send(serde_json::from_str(&line).expect("JSON")).expect("a test");
                (&stream).write_all(answer.as_bytes()).expect("a client");
            }
        });
        got
    }

    fn reason(response: &DelegationResponse) -> RefusalReason {
        let DelegationResponse::Refused { refusal } = response else { panic!("{response:?}") };
        refusal.reason
    }

    const LISTED: &str = "{\"is\":\"listed\",\"runs\":[]}\n";

    #[test]
    fn a_request_is_one_line_with_the_token() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let got = owner(&socket, vec![LISTED]);
        let response = desk(&socket, OWNER_CHANGE_TIMEOUT).ask(DelegationRequest::List);
        assert_eq!(response, DelegationResponse::Listed { runs: Vec::new() });
        let expected = json!({"skillrun_delegation": 1, "token": "secret", "ask": {"do": "list"}});
        assert_eq!(got.recv().expect("a line"), expected);
    }

    /// The first owner exits in the middle of a response.
    #[test]
    fn a_request_is_repeated_to_the_next_owner() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let got = owner(&socket, vec!["", "{\"is\":\"lis", LISTED]);
        let response = desk(&socket, OWNER_CHANGE_TIMEOUT).ask(DelegationRequest::List);
        assert_eq!(response, DelegationResponse::Listed { runs: Vec::new() });
        assert_eq!(got.iter().count(), 3, "the same request each time");
    }

    /// Regression, found by reading: opencode ends a call after 60 s, and a wait of 45 s was repeated in full.
    #[test]
    fn a_repeated_wait_takes_the_rest_of_its_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let waited = "{\"is\":\"waited\",\"outcome\":\"completed\",\"runs\":[]}\n";
        let got = owner(&socket, vec!["", waited]);
        desk(&socket, OWNER_CHANGE_TIMEOUT).ask(DelegationRequest::Wait { runs: Vec::new(), timeout_sec: 40.0 });
        let times: Vec<f64> = got.iter().map(|line| line["ask"]["timeout_sec"].as_f64().expect("a time")).collect();
        assert!(times[0] <= 40.0 && times[1] <= times[0] - RETRY_INTERVAL.as_secs_f64(), "{times:?}");
    }

    #[test]
    fn an_owner_that_comes_late_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let late = socket.clone();
        let asked = thread::spawn(move || desk(&late, OWNER_CHANGE_TIMEOUT).ask(DelegationRequest::List));
        thread::sleep(RETRY_INTERVAL);
        let _got = owner(&socket, vec![LISTED]);
        assert_eq!(asked.join().expect("a thread"), DelegationResponse::Listed { runs: Vec::new() });
    }

    #[test]
    fn a_missing_owner_is_a_refusal_after_a_while() {
        let folder = tempfile::tempdir().expect("a folder");
        let begin = Instant::now();
        let limit = 3 * RETRY_INTERVAL;
        let response = desk(&folder.path().join("s"), limit).ask(DelegationRequest::List);
        assert_eq!(reason(&response), RefusalReason::Unavailable);
        assert!(begin.elapsed() >= limit);
    }

    #[test]
    fn a_response_that_is_none_is_a_refusal_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("s");
        let got = owner(&socket, vec!["{\"is\":\"what\"}\n"]);
        let response = desk(&socket, OWNER_CHANGE_TIMEOUT).ask(DelegationRequest::List);
        assert_eq!(reason(&response), RefusalReason::Unavailable);
        assert_eq!(got.iter().count(), 1);
    }
}
