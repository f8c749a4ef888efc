// The beginning of a file, fetched to be shown. No more of it is asked for than is shown.
import type { ArtifactList } from "@skillrun/client";
import { sentence, service } from "../../service/service.ts";
import { type Json, MOST_IMAGE, MOST_TEXT, type PreviewKind, asJson, asText, previewKind } from "./preview.ts";

export type Artifact = ArtifactList["artifacts"][number];

export type Look =
  | { readonly is: "loading" }
  | { readonly is: "none" }
  | { readonly is: "empty" }
  | { readonly is: "not_text" }
  | { readonly is: "image_large" }
  | { readonly is: "image"; readonly url: string }
  | { readonly is: "text"; readonly text: string; readonly isMarkdown: boolean; readonly isCut: boolean; readonly isBadJson: boolean }
  | { readonly is: "json"; readonly json: Json; readonly text: string }
  | { readonly is: "trouble"; readonly sentence: string };

export class LookIn {
  look = $state.raw<Look>({ is: "loading" });
  private readonly stop = new AbortController();
  private url: string | undefined;

  constructor(
    private readonly run: string,
    private readonly artifact: Artifact,
  ) {}

  async begin(): Promise<void> {
    try {
      this.look = await this.load(previewKind(this.artifact.type));
    } catch (error) {
      if (!this.stop.signal.aborted) this.look = { is: "trouble", sentence: sentence(error) };
    }
  }

  close(): void {
    this.stop.abort();
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = undefined;
  }

  private async load(kind: PreviewKind): Promise<Look> {
    switch (kind) {
      case "none":
        return { is: "none" };
      case "image": {
        if (this.artifact.size > MOST_IMAGE) return { is: "image_large" };
        const bytes = await this.bytes(MOST_IMAGE);
        if (this.stop.signal.aborted) return { is: "loading" };
        this.url = URL.createObjectURL(new Blob([bytes], { type: this.artifact.type }));
        return { is: "image", url: this.url };
      }
      case "markdown":
      case "json":
      case "text": {
        if (this.artifact.size === 0) return { is: "empty" };
        const isCut = this.artifact.size > MOST_TEXT;
        const text = asText(await this.bytes(MOST_TEXT), !isCut);
        if (text === undefined) return { is: "not_text" };
        const json = kind === "json" && !isCut ? asJson(text) : undefined;
        if (json) return { is: "json", json, text };
        return { is: "text", text, isMarkdown: kind === "markdown", isCut, isBadJson: kind === "json" && !isCut };
      }
    }
  }

  /** The file may be huge. */
  private async bytes(most: number): Promise<Uint8Array<ArrayBuffer>> {
    const start = await service.artifact(this.run, this.artifact.path, { most, signal: this.stop.signal });
    return new Uint8Array(await start.arrayBuffer()).slice(0, most);
  }
}
