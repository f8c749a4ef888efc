//! Which parts of a box hold, from the request and the abilities of the machine. Pure.

use skillrun_model::confinement::{BoxMechanism, BoxPart, BoxPartName, BoxReport, NetworkAccess};
use skillrun_model::status::Permission;

use crate::abilities::Abilities;

/// What a run asks of its box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoxRequest {
    pub permission: Permission,
    pub network: NetworkAccess,
    /// The run has the HOME of the user, with everything in it.
    pub has_home_of_user: bool,
}

/// The first version of Landlock that covers truncation: before it, a file outside could be emptied.
const LANDLOCK_FILES: u32 = 3;

/// Why nothing is held with permission `full`.
const FULL: &str = "permission full allows everything that the user may do";

/// Why nothing is held with the HOME of the user.
const HOME: &str = "the run has the HOME of the user, and every file in it";
/// Limits are held by the host, with and without a box; it reports them.
const NO_LIMITS: &str = "a box has no limits of its own";

/// The report of a box. The files decide the mechanism; the network is reported if the request restricts it.
pub fn report(request: BoxRequest, abilities: &Abilities) -> BoxReport {
    let wants_network = request.network != NetworkAccess::Open;
    let names = [BoxPartName::Files, BoxPartName::Processes, BoxPartName::Network];
    let names = names.into_iter().filter(|name| *name != BoxPartName::Network || wants_network);
    let part = |name: BoxPartName| match request.permission {
        Permission::Full => BoxPart::not_enforced(name, FULL),
        Permission::Workspace | Permission::ReadOnly if request.has_home_of_user => BoxPart::not_enforced(name, HOME),
        Permission::Workspace | Permission::ReadOnly => held(name, abilities),
    };
    BoxReport { parts: names.map(part).collect(), reachable: Vec::new() }
}

fn held(name: BoxPartName, abilities: &Abilities) -> BoxPart {
    let no_namespaces = match (&abilities.namespaces, name) {
        (Ok(()), BoxPartName::Files | BoxPartName::Processes) => {
            return BoxPart::enforced(name, BoxMechanism::Namespaces);
        }
        (_, BoxPartName::Memory | BoxPartName::ProcessCount | BoxPartName::Cpu | BoxPartName::Disk) => {
            return BoxPart::not_enforced(name, NO_LIMITS);
        }
        (Ok(()), BoxPartName::Network) => match &abilities.network_namespace {
            Ok(()) => return BoxPart::enforced(name, BoxMechanism::Namespaces),
            Err(reason) => return BoxPart::not_enforced(name, format!("no network namespace can be made ({reason})")),
        },
        (Err(reason), _) => format!("no namespaces can be made ({reason})"),
    };
    let reason = match (name, abilities.landlock) {
        (BoxPartName::Files, Some(version)) if version >= LANDLOCK_FILES => {
            return BoxPart::enforced(name, BoxMechanism::Landlock);
        }
        (_, None) => "this kernel has no Landlock".to_owned(),
        (BoxPartName::Files, Some(version)) => format!("version {version} of Landlock does not cover truncation"),
        (BoxPartName::Processes, Some(_)) => "Landlock leaves command lines of other processes readable".to_owned(),
        (BoxPartName::Network, Some(_)) => "Landlock restricts no UDP, and knows ports but no hosts".to_owned(),
        (BoxPartName::Memory | BoxPartName::ProcessCount | BoxPartName::Cpu | BoxPartName::Disk, Some(_)) => {
            NO_LIMITS.to_owned()
        }
    };
    BoxPart::not_enforced(name, format!("{no_namespaces}, and {reason}"))
}

#[cfg(test)]
mod tests {
    use skillrun_model::confinement::PartMechanism;

    use super::*;

    fn machine(namespaces: bool, network: bool, landlock: Option<u32>) -> Abilities {
        let able = |is: bool| if is { Ok(()) } else { Err("EPERM".to_owned()) };
        Abilities { namespaces: able(namespaces), network_namespace: able(network), landlock }
    }

    /// The report in one letter per part: namespaces, Landlock, or a dash.
    fn letters(permission: Permission, network: NetworkAccess, abilities: &Abilities) -> String {
        let report = report(BoxRequest { permission, network, has_home_of_user: false }, abilities);
        let letter = |part: &BoxPart| match part.mechanism {
            Some(PartMechanism::Namespaces) => 'N',
            Some(PartMechanism::Landlock) => 'L',
            Some(PartMechanism::Cgroup | PartMechanism::Watched) | None => '-',
        };
        report.parts.iter().map(letter).collect()
    }

    #[test]
    fn the_report_follows_from_the_machine_and_the_request() {
        use NetworkAccess::{None as Closed, Open};
        use Permission::{Full, ReadOnly, Workspace};
        let all = machine(true, true, Some(7));
        let rows = [
            (Workspace, Open, &all, "NN"),
            (Workspace, Closed, &all, "NNN"),
            (ReadOnly, Closed, &machine(true, false, None), "NN-"),
            (Workspace, Closed, &machine(false, false, Some(3)), "L--"),
            (Workspace, Open, &machine(false, false, Some(7)), "L-"),
            (Workspace, Open, &machine(false, false, Some(2)), "--"),
            (ReadOnly, Closed, &machine(false, false, None), "---"),
            (Full, Closed, &all, "---"),
        ];
        for (permission, network, machine, expected) in rows {
            assert_eq!(letters(permission, network, machine), expected, "{permission} {network} {machine:?}");
        }
    }

    #[test]
    fn nothing_is_held_with_the_home_of_the_user() {
        let request =
            BoxRequest { permission: Permission::Workspace, network: NetworkAccess::Open, has_home_of_user: true };
        let report = report(request, &machine(true, true, Some(7)));
        assert!(report.parts.iter().all(|part| part.reason.as_deref() == Some(HOME)), "{report}");
    }

    #[test]
    fn every_part_that_does_not_hold_has_a_reason() {
        let request =
            BoxRequest { permission: Permission::Workspace, network: NetworkAccess::None, has_home_of_user: false };
        for landlock in [None, Some(1), Some(7)] {
            let report = report(request, &machine(false, false, landlock));
            for part in report.parts.iter().filter(|part| part.mechanism.is_none()) {
                let reason = part.reason.as_deref().unwrap_or_default();
                assert!(reason.starts_with("no namespaces can be made (EPERM), and "), "{part}");
            }
        }
    }
}
