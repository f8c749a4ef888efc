//! Which run has the result of which request. Where nothing that can change a result differs, and the user asks for it,
//! the result of an earlier run is used again.
//!
//! ```text
//! cache/<key>    the id of a run; the key is blake3 over the canonical JSON of the request, in hexadecimal
//! ```
//!
//! An entry is a hint: before it is used, the run itself is checked: it must still exist, have succeeded, and have that
//! key.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value, json};
use skillrun_base::files;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_model::confinement::BoxChoice;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{ExecutionMode, RunId, RunStatus};

use crate::artifacts::{Root, open_plain};
use crate::data_folder::{DataFolder, RunFolder};
use crate::record::{EngineRecord, RunRecord, RunRequest, SkillRecord, Workspace};
use crate::result;
use crate::retention::{RetentionStatus, ending};

/// Part of every key: a change of the method gives different keys.
const VERSION: &str = "skillrun cache 1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey(blake3::Hash);

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl CacheKey {
    /// The key of a request, whose files are in `inputs`. None where a result must not be reused: the result of an
    /// interactive run, or of a run in a folder of the user's or a copy, does not depend on the request alone.
    pub fn of(record: &RunRecord, inputs: &Path) -> io::Result<Option<Self>> {
        let RunRecord { skill, engine, request, redact_patterns, skillrun, .. } = record;
        match (request.mode, &request.workspace) {
            (ExecutionMode::Auto, Workspace::Own) => {}
            (ExecutionMode::Interactive | ExecutionMode::Conversation, _)
            | (_, Workspace::Folder { .. } | Workspace::Copy(_)) => {
                return Ok(None);
            }
        }
        if request.workflow.is_some() {
            // Steps have results of their own, which a later run of the workflow may take over.
            return Ok(None);
        }
        let inputs = Files { root: Root::open(inputs) };
        let parts = json!({
            "skillrun": skillrun,
            "redact_patterns": redact_patterns,
            "skill": skill.as_ref().map(skill_part),
            "engine": engine_part(engine),
            "request": request_part(request, &inputs)?,
        });
        let mut hasher = blake3::Hasher::new();
        hasher.update(VERSION.as_bytes());
        hasher.update(canonical(parts).to_string().as_bytes());
        Ok(Some(Self(hasher.finalize())))
    }
}

// Every field is named, so that a new field cannot be added without deciding whether it can change a result.

fn skill_part(skill: &SkillRecord) -> Value {
    let SkillRecord { name, version, source: _, hash, layers_hash } = skill;
    json!({"name": name, "version": version, "hash": hash, "layers_hash": layers_hash})
}

fn engine_part(engine: &EngineRecord) -> Value {
    let EngineRecord {
        name,
        program,
        interpreter: _,
        version,
        profile,
        profile_version,
        continuation: _,
        posture,
        login: _,
    } = engine;
    json!({
        "name": name,
        "program": program,
        "version": version,
        "profile": profile,
        "profile_version": profile_version,
        "posture": posture,
    })
}

fn request_part(request: &RunRequest, inputs: &Files) -> io::Result<Value> {
    let RunRequest {
        prompt,
        // The result of a workflow is not used again; `CacheKey::of` has none for it.
        workflow: _,
        reuses: _,
        mode,
        input,
        parameter,
        files,
        workspace: _,
        home,
        permission,
        confinement,
        network,
        allow_hosts,
        // They decide whether there is a result, not which.
        limits: _,
        workspace_settings,
        model,
        effort,
        script,
        timeouts,
        max_bytes,
        // Of interactive runs.
        interactive_require_user_reply: _,
        session_timeout_sec: _,
        idle_sec: _,
        auto_decision_limit: _,
        default_decision_policy: _,
        max_attempt,
        require_marker,
        snapshot,
        env,
        secrets,
        mcp_servers,
        priority: _,
        // Only a run that succeeded is used again.
        retry: _,
        delegation,
        checks,
        // Of steps, whose results are not used again in this way.
        artifacts: _,
        request_id: _,
    } = request;
    let mut contents = Map::new();
    for (slot, name) in files {
        // The engine sees the name.
        contents.insert(slot.clone(), json!([name, inputs.hash(name)?]));
    }
    let script = script.as_ref().map(|name| inputs.hash(name)).transpose()?;
    let mut part = json!({
        "mode": mode,
        "input": input,
        "parameter": parameter,
        "files": contents,
        "home": home,
        "permission": permission,
        "model": model,
        "effort": effort,
        "script": script,
        "timeouts": timeouts,
        "max_bytes": max_bytes,
        "max_attempt": max_attempt,
        "snapshot": snapshot,
        "env": env,
        "secrets": secrets,
    });
    // A result without a marker does not count for a request that requires one. Left out where nothing is required, so
    // that results of earlier versions are still found.
    if *require_marker {
        part["require_marker"] = json!(true);
    }
    if *confinement != BoxChoice::Off {
        part["box"] = json!(confinement);
        part["network"] = json!(network);
        part["allow_hosts"] = json!(allow_hosts);
    }
    if *workspace_settings != WorkspaceSettings::Ignore {
        part["workspace_settings"] = json!(workspace_settings);
    }
    if !mcp_servers.is_empty() {
        part["mcp_servers"] = json!(mcp_servers);
    }
    if let Some(prompt) = prompt {
        part["prompt"] = json!(prompt);
    }
    if let Some(delegation) = delegation {
        part["delegation"] = json!(delegation);
    }
    if !checks.is_empty() {
        part["checks"] = json!(checks);
    }
    Ok(part)
}

/// Files that came with a request. The folder need not exist when there are none.
struct Files {
    root: io::Result<Root>,
}

impl Files {
    fn hash(&self, name: &str) -> io::Result<String> {
        let root = self.root.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
        // Without a size limit: it was accepted.
        let mut budget = u64::MAX;
        root.hash(Path::new(name), &mut budget).map(|(_, hash)| hash)
    }
}

/// Keys in order, at every depth.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().map(|(k, v)| (k, canonical(v))).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

/// The run whose result can be used. An entry that does not hold counts as none.
pub fn lookup(data: &DataFolder, key: &CacheKey) -> Option<RunId> {
    let run = noted(&data.cache().join(key.to_string()))?;
    holds(&data.run(run), run, key).then_some(run)
}

/// Records that a run has the result of this request. It is a view: losing it costs only time.
pub fn remember(data: &DataFolder, key: &CacheKey, run: RunId) -> io::Result<()> {
    files::create_private_folder(&data.cache())?;
    whole_file::replace_with(&data.cache().join(key.to_string()), format!("{run}\n").as_bytes(), SyncLevel::Nothing)
}

/// The run that an entry names.
pub(crate) fn noted(entry: &Path) -> Option<RunId> {
    let mut text = String::new();
    open_plain(entry).ok()?.take(64).read_to_string(&mut text).ok()?;
    text.trim_end().parse().ok()
}

fn holds(folder: &RunFolder, run: RunId, key: &CacheKey) -> bool {
    // The Log decides whether it succeeded; a result is written before the last event is.
    let succeeded = ending(folder).is_ok_and(|ending| ending.standing == RetentionStatus::Succeeded);
    let Ok(record) = RunRecord::read(&folder.record()) else { return false };
    let same = record.run_id == run && CacheKey::of(&record, &folder.inputs()).is_ok_and(|own| own == Some(*key));
    let Ok(Some(result)) = result::read(folder) else { return false };
    let Ok(workspace) = Root::open(&folder.workspace()) else { return false };
    let is_there = |path: &str, size: u64| {
        let file = workspace.artifact(Path::new(path)).and_then(|file| file.metadata());
        file.is_ok_and(|file| file.len() == size)
    };
    let complete = result.artifacts.iter().all(|artifact| is_there(&artifact.path, artifact.size));
    succeeded && same && result.status == RunStatus::Succeeded && complete
}
