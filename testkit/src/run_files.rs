//! Files of a run of the scripted engine that was accepted at the epoch.

use serde_json::{Value, json};

/// `run.json`.
pub fn run_record(run_id: &str) -> Value {
    json!({
        "format": 1, "run_id": run_id, "created_at": "1970-01-01T00:00:00Z", "skillrun": "0.1.0", "translator": 1,
        "gate": 1,
        "skill": {"name": "demo", "version": null, "source": "demo", "hash": "aa", "layers_hash": "bb"},
        "engine": {
            "name": "scripted", "program": "skillrun", "version": null, "profile": "plain_text", "profile_version": 1,
            "continuation": "none", "posture": "enforced",
        },
        "request": {
            "mode": "auto", "input": {}, "parameter": {}, "files": {}, "workspace": "own", "home": "run",
            "permission": "workspace", "model": null, "effort": null, "script": null,
            "timeouts": {"hard_sec": 60.0, "stall_sec": 60.0, "linger_sec": null}, "max_bytes": 1,
            "interactive_require_user_reply": true, "session_timeout_sec": 1200.0, "auto_decision_limit": 10,
            "default_decision_policy": null, "max_attempt": null, "snapshot": "taken", "env": [], "secrets": [],
            "priority": 0, "request_id": null,
        },
    })
}

/// `result.json` of a run without an output.
pub fn run_result(run_id: &str, status: &str) -> Value {
    let moment = "1970-01-01T00:00:00.000000Z";
    json!({
        "run_id": run_id, "status": status, "output": null, "text": null, "warnings": [], "artifacts": [],
        "usage": null, "completion": null, "attempts": 1, "next_actions": [],
        "timing": {"created_at": moment, "started_at": null, "ended_at": moment, "elapsed_ms": 0},
    })
}
