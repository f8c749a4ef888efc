// Takes the code from the link, which no server and no log has seen, and exchanges it for a token of this browser. The
// token is kept in the storage of this origin, which other ports of the host cannot read, unlike a cookie.
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
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    state.textContent = body.detail ?? "The login failed. Run `skillrun open` for a new link.";
    return;
  }
  try {
    // The page reads it there, see web/src/service/session.ts.
    localStorage.setItem("skillrun.token", body.token);
  } catch {
    await fetch("/v1/session/end", { method: "POST", headers: { authorization: `Bearer ${body.token}` } });
    state.textContent = "This browser does not allow this page to store data. Allow it, then run `skillrun open` for a new link.";
    return;
  }
  location.replace("/");
}

open().catch(() => {
  state.textContent = "The server does not respond. Is it running?";
});
