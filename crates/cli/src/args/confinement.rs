//! Flags of the box, of every command that makes a run.

use skillrun_model::confinement::{BoxChoice, HostPattern, NetworkAccess};

use super::parsers::words;

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(crate) struct BoxArgs {
    /// Start the processes of the run in a box: `on` enforces what this machine can enforce, `required` refuses a run for
    /// which it cannot enforce a part [default: the setting `box`]
    #[arg(long = "box", id = "box", value_name = "WHEN", value_parser = words(BoxChoice::ALL, BoxChoice::as_str))]
    confinement: Option<BoxChoice>,
    /// The same as `--box required`
    #[arg(long, conflicts_with = "box")]
    require_enforced: bool,
    /// What the processes of a run in a box reach over the network: everything, the model of the engine, the model and
    /// the hosts of `--allow-host`, or nothing [default: the setting `network`]
    #[arg(long, value_parser = words(NetworkAccess::ALL, NetworkAccess::as_str))]
    pub(crate) network: Option<NetworkAccess>,
    /// Another host that they reach, with `--network list`: a name, an address or *.NAME, and a port after a colon
    /// [default port: 443 and 80] (repeatable)
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allow_hosts: Vec<HostPattern>,
}

impl BoxArgs {
    pub(crate) fn choice(&self) -> Option<BoxChoice> {
        if self.require_enforced { Some(BoxChoice::Required) } else { self.confinement }
    }
}
