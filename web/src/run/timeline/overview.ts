// The strip below the lanes: the whole run in small, and the piece of it that is in view.
import type { Drawn } from "./draw.ts";
import type { Bins } from "./lanes.ts";
import type { Palette } from "./palette.ts";
import { type View, xOf } from "./scale.ts";

export const OVERVIEW = 24;

export interface Overview {
  readonly width: number;
  readonly whole: View;
  readonly view: View;
  readonly bins: Bins;
  readonly attempts: readonly Drawn[];
  readonly palette: Palette;
}

export function drawOverview(canvas: CanvasRenderingContext2D, { width, whole, view, bins, attempts, palette: { tones } }: Overview): void {
  canvas.clearRect(0, 0, width, OVERVIEW);
  canvas.fillStyle = tones.sunken;
  canvas.fillRect(0, 0, width, OVERVIEW);
  for (const { from, to, isBad } of attempts) {
    const x = xOf(whole, width, from);
    canvas.fillStyle = isBad ? tones["bad-soft"] : tones["busy-soft"];
    canvas.fillRect(x, 0, Math.max(1, xOf(whole, width, to) - x), OVERVIEW);
  }
  const { columns, counts, worst } = bins;
  const lanes = counts.length / columns;
  const sums = new Uint32Array(columns);
  const levels = new Uint8Array(columns);
  for (let place = 0; place < counts.length; place += 1) {
    sums[place % columns]! += counts[place]!;
    levels[place % columns] = Math.max(levels[place % columns]!, worst[place]!);
  }
  const most = lanes > 0 ? sums.reduce((one, other) => Math.max(one, other), 1) : 1;
  for (let column = 0; column < columns; column += 1) {
    const sum = sums[column] ?? 0;
    if (sum === 0) continue;
    const tall = 3 + (OVERVIEW - 7) * (Math.log(1 + sum) / Math.log(1 + most));
    canvas.fillStyle = levels[column] === 2 ? tones.bad : levels[column] === 1 ? tones.warn : tones.calm;
    canvas.fillRect((column * width) / columns, OVERVIEW - tall, Math.max(1, width / columns), tall);
  }
  if (view.from <= whole.from && view.to >= whole.to) return;
  const [left, right] = [xOf(whole, width, view.from), xOf(whole, width, view.to)];
  canvas.fillStyle = tones.ink;
  canvas.globalAlpha = 0.12;
  canvas.fillRect(0, 0, left, OVERVIEW);
  canvas.fillRect(right, 0, width - right, OVERVIEW);
  canvas.globalAlpha = 1;
  canvas.strokeStyle = tones.accent;
  canvas.lineWidth = 2;
  canvas.strokeRect(left + 1, 1, Math.max(2, right - left - 2), OVERVIEW - 2);
}
