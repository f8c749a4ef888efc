//! What processes and their hosts do by themselves.

use skillrun_model::EndedBy;

use super::evidence::{End, Line, SimulatedExit};
use super::host::Phase;
use super::world::SimulatedWorld;

impl SimulatedWorld {
    pub(super) fn host_can_work(&self) -> bool {
        let Some(host) = &self.hosts.living else { return false };
        let is_ending = host.ladder.is_some() || host.is_changing;
        is_ending
            || match host.phase {
                Phase::Held | Phase::AsksCall | Phase::Stuck => false,
                Phase::Turn => true,
                // One that could continue waits for the reply whether it does.
                Phase::EndWritten => !self.scene.goes_on() || host.is_closed,
                Phase::Between => host.is_closed,
            }
    }

    /// The process does something, or its host does.
    pub(super) fn host_works(&mut self) {
        let now = self.now;
        let Some(host) = &mut self.hosts.living else { return };
        if host.is_changing {
            self.tally.mark("a process waits between two turns");
            self.narrate(|| "the host continues with the next attempt".to_owned());
            return self.hosts.change_over(now);
        }
        if let Some(why) = host.ladder {
            if host.phase == Phase::Turn && self.tape.pick(4) == 3 {
                // Engines write an end when they are interrupted, and some write what they had finished.
                let end = [End::Failure, End::Question, End::Done][self.tape.pick(3)];
                host.phase = Phase::Stuck;
                if why == EndedBy::Interrupted {
                    self.tally.mark("a process that was interrupted writes an end");
                }
                self.narrate(|| format!("the process writes {end:?}, though it is being ended ({why})"));
                return self.hosts.write(now, Line::End(end));
            }
            self.narrate(|| format!("the process is gone ({why})"));
            return self.hosts.exit(now, SimulatedExit::Killed);
        }
        match host.phase {
            Phase::Held | Phase::AsksCall | Phase::Stuck => {}
            Phase::EndWritten | Phase::Between => {
                let exits = [(Some(SimulatedExit::Good), 8), (Some(SimulatedExit::Bad), 1), (None, 1)];
                match self.tape.weighted(&exits).flatten() {
                    Some(exit) => {
                        self.narrate(|| format!("the process leaves ({exit:?})"));
                        self.hosts.exit(now, exit);
                    }
                    None => {
                        host.phase = Phase::Stuck;
                        self.narrate(|| "the process has ended its turn and does not leave".to_owned());
                    }
                }
            }
            Phase::Turn => self.turn(now),
        }
    }

    fn turn(&mut self, now: u64) {
        #[derive(Clone, Copy)]
        enum Does {
            Writes(Line),
            Leaves(SimulatedExit),
            Hangs,
        }
        let attempt = self.hosts.living.as_ref().map_or(0, |host| host.attempt);
        let said = self.hosts.attempt(attempt).lines.len();
        let asks = if said < 3 { 4 } else { 0 };
        let end = |end: End| Does::Writes(Line::End(end));
        let choices = [
            (end(End::Done), 6),
            (end(End::Question), 14),
            (Does::Writes(Line::Asked), asks),
            (Does::Writes(Line::Said), asks / 2),
            (end(End::Misfit), 1),
            (end(End::Failure), 1),
            (end(End::Quota), 1),
            (end(End::Limit), 1),
            (Does::Leaves(SimulatedExit::Good), 1),
            (Does::Leaves(SimulatedExit::Bad), 1),
            (Does::Hangs, 1),
        ];
        let Some(does) = self.tape.weighted(&choices) else { return };
        let Some(host) = &mut self.hosts.living else { return };
        match does {
            Does::Writes(line) => {
                host.phase = match line {
                    Line::Said => Phase::Turn,
                    Line::Asked => Phase::AsksCall,
                    Line::End(_) => Phase::EndWritten,
                };
                self.narrate(|| format!("the process writes {line:?}"));
                self.hosts.write(now, line);
            }
            Does::Leaves(exit) => {
                self.narrate(|| format!("the process leaves in the middle of its turn ({exit:?})"));
                self.hosts.exit(now, exit);
            }
            Does::Hangs => {
                host.phase = Phase::Stuck;
                self.narrate(|| "the process hangs".to_owned());
            }
        }
    }
}
