//! From nothing to ready, seen by a client that knocks from before the start; and whether a request is lost meanwhile.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use testkit::http::{self, Client};

use super::beside;
use super::children::Kept;
use super::place::{Engine, Place, SERVER_TIMEOUT, Server, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, ms};
use crate::capture::wall;
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const EMPTY_TARGET: Duration = Duration::from_millis(30);
const FULL_TARGET: Duration = Duration::from_millis(300);

/// Between two knocks: often enough, and not a load of its own.
const KNOCK: Duration = Duration::from_micros(200);

/// Requests that need runs, sent while it starts.
const EARLY: usize = 8;

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let mut bare = Vec::new();
    for _ in 0..sizes.starts {
        bare.push(wall(Command::new(program.path()).arg("--version"))?);
    }
    let bare = Spread::new(bare);
    let quick = || Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] };
    let mut lost = Lost::default();

    let mut times = Vec::new();
    for _ in 0..sizes.starts {
        let place = Place::new(program, "start", &[quick()])?;
        times.push(cold(&place, &mut lost)?.0);
    }
    row("start to `/readyz`, empty data folder", Spread::new(times), &bare, Some(EMPTY_TARGET), table);

    let place = Place::new(program, "starts", &[quick()])?;
    let server = place.serve()?;
    let view = server.run("quick", Some(60))?;
    succeeded(&view)?;
    server.stop()?;
    let original = view["run_id"].as_str().unwrap_or_default();
    for number in 0..sizes.finished {
        copy(&place.data().join("runs"), original, number)?;
    }
    let (mut without, mut with, mut stops) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sizes.starts.min(3) {
        forget_catalog(&place.data())?;
        without.push(cold(&place, &mut lost)?.0);
    }
    for _ in 0..sizes.starts {
        let (ready, stop) = cold(&place, &mut lost)?;
        with.push(ready);
        stops.push(stop);
    }
    let name = format!("the same with {} finished runs", sizes.finished);
    row(&name, Spread::new(with), &bare, Some(FULL_TARGET), table);
    row("the same without a catalog, which is created then", Spread::new(without), &bare, None, table);
    row("from SIGTERM to its exit", Spread::new(stops), &bare, None, table);
    beside::follower(&place, &format!("{} finished runs", sizes.finished), sizes, table)?;
    let answered = format!("{} of {}", lost.answered, lost.sent);
    table.measured("requests answered, from the first connection on", &answered, "–", "–", "all");
    if lost.answered != lost.sent {
        table.missed(format!("service: only {answered} requests during a start were answered"));
    }
    Ok(())
}

pub(super) fn row(name: &str, times: Spread, bare: &Spread, target: Option<Duration>, table: &mut Table) {
    let name = format!("{name}, median and longest of {}", times.len());
    let measured = format!("{}, {}", ms(times.p50()), ms(times.max()));
    let more = format!("{} more", ms(times.p50().saturating_sub(bare.p50())));
    let aim = target.map_or_else(|| "–".to_owned(), |target| format!("under {}", ms(target)));
    table.measured(&name, &measured, &ms(bare.p50()), &more, &aim);
    if target.is_some_and(|target| times.p50() >= target) {
        table.missed(format!("service: {name}: {measured}"));
    }
}

/// Requests, and how many of them were answered as they should be.
#[derive(Debug, Default)]
pub(super) struct Lost {
    sent: usize,
    answered: usize,
}

/// One start and one stop, and how long each took.
pub(super) fn cold(place: &Place, lost: &mut Lost) -> Result<(Duration, Duration), Problem> {
    let address = free_address()?;
    let client = place.client(address);
    let mut command = place.serve_command(&address.to_string())?;
    let begin = Instant::now();
    let mut server = Server::of(Kept::spawn(command.stdout(Stdio::null()))?, client.clone());
    let mut early: Vec<JoinHandle<bool>> = Vec::new();
    let ready = loop {
        if begin.elapsed() > SERVER_TIMEOUT || server.has_ended() {
            let why = fs::read_to_string(place.path("server.err")).unwrap_or_default();
            return Err(Problem(format!("service: failed to start: {}", why.trim())));
        }
        let stream = match TcpStream::connect(address) {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                sleep(KNOCK);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        lost.sent += 1;
        // The first connections of all ask for what has to be found first.
        if early.len() < EARLY {
            let client = client.clone();
            early.push(thread::spawn(move || {
                ask(stream, &client, "/v1/runs?limit=1").is_ok_and(|status| status == 200)
            }));
            continue;
        }
        let status = ask(stream, &client, "/readyz").ok();
        lost.answered += usize::from(matches!(status, Some(200 | 503)));
        if status == Some(200) {
            break begin.elapsed();
        }
        sleep(KNOCK);
    };
    lost.answered += early.into_iter().map(|asked| usize::from(asked.join().unwrap_or(false))).sum::<usize>();
    Ok((ready, server.stop()?))
}

fn ask(mut stream: TcpStream, client: &Client, path: &str) -> io::Result<u16> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SERVER_TIMEOUT))?;
    stream.write_all(client.head("GET", path, &[("Connection", "close")]).as_bytes())?;
    Ok(http::answer(stream)?.status)
}

/// A free port that the system gives to no client: a client that connects to its own port would connect to itself.
fn free_address() -> Result<SocketAddr, Problem> {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap_or_default();
    let found = (first..first + 500).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).find(|address| {
        // Closed again at once, without a connection that the system would remember.
        TcpListener::bind(address).is_ok()
    });
    found.ok_or_else(|| Problem("service: there is no free port".to_owned()))
}

pub(super) fn forget_catalog(data: &Path) -> Result<(), Problem> {
    for entry in fs::read_dir(data)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("catalog") {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Another run like an existing one, as if it had been made later.
pub(super) fn copy(runs: &Path, original: &str, number: u32) -> Result<(), Problem> {
    let head = original.get(..original.len().saturating_sub(12)).unwrap_or_default();
    let other = format!("{head}{number:012x}");
    let target = runs.join(&other);
    fs::create_dir(&target)?;
    for name in ["run.json", "events.jsonl", "result.json"] {
        // A run that waits has no result.
        if let Ok(text) = fs::read_to_string(runs.join(original).join(name)) {
            fs::write(target.join(name), text.replace(original, &other))?;
        }
    }
    fs::copy(runs.join(original).join("lock"), target.join("lock"))?;
    Ok(())
}
