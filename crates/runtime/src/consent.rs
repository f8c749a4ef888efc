//! Engines that are not confined need the user's consent once. `consent.json` in the data folder lists the engines that
//! the user has agreed to by name; those of the setting `consent` count in addition. Consent is given and revoked per
//! engine, so that agreeing to a second engine never revokes the first.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_base::file_lock;
use skillrun_base::files;
use skillrun_base::whole_file;
use skillrun_engine::descriptor::Executable;
use skillrun_engine::{Descriptor, Permission, Posture};
use skillrun_model::Timestamp;
use skillrun_model::workflow::{StepCheck, StepTask, WorkflowOrigin, WorkflowPlan};
use skillrun_runs::data_folder::DataFolder;

#[cfg(test)]
mod tests;

const FORMAT: u32 = 1;

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The content of `consent.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ConsentFile {
    format: u32,
    /// By engine: when it was given.
    engines: BTreeMap<String, Timestamp>,
}

/// The consents that were given by name, and when.
pub fn given(data: &DataFolder) -> io::Result<BTreeMap<String, Timestamp>> {
    let Some(bytes) = files::if_exists(files::read(&data.consent(), MAX_BYTES))? else {
        return Ok(BTreeMap::new());
    };
    let file: ConsentFile = serde_json::from_slice(&bytes)?;
    Ok(file.engines)
}

/// Gives consent for an engine. False when it was given before.
pub fn give(data: &DataFolder, engine: &str, now: Timestamp) -> io::Result<bool> {
    change(data, |engines| match engines.contains_key(engine) {
        true => false,
        false => engines.insert(engine.to_owned(), now).is_none(),
    })
}

/// Takes consent for an engine back. False when there was none.
pub fn revoke(data: &DataFolder, engine: &str) -> io::Result<bool> {
    change(data, |engines| engines.remove(engine).is_some())
}

/// Two commands that change the file at the same time do so one after the other.
fn change(data: &DataFolder, change: impl FnOnce(&mut BTreeMap<String, Timestamp>) -> bool) -> io::Result<bool> {
    fs::create_dir_all(data.root())?;
    let lock = lock(data)?;
    let mut engines = given(data)?;
    let is_changed = change(&mut engines);
    if is_changed {
        let mut text = serde_json::to_vec_pretty(&ConsentFile { format: FORMAT, engines })?;
        text.push(b'\n');
        whole_file::replace(&data.consent(), &text)?;
    }
    drop(lock);
    Ok(is_changed)
}

fn lock(data: &DataFolder) -> io::Result<File> {
    let file = file_lock::open(&data.consent().with_extension("lock"))?;
    file_lock::lock(&file)?;
    Ok(file)
}

/// Permissions under which an engine needs consent. Engines that are part of this program need none.
pub fn needed_for(descriptor: &Descriptor) -> Vec<Permission> {
    let is_ours = matches!(descriptor.executable, Executable::Own);
    let is_free = |permission: &Permission| descriptor.permissions.rule(*permission).posture == Posture::NotEnforced;
    Permission::ALL.iter().copied().filter(|permission| !is_ours && is_free(permission)).collect()
}

/// The message wherever consent is missing: in commands, in the service and on the page.
pub fn sentence(engine: &str, permission: Permission) -> String {
    format!(
        "{engine} does not enforce the permission {}: it can do everything that your user account can do; agree once \
         with `skillrun consent {engine}`",
        permission.as_str()
    )
}

/// The name under which consent for the checks of a skill is given.
pub fn of_checks(skill: &str) -> String {
    format!("{CHECKS}{skill}")
}

/// Before the name of a skill whose checks are meant, and not an engine.
pub const CHECKS: &str = "check:";

/// The message wherever consent for the checks of a skill is missing.
pub fn checks_sentence(skill: &str) -> String {
    format!(
        "the skill {skill} has checks, which are commands that run with everything that your user account can do; agree \
         once with `skillrun consent {}`",
        of_checks(skill)
    )
}

/// Characters of the name of a workflow in its consent.
const WORKFLOW_NAME_MAX: usize = 64;

/// Digits of the hash in it.
const WORKFLOW_HASH_DIGITS: usize = 16;

/// The name under which consent for the checks of a workflow is given: those of a skill's workflow with those of the
/// skill, and those of a file with a hash of the checks, because any file can have any name. None: it has no checks, or
/// they came with the request of their author.
pub fn of_workflow(plan: &WorkflowPlan) -> Option<String> {
    let origin = plan.origin.as_ref()?;
    let mut checks = Vec::new();
    collect_checks(plan, "", &mut checks);
    if checks.is_empty() {
        return None;
    }
    Some(match origin {
        WorkflowOrigin::Skill(skill) => of_checks(skill),
        WorkflowOrigin::File => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            let plain = plan.name.chars().take(WORKFLOW_NAME_MAX).map(|c| if is_plain(c) { c } else { '-' });
            let name: String = plain.collect();
            let hash = blake3::hash(serde_json::to_string(&checks).unwrap_or_default().as_bytes()).to_hex();
            format!("{CHECKS}{name}{OF_FILE}{}", &hash[..WORKFLOW_HASH_DIGITS])
        }
    })
}

/// Between the name of a workflow and the hash of its checks.
pub const OF_FILE: char = '@';

/// The checks of all steps, also of those of the workflows inside, each with its step.
pub fn checks_of_steps(plan: &WorkflowPlan) -> Vec<(String, String)> {
    let mut checks = Vec::new();
    collect_checks(plan, "", &mut checks);
    checks.into_iter().map(|(step, check)| (step, check.command.clone())).collect()
}

fn collect_checks<'a>(plan: &'a WorkflowPlan, place: &str, checks: &mut Vec<(String, &'a StepCheck)>) {
    for step in &plan.steps {
        let name = format!("{place}{}", step.id);
        checks.extend(step.checks.iter().map(|check| (name.clone(), check)));
        if let StepTask::Workflow(nested) = &step.task {
            collect_checks(nested, &format!("{name}/"), checks);
        }
    }
}

/// The message wherever consent for the checks of a workflow is missing.
pub fn workflow_sentence(consent: &str) -> String {
    let name = consent.trim_start_matches(CHECKS);
    let name = name.split(OF_FILE).next().unwrap_or(name);
    format!(
        "the workflow {name} has checks, which are commands that run with everything that your user account can do and \
         which `skillrun workflow plan` lists; agree once with `skillrun consent {consent}`"
    )
}

/// Whether an engine has the consent that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EngineConsent {
    /// Permissions under which it is not confined; none when it needs no consent.
    pub needed_for: Vec<Permission>,
    pub given: bool,
    /// What to do where consent is needed and not given.
    pub advice: Option<String>,
}

impl EngineConsent {
    pub fn of(descriptor: &Descriptor, is_given: bool) -> Self {
        let needed_for = needed_for(descriptor);
        let missing = needed_for.first().filter(|_| !is_given);
        let advice = missing.map(|permission| sentence(descriptor.name.as_str(), *permission));
        Self { needed_for, given: is_given, advice }
    }
}
