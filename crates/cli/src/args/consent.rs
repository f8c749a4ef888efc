//! Arguments of `skillrun consent`.

use super::Json;

#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Engines to consent to, or check:SKILL for the checks of a skill, check:NAME@HASH for those of a workflow; without one, the consents are listed
    #[arg(value_name = "ENGINE")]
    pub(crate) engine: Vec<String>,
    /// Give consent without a prompt, for scripts
    #[arg(long, requires = "engine", conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// Revoke the consent for these engines
    #[arg(long, requires = "engine")]
    pub(crate) revoke: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

pub(crate) const CONSENT_HELP: &str = "\
An engine that does not enforce its permission can do everything that your user
account can do. It runs only after you have consented to it once. Engines in the
setting `consent` count as consented to. The checks of a skill are commands that
run in the same way; `check:SKILL` is the consent for those of every skill with
that name, and `check:NAME@HASH`, which a refusal names, for exactly those of the
file of a workflow.

  skillrun consent claude
  skillrun consent claude gemini --yes
  skillrun consent check:tidy-up
  skillrun consent --revoke claude
  skillrun consent
";
