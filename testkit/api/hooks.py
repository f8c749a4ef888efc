"""What schemathesis may not do while it tries the service: work in folders of this machine, call addresses, or wait long.

It loads this file before it begins.
"""

import os

import schemathesis

# A folder of the server that is tried.
WORKSPACE = os.environ["API_CHECK_WORKSPACE"]
# Refused by the server before anything is sent.
ADDRESS = "http://127.0.0.1:9/"
# Seconds that a request may ask to be kept waiting.
WAIT = 2


@schemathesis.hook
def before_call(context, case, kwargs):
    """Requests stay as right or wrong as they were."""
    wait = case.query.get("wait") if case.query else None
    if isinstance(wait, int) and WAIT < wait <= 600:
        case.query["wait"] = WAIT
    if not isinstance(case.body, dict):
        return
    workspace = case.body.get("workspace")
    if isinstance(workspace, dict) and str(workspace.get("path", "")).startswith("/"):
        workspace["path"] = WORKSPACE
    urls = case.body.get("webhooks")
    if isinstance(urls, list):
        case.body["webhooks"] = [ADDRESS if "://" in str(url) else url for url in urls]
