// A key that makes a request safe to send again. `randomUUID` is not there on pages that come over plain HTTP from
// another machine; random bytes are.

export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
