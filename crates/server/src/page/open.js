// Takes the code from the link, which no server and no log has seen, and trades it for a session.
const state = document.getElementById("state");
const code = new URLSearchParams(location.hash.slice(1)).get("code");

async function open() {
  if (!code) {
    state.textContent = "This link has no code. Run `skillrun open` for a new one.";
    return;
  }
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/v1/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const problem = await answer.json().catch(() => ({}));
  state.textContent = problem.detail ?? "It could not be opened. Run `skillrun open` for a new link.";
}

open().catch(() => {
  state.textContent = "The server does not answer. Is it running?";
});
