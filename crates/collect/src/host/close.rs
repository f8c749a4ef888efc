//! The end of a host: no process is left, everything is read, the record is on disk.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use skillrun_confine::BoxInit;
use skillrun_evidence::HostRecord;
use skillrun_evidence::host_record::{Drain, FsCounts};
use skillrun_evidence::names;
use skillrun_model::{AttemptNumber, Code, EndedBy, IgnoredError};

use super::deadlines::Moment;
use super::part::{AttemptEvidence, RecordingProblem};
use super::record;
use super::run::{Host, Running, progress};
use crate::process::{tree, usage};
use crate::protocol::Notice;
use crate::secrets::Secrets;
use crate::snapshot::{SnapshotError, Taken};
use crate::temporary;

/// Time limit for the owner to read the final notices.
const FINAL_NOTICE_TIMEOUT: Duration = Duration::from_secs(1);

impl Host {
    pub(super) fn close(mut self, mut running: Running) {
        let main = running.main;
        let mut exit = running.exit.map(|(exit, _)| exit);
        let living_main = running.exit.is_none().then_some(main);
        let own = running.init.as_ref().map(BoxInit::pid);
        let ended = tree::end_all(living_main, own, running.group.as_ref(), |pid, status| {
            if pid == main {
                exit = Some(status);
            }
        });
        drop(running.group.take());
        drop(running.watch.take());
        // The controlling terminal ends with its last user, which is the host.
        drop(running.held.take());
        if let Some(exit) = exit.filter(|_| living_main.is_some()) {
            self.send_exit(exit);
        }
        let now = self.clock.now();
        running.drained += running.streams.drain(now) as u64;
        // Not before: neither the engine nor its last bytes may use this space.
        self.free_reserve();
        // The attempt that was being opened is claimed and has its files; it is the one that ends.
        self.change_over(&mut running, now);
        let exited = running.exit.map_or(now, |(_, at)| at);
        let drain = Drain { bytes: running.drained, ms: now.saturating_sub(exited) / 1_000_000 };
        let ended_at = self.clock.now();
        running.streams.close(ended_at);
        let mut part = running.streams.into_part();
        // Data that did not fit before has space now, and needs it before the listings.
        if let Err(error) = part.recorder.write_lines() {
            part.trouble.get_or_insert(RecordingProblem::Disk(error));
        }
        if let Some(RecordingProblem::Disk(error)) = &part.trouble {
            let message = format!("the evidence could not be written ({error})");
            self.fail(message);
        }
        record::set_exit(&mut self.record, exit);
        // A deliberate end takes precedence over an error of the evidence meanwhile.
        let why = running.ladder.map(|ladder| ladder.why).or(part.trouble.as_ref().map(RecordingProblem::ended_by));
        self.record.ended_by.get_or_insert(why.unwrap_or(EndedBy::Exited));
        self.record.rusage = usage::of_children();
        self.note_survivors(ended);
        self.snapshot_after(&mut Self::receive);
        self.finish(part, drain, ended_at);
    }

    /// The process never started.
    pub(super) fn close_unstarted(mut self, part: Option<AttemptEvidence>) {
        self.free_reserve();
        let now = self.clock.now();
        match part {
            Some(mut part) => {
                for stream in skillrun_model::Stream::ALL {
                    part.end(now, stream);
                }
                self.snapshot_after(&mut Self::receive);
                self.finish(part, Drain::default(), now);
            }
            None => {
                if let Some(snapshots) = &self.snapshots {
                    snapshots.forget_texts(self.record.attempt_number);
                }
                self.record.ended_at = Some(record::wall_clock());
                self.owner_socket.remove_socket();
                let record = self.record.clone();
                if record.write(&self.audit).is_ok() {
                    record.write_meta(&self.audit).ignored();
                }
                self.leave();
            }
        }
    }

    fn finish(mut self, part: AttemptEvidence, drain: Drain, ended_at: Moment) {
        self.record.ended_at = Some(self.record.started_at.plus_nanos(ended_at.saturating_sub(part.begun)));
        self.owner_socket.progress(progress(&part));
        self.owner_socket.remove_socket();
        let record = self.record.clone();
        self.write_record(record, part, drain);
        self.leave();
    }

    fn note_survivors(&mut self, ended: tree::Ended) {
        let names = || {
            let names: Vec<_> = ended.survivors.iter().take(5).map(|survivor| survivor.name.as_str()).collect();
            format!("{} ({})", ended.total, names.join(", "))
        };
        if ended.is_partial {
            record::warn(&mut self.record, Code::SurvivorsLeft, format!("processes that do not exit: {}", names()));
        } else if ended.total > 0 {
            record::warn(
                &mut self.record,
                Code::SurvivorsEnded,
                format!("processes terminated after the engine exited: {}", names()),
            );
        }
        self.record.survivors = ended.survivors;
        self.record.survivors_total = ended.total;
    }

    /// Seals the evidence and writes the record, then the view of it.
    pub(super) fn write_record(&mut self, mut record: HostRecord, mut part: AttemptEvidence, drain: Drain) {
        // Pending data counts only if it can be written; if not, sealing reports the error.
        part.recorder.write_lines().ignored();
        record::set_capture(&mut record, &part, drain);
        record.network = self.network.as_ref().map(|network| network.refusals().take());
        match part.recorder.seal() {
            Ok(sealed) => record::set_hashes(&mut record, sealed, &self.audit),
            Err(error) => {
                let message = format!("the evidence on the disk is incomplete ({error})");
                record
                    .error
                    .get_or_insert(skillrun_evidence::host_record::HostError { code: Code::HostError, message });
                record.ended_by = Some(EndedBy::HostError);
            }
        }
        // Without a record the attempt counts as lost, which is then correct.
        let write = |record: &HostRecord| record.write(&self.audit).and_then(|()| record.write_meta(&self.audit));
        if let Err(error) = write(&record)
            && error.kind() == io::ErrorKind::StorageFull
            && let Some(snapshots) = &self.snapshots
        {
            // The listing has used the space reserved for the record, and is dispensable.
            snapshots.remove_after(record.attempt_number);
            record.fs_diff = None;
            record.hashes.retain(|name, _| self.audit.join(name).exists());
            record::warn(&mut record, Code::SnapshotFailed, "the disk had no space for both it and the record");
            write(&record).ignored();
        }
        self.record.ended_by = record.ended_by;
    }

    /// Releases the disk space reserved for the end.
    pub(super) fn free_reserve(&self) {
        fs::remove_file(self.audit.join(names::reserve(self.plan.attempt))).ignored();
    }

    /// Notifies the owner, and removes what is no longer needed.
    fn leave(&mut self) {
        let ended_by = self.record.ended_by.unwrap_or(EndedBy::HostError);
        self.owner_socket.send_notice(&Notice::Ended { ended_by });
        let begin = self.clock.now();
        while !self.owner_socket.is_idle()
            && self.clock.now().saturating_sub(begin) < FINAL_NOTICE_TIMEOUT.as_nanos() as u64
        {
            let now = self.clock.now();
            // Requests that arrive now come too late.
            drop(self.owner_socket.flush(now));
            if !self.owner_socket.is_idle() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        temporary::remove(&self.temporary);
    }

    /// Lists the workspace before an attempt. `breathe` is called regularly.
    pub(super) fn snapshot_before(&mut self, cache: Option<AttemptNumber>, breathe: &mut dyn FnMut(&mut Self)) {
        let Some(snapshots) = self.snapshots.take() else { return };
        let attempt = self.record.attempt_number;
        let taken = snapshots.before(attempt, cache, wall_ns(), &mut || breathe(self));
        self.snapshots = Some(snapshots);
        self.note_snapshot(taken.map(|taken| (taken, None)));
    }

    /// Lists it again, with the changes.
    pub(super) fn snapshot_after(&mut self, breathe: &mut dyn FnMut(&mut Self)) {
        let Some(snapshots) = self.snapshots.take() else { return };
        let attempt = self.record.attempt_number;
        let secrets = Secrets::of(&self.plan);
        let mask = |bytes: &mut Vec<u8>| secrets.mask(bytes);
        let taken = snapshots.after(attempt, wall_ns(), &mask, &mut || breathe(self));
        self.snapshots = Some(snapshots);
        self.note_snapshot(taken.map(|(taken, counts)| (taken, Some(counts))));
    }

    fn note_snapshot(&mut self, taken: Result<(Taken, Option<FsCounts>), SnapshotError>) {
        match taken {
            Ok((taken, counts)) => {
                self.record.fs_diff = counts.or(self.record.fs_diff);
                let is_known = self.record.warnings.iter().any(|warning| warning.code == Code::SnapshotLimited);
                if (taken.limited || taken.truncated) && !is_known {
                    record::warn(&mut self.record, Code::SnapshotLimited, Code::SnapshotLimited.summary());
                }
                let is_known = self.record.warnings.iter().any(|warning| warning.code == Code::SecretInFileName);
                if taken.hidden > 0 && !is_known {
                    record::warn(&mut self.record, Code::SecretInFileName, Code::SecretInFileName.summary());
                }
            }
            Err(error) => record::warn(&mut self.record, Code::SnapshotFailed, error.to_string()),
        }
    }
}

/// The wall clock in nanoseconds, as files are dated.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
