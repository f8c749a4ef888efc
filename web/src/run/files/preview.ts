// What of a file can be shown: which kind it is by the media type the service gave it, and its bytes as text. A file
// is never shown as anything that could act; a picture made of markup is shown as its text.

export type PreviewKind = "markdown" | "json" | "text" | "image" | "none";

/** How much of a text is fetched and shown. */
export const MOST_TEXT = 256 * 1024;
/** A larger picture is for other programs. */
export const MOST_IMAGE = 16 * 1024 * 1024;

const IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Texts whose type does not say so by itself. */
const TEXTS: readonly string[] = [
  "application/jsonl", "application/sql", "application/toml", "application/xml", "application/yaml",
  "application/javascript",
];

export function previewKind(type: string): PreviewKind {
  const plain = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (plain === "text/markdown") return "markdown";
  if (plain === "application/json" || plain.endsWith("+json")) return "json";
  if (IMAGES.includes(plain)) return "image";
  if (plain.startsWith("text/") || plain.endsWith("+xml") || TEXTS.includes(plain)) return "text";
  return "none";
}

/** Where a file of a run is fetched from. */
export function artifactHref(run: string, path: string): string {
  return `/v1/runs/${encodeURIComponent(run)}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Result and files as a zip; with everything that was written, if so asked. */
export function bundleHref(run: string, isFull: boolean): string {
  return `/v1/runs/${encodeURIComponent(run)}/bundle${isFull ? "?full=true" : ""}`;
}

/** The bytes as text; `undefined` where they are none. A character that the end cuts in two is left out. */
export function asText(bytes: Uint8Array, isWhole: boolean): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}

export type Json = { readonly value: unknown };

/** The value that a text stands for, in a box, since it may be null. */
export function asJson(text: string): Json | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
