//! Arguments of `skillrun consent`.

use super::Json;

#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Engines; without one, what was agreed to is listed
    #[arg(value_name = "ENGINE")]
    pub(crate) engine: Vec<String>,
    /// Agree without being asked, for scripts
    #[arg(long, requires = "engine", conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// Take the consent for these engines back
    #[arg(long, requires = "engine")]
    pub(crate) revoke: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

pub(crate) const CONSENT_HELP: &str = "\
An engine that does not keep to its permission can do everything that you may do.
It runs only after you have agreed to it, once. Engines in the setting `consent`
count as agreed to.

  skillrun consent claude
  skillrun consent claude gemini --yes
  skillrun consent --revoke claude
  skillrun consent
";
