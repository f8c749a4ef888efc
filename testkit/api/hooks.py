"""What schemathesis may not do while it tries the service: work in folders of this machine, call addresses, or wait long.

It loads this file before it begins.
"""

import os
from pathlib import Path

import schemathesis

# A folder of the server that is tried.
WORKSPACE = os.environ["API_CHECK_WORKSPACE"]
# Refused by the server before anything is sent.
ADDRESS = "http://127.0.0.1:9/"
# The folder of runs, and those of them that have ended.
RUNS = Path(os.environ["API_CHECK_RUNS"])
RUNS_OVER = os.environ["API_CHECK_RUNS_OVER"].split()
STREAMS = ("/v1/runs/{run_id}/events", "/v1/runs/{run_id}/chat")
# Seconds that a request may ask to be kept waiting.
WAIT = 2


@schemathesis.hook
def before_call(context, case, kwargs):
    """Requests stay as right or wrong as they were."""
    wait = case.query.get("wait") if case.query else None
    if isinstance(wait, int) and WAIT < wait <= 600:
        case.query["wait"] = WAIT
    # It takes over ids from answers, and the stream of a run that is not over goes on as long as the run.
    run = (case.path_parameters or {}).get("run_id")
    if case.operation.path in STREAMS and isinstance(run, str) and run not in RUNS_OVER and is_run(run):
        case.path_parameters["run_id"] = RUNS_OVER[0]
    if not isinstance(case.body, dict):
        return
    workspace = case.body.get("workspace")
    if isinstance(workspace, dict) and str(workspace.get("path", "")).startswith("/"):
        workspace["path"] = WORKSPACE
    urls = case.body.get("webhooks")
    if isinstance(urls, list):
        case.body["webhooks"] = [ADDRESS if "://" in str(url) else url for url in urls]


def is_run(name):
    """Whether the server has this run. Made-up names may have anything in them."""
    return name.replace("-", "").isalnum() and (RUNS / name).is_dir()
