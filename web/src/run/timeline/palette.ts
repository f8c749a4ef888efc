// The colours of the page as a canvas needs them: a canvas does not know the names in tokens.css.
import { CATEGORIES, type Category } from "../outline.ts";

const TONES = ["ink", "ink-soft", "surface", "sunken", "line", "line-strong", "accent", "bad", "bad-soft", "warn", "warn-soft", "calm", "calm-soft", "busy", "busy-soft"] as const;
export type Tone = (typeof TONES)[number];

export interface Palette {
  readonly tones: Readonly<Record<Tone, string>>;
  readonly lanes: Readonly<Record<Category, string>>;
  readonly font: string;
}

/** Reads them off an element, because names that differ by light and dark have a value only where they are used. */
export function paletteOf(element: HTMLElement): Palette {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const style = getComputedStyle(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return style.color;
  };
  const tones = Object.fromEntries(TONES.map((tone) => [tone, read(tone)])) as Record<Tone, string>;
  const lanes = Object.fromEntries(CATEGORIES.map((category) => [category, read(`lane-${category}`)])) as Record<Category, string>;
  const font = style.fontFamily;
  probe.remove();
  return { tones, lanes, font };
}
