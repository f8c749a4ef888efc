//! What the processes of an attempt may use.

use std::path::Path;

use skillrun_collect::plan::ResourcePlan;
use skillrun_evidence::OsText;
use skillrun_model::confinement::{BoxPartName, PartMechanism};
use skillrun_model::limits::LimitMechanism;
use skillrun_runs::record::{HomeChoice, RunRecord};

/// The limits for a process of a run. `workspace` and `home`: where it works. None: it has none.
pub(super) fn plan(record: &RunRecord, workspace: &Path, home: &Path) -> Option<ResourcePlan> {
    let limits = record.request.limits;
    if limits.is_empty() {
        return None;
    }
    let by_group = |part: &skillrun_model::confinement::BoxPart| {
        matches!(part.part, BoxPartName::Memory | BoxPartName::ProcessCount)
            && part.mechanism == Some(PartMechanism::Cgroup)
    };
    let report = record.confinement.as_ref();
    let has_group = report.is_some_and(|report| report.parts.iter().any(by_group));
    let mut folders = vec![OsText::from(workspace)];
    match record.request.home {
        HomeChoice::Run => folders.push(OsText::from(home)),
        // Of other programs, too; and it can be very large.
        HomeChoice::User => {}
    }
    let mechanism = if has_group { LimitMechanism::Cgroup } else { LimitMechanism::Watched };
    Some(ResourcePlan { limits, mechanism, folders })
}
