// The token of this browser. It is kept in the storage of the page's origin, host and port: a cookie would be sent to
// every port of the host, and so to every other program that listens there. /open writes it, see open.js of the server.

/** Where it is kept, for all tabs of this origin. */
const KEY = "skillrun.token";

/** Where the browser keeps nothing, it is good until the page is left. */
let unkept: string | undefined;

export function sessionToken(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? unkept;
  } catch {
    return unkept;
  }
}

export function keepSession(token: string): void {
  unkept = token;
  try {
    localStorage.setItem(KEY, token);
  } catch {
    // It is in `unkept`.
  }
}

export function forgetSession(): void {
  unkept = undefined;
  try {
    localStorage.removeItem(KEY);
  } catch {
    // There was nothing.
  }
}

/** Calls when another tab was let in or has logged out. */
export function onSessionElsewhere(changed: () => void, signal: AbortSignal): void {
  const heard = ({ key }: StorageEvent): void => {
    // No key: all of the storage was cleared.
    if (key !== KEY && key !== null) return;
    unkept = undefined;
    changed();
  };
  window.addEventListener("storage", heard, { signal });
}
