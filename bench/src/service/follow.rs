//! From an engine's line to a client: how long it takes, and what many clients cost. A bare relay does the same beside.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::crowd::Crowd;
use super::place::{Engine, Place, SERVER_TIMEOUT, cpu_of, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, ms, us};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const P50_TARGET: Duration = Duration::from_millis(1);
const P99_TARGET: Duration = Duration::from_millis(8);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    for rate in [100, 2_000] {
        let work = Work { rate, lines: rate * sizes.seconds, clients: 1 };
        let mut both = work.both(program)?;
        if both.misses() {
            // Something else may have had the machine.
            let again = work.both(program)?;
            if again.excess(Spread::p99) < both.excess(Spread::p99) {
                both = again;
            }
        }
        report(&format!("latency at {rate} lines/s"), &both, "at most 1 ms and 8 ms more", table);
        if both.misses() {
            let (p50, p99) = (both.excess(Spread::p50), both.excess(Spread::p99));
            table.missed(format!("service: at {rate} lines/s p50 is {} and p99 {} above the relay", ms(p50), ms(p99)));
        }
    }
    let work = Work { rate: 100, lines: 100 * sizes.seconds, clients: sizes.clients };
    let both = work.both(program)?;
    let name = format!("{} clients of one run at 100 lines/s, all events to all", sizes.clients);
    report(&name, &both, "all events", table);
    let per = |followed: &Followed| followed.cpu / u32::try_from(followed.ages.len().max(1)).unwrap_or(u32::MAX);
    let (served, relayed) = (per(&both.served), per(&both.relayed));
    let ratio = served.as_secs_f64() / relayed.as_secs_f64().max(1e-9);
    let name = "of that, processor time of the server per event and client";
    table.measured(name, &us(served), &us(relayed), &format!("{ratio:.1} times"), "–");
    Ok(())
}

/// The two sides and what is compared of them.
struct Both {
    served: Followed,
    relayed: Followed,
}

struct Followed {
    ages: Spread,
    cpu: Duration,
}

impl Both {
    fn excess(&self, of: impl Fn(&Spread) -> Duration) -> Duration {
        of(&self.served.ages).saturating_sub(of(&self.relayed.ages))
    }

    fn misses(&self) -> bool {
        self.excess(Spread::p50) > P50_TARGET || self.excess(Spread::p99) > P99_TARGET
    }
}

fn report(name: &str, both: &Both, target: &str, table: &mut Table) {
    let (served, relayed) = (&both.served.ages, &both.relayed.ages);
    let name = format!("{name}, p50, p99, longest of {}", served.len());
    let three = |spread: &Spread| format!("{}, {}, {}", ms(spread.p50()), ms(spread.p99()), ms(spread.max()));
    let more = format!("{} and {} more", ms(both.excess(Spread::p50)), ms(both.excess(Spread::p99)));
    table.measured(&name, &three(served), &three(relayed), &more, target);
}

struct Work {
    rate: u64,
    lines: u64,
    clients: usize,
}

impl Work {
    fn both(&self, program: &Program) -> Result<Both, Problem> {
        Ok(Both { relayed: self.relayed()?, served: self.served(program)? })
    }

    fn words(&self, go: &Path) -> [String; 4] {
        ["steady".to_owned(), self.rate.to_string(), self.lines.to_string(), go.display().to_string()]
    }

    fn patience(&self) -> Duration {
        SERVER_TIMEOUT + Duration::from_secs(self.lines / self.rate)
    }

    fn served(&self, program: &Program) -> Result<Followed, Problem> {
        let go = std::env::temp_dir().join(format!("skillrun-bench-{}-service-follow/go", std::process::id()));
        let words = self.words(&go);
        let mut all = vec!["write"];
        all.extend(words.iter().map(String::as_str));
        let bench = std::env::current_exe()?;
        let engine = Engine { name: "lines", profile: "codex_ndjson", program: &bench, words: &all };
        let place = Place::new(program, "follow", &[engine])?;
        let server = place.serve()?;
        let run = server.start("lines")?;
        let request = server.client.head("GET", &format!("/v1/runs/{run}/events"), &[]);
        let mut crowd = Crowd::join(server.client.address, &request, self.clients)?;
        crowd.read_until(SERVER_TIMEOUT, |crowd| crowd.all(|member| member.is_open() && member.events > 0))?;
        let cpu = server.cpu()?;
        fs::write(&go, "")?;
        crowd.read_until(self.patience(), |crowd| crowd.all(super::crowd::Member::is_done))?;
        let cpu = server.cpu()?.saturating_sub(cpu);
        succeeded(&server.wait(&run)?)?;
        let log = fs::read(place.data().join("runs").join(&run).join("events.jsonl"))?;
        let events = memchr::memchr_iter(b'\n', &log).count() as u64;
        self.compare(&crowd, events)?;
        server.stop()?;
        Ok(Followed { ages: Spread::new(crowd.ages), cpu })
    }

    fn relayed(&self) -> Result<Followed, Problem> {
        let folder = std::env::temp_dir().join(format!("skillrun-bench-{}-relay", std::process::id()));
        fs::create_dir_all(&folder)?;
        let followed = self.relayed_in(&folder);
        fs::remove_dir_all(&folder)?;
        followed
    }

    fn relayed_in(&self, folder: &Path) -> Result<Followed, Problem> {
        let go = folder.join("go");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("relay").arg(self.clients.to_string()).args(self.words(&go));
        let (relay, mut crowd) = Crowd::at_relay(&mut command, self.clients)?;
        let cpu = cpu_of(relay.id())?;
        fs::write(&go, "")?;
        // Two lines open and two close.
        let lines = self.lines + 4;
        crowd.read_until(self.patience(), |crowd| crowd.all(|member| member.is_done() || member.events >= lines))?;
        let cpu = cpu_of(relay.id()).map_or(Duration::ZERO, |now| now.saturating_sub(cpu));
        self.compare(&crowd, lines)?;
        Ok(Followed { ages: Spread::new(crowd.ages), cpu })
    }

    /// Every client receives every event once, in order.
    fn compare(&self, crowd: &Crowd, events: u64) -> Result<(), Problem> {
        let complete = |member: &&super::crowd::Member| member.jumps == 0 && member.last == events && !member.is_cut;
        let count = crowd.members().iter().filter(complete).count();
        let expected = self.lines * self.clients as u64;
        if count == self.clients && crowd.ages.len() as u64 == expected {
            return Ok(());
        }
        let (clients, ages) = (self.clients, crowd.ages.len());
        Err(Problem(format!(
            "service: {count} of {clients} clients got all {events} events, {ages} of {expected} lines"
        )))
    }
}
