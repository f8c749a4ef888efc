//! The limits of a run: by what this machine holds each of them.

use skillrun_collect::limits::{self, LimitAbility};
use skillrun_model::confinement::BoxPart;
use skillrun_model::limits::{LimitMechanism, LimitName, ResourceLimits};

/// A part of the report for each limit.
pub fn parts(limits: ResourceLimits) -> Vec<BoxPart> {
    if limits.is_empty() {
        return Vec::new();
    }
    limits.names().map(|name| part(name, limits::ability())).collect()
}

fn part(name: LimitName, ability: &LimitAbility) -> BoxPart {
    match (name, &ability.watched) {
        (LimitName::Memory | LimitName::Processes, _) if ability.has_groups => {
            BoxPart::enforced(name.into(), LimitMechanism::Cgroup)
        }
        (_, Ok(())) => BoxPart::enforced(name.into(), LimitMechanism::Watched),
        // Folders can be measured without a list of processes.
        (LimitName::Disk, Err(_)) => BoxPart::enforced(name.into(), LimitMechanism::Watched),
        (_, Err(reason)) => BoxPart::not_enforced(name.into(), reason.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_mechanism_or_a_reason() {
        let able = LimitAbility { has_groups: true, watched: Ok(()) };
        let watched = LimitAbility { has_groups: false, watched: Ok(()) };
        let unable = LimitAbility { has_groups: false, watched: Err("there is no /proc".to_owned()) };
        let shown = |ability: &LimitAbility| {
            let parts = LimitName::ALL.iter().map(|name| part(*name, ability).to_string());
            parts.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            shown(&able),
            "memory enforced by cgroup; process_count enforced by cgroup; cpu enforced, watched by the host; \
             disk enforced, watched by the host"
        );
        assert_eq!(
            shown(&watched),
            "memory enforced, watched by the host; process_count enforced, watched by the host; \
             cpu enforced, watched by the host; disk enforced, watched by the host"
        );
        assert_eq!(
            shown(&unable),
            "memory not enforced: there is no /proc; process_count not enforced: there is no /proc; \
             cpu not enforced: there is no /proc; disk enforced, watched by the host"
        );
    }
}
