//! Boxes that cannot be made: nothing starts, and the record states why.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use lab::host::{HostLab, start_host, steps};
use lab::wait_until;
use skillrun_collect::plan::HostPlan;
use skillrun_evidence::HostRecord;
use skillrun_model::{Code, EndedBy};

use super::{confined, mechanisms};

fn ran(lab: &HostLab, plan: &HostPlan) -> HostRecord {
    start_host(plan);
    wait_until("the record", || lab.has("host.1.json"));
    lab.record(1)
}

#[test]
fn a_folder_that_cannot_be_let_in_starts_nothing() {
    for mechanism in mechanisms() {
        let lab = HostLab::new();
        let mut plan = confined(&lab, &steps("file started x"), mechanism);
        plan.confinement.as_mut().expect("a box").writable.push(lab.path("missing").into());
        let record = ran(&lab, &plan);
        let error = record.error.expect("an error");
        assert_eq!((record.ended_by, record.pid, error.code), (Some(EndedBy::NotStarted), None, Code::HostError));
        let expected = format!("the box cannot be made: failed to find {} (", lab.path("missing").display());
        assert!(error.message.starts_with(&expected), "{mechanism}: {}", error.message);
        assert!(!lab.workspace().join("started").exists(), "{mechanism}");
    }
}

#[test]
fn a_program_outside_of_the_box_is_named() {
    for mechanism in mechanisms() {
        let lab = HostLab::new();
        std::fs::write(lab.path("tool"), "#!/bin/sh\necho x\n").expect("written");
        std::fs::set_permissions(lab.path("tool"), Permissions::from_mode(0o755)).expect("executable");
        let mut plan = confined(&lab, &[], mechanism);
        plan.argv = vec![lab.path("tool").into()];
        let record = ran(&lab, &plan);
        let error = record.error.expect("an error");
        assert_eq!((record.exit_code, error.code), (Some(126), Code::EngineNotStarted), "{mechanism}: {error:?}");
        assert!(!error.message.contains("interpreter was not found"), "{mechanism}: {}", error.message);
    }
}
