// Puts the timeline on a canvas. Everything it needs is given; nothing is computed here but where to paint.
import type { Category } from "../outline.ts";
import { type Bar, ROWS } from "./bars.ts";
import type { Bins, Lane } from "./lanes.ts";
import type { Placed } from "./notes.ts";
import type { Palette } from "./palette.ts";
import { type View, xOf } from "./scale.ts";
import type { Band } from "./spans.ts";

export const AXIS = 20;
export const ATTEMPT = 22;
export const NOTES = 18;
export const LANE = 24;
export const LANES_TOP = AXIS + ATTEMPT + NOTES;

export function heightOf(lanes: number): number {
  return LANES_TOP + lanes * LANE;
}

/** The lane at a height, if one is there. */
export function laneAt(y: number, lanes: number): number | undefined {
  const lane = Math.floor((y - LANES_TOP) / LANE);
  return lane >= 0 && lane < lanes ? lane : undefined;
}

/** The row of bars at a height in its lane. */
export function rowAt(y: number): number {
  const inLane = (((y - LANES_TOP) % LANE) + LANE) % LANE;
  return Math.min(ROWS - 1, Math.max(0, Math.floor((inLane - 2) / BAR_STEP)));
}

const BAR_STEP = (LANE - 4) / ROWS;

/** An attempt, with the words for it. */
export interface Drawn {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly isBad: boolean;
}

export interface Scene {
  readonly width: number;
  readonly view: View;
  /** The end of things that are still in progress. */
  readonly end: number;
  readonly lanes: readonly Lane[];
  readonly bins: Bins;
  readonly mask: Uint8Array;
  readonly bars: readonly Bar[];
  readonly attempts: readonly Drawn[];
  readonly bands: readonly Band[];
  readonly notes: readonly Placed[];
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  readonly selected: { readonly at: number; readonly lane: number | undefined } | undefined;
  readonly moment: number | undefined;
  readonly palette: Palette;
}

type Canvas = CanvasRenderingContext2D;

export function draw(canvas: Canvas, scene: Scene): void {
  const { width, palette: { tones, font } } = scene;
  const height = heightOf(scene.lanes.length);
  canvas.clearRect(0, 0, width, height);
  canvas.font = `11px ${font}`;
  canvas.textBaseline = "middle";
  drawGround(canvas, scene, height);
  for (const band of scene.bands) drawBand(canvas, scene, band, height);
  drawTicks(canvas, scene, height);
  drawAttempts(canvas, scene);
  drawNotes(canvas, scene);
  scene.lanes.forEach((lane, index) => drawLane(canvas, scene, lane, index));
  const { selected, moment } = scene;
  if (selected) {
    line(canvas, scene, selected.at, tones.accent, height, []);
    if (selected.lane !== undefined) ring(canvas, xOf(scene.view, width, selected.at), LANES_TOP + (selected.lane + 0.5) * LANE, tones.accent);
  }
  if (moment !== undefined) {
    line(canvas, scene, moment, tones.ink, height, [4, 3]);
    handle(canvas, xOf(scene.view, width, moment), tones.ink);
  }
}

function drawGround(canvas: Canvas, { width, view, attempts, lanes, palette: { tones } }: Scene, height: number): void {
  canvas.fillStyle = tones.sunken;
  canvas.fillRect(0, AXIS, width, height - AXIS);
  canvas.fillStyle = tones.surface;
  for (const { from, to } of attempts) {
    const x = xOf(view, width, from);
    canvas.fillRect(x, AXIS, Math.max(1, xOf(view, width, to) - x), height - AXIS);
  }
  canvas.fillStyle = tones.line;
  for (let lane = 0; lane <= lanes.length; lane += 1) canvas.fillRect(0, LANES_TOP + lane * LANE - 1, width, 1);
}

function drawBand(canvas: Canvas, { width, view, palette: { tones } }: Scene, { kind, from, to }: Band, height: number): void {
  const left = Math.max(-20, xOf(view, width, from));
  const right = Math.min(width + 20, Math.max(xOf(view, width, to), xOf(view, width, from) + 3));
  if (right < 0 || left > width) return;
  const isGrave = kind !== "silence";
  canvas.save();
  canvas.beginPath();
  canvas.rect(left, LANES_TOP, right - left, height - LANES_TOP);
  canvas.clip();
  canvas.fillStyle = isGrave ? tones["bad-soft"] : tones["warn-soft"];
  canvas.fillRect(left, LANES_TOP, right - left, height - LANES_TOP);
  canvas.strokeStyle = isGrave ? tones.bad : tones.warn;
  canvas.globalAlpha = 0.35;
  canvas.lineWidth = 1;
  canvas.beginPath();
  const tall = height - LANES_TOP;
  for (let x = left - tall; x < right; x += 9) {
    canvas.moveTo(x, height);
    canvas.lineTo(x + tall, LANES_TOP);
  }
  canvas.stroke();
  canvas.restore();
  // A foot in the row of the notes ties the words to the piece.
  canvas.fillStyle = isGrave ? tones.bad : tones.warn;
  canvas.fillRect(left, LANES_TOP - 3, right - left, 2);
}

function drawTicks(canvas: Canvas, { width, view, ticks, palette: { tones } }: Scene, height: number): void {
  canvas.textAlign = "left";
  for (const { at, label } of ticks) {
    const x = Math.round(xOf(view, width, at));
    canvas.fillStyle = tones.line;
    canvas.fillRect(x, 0, 1, height);
    canvas.fillStyle = tones["ink-soft"];
    if (x + 4 + canvas.measureText(label).width <= width) canvas.fillText(label, x + 4, AXIS / 2);
  }
}

function drawAttempts(canvas: Canvas, { width, view, attempts, palette: { tones } }: Scene): void {
  canvas.textAlign = "left";
  for (const { from, to, label, isBad } of attempts) {
    const left = Math.max(-2, xOf(view, width, from));
    const right = Math.min(width + 2, Math.max(left + 3, xOf(view, width, to)));
    if (right < 0 || left > width) continue;
    canvas.fillStyle = isBad ? tones["bad-soft"] : tones["busy-soft"];
    canvas.strokeStyle = isBad ? tones.bad : tones.busy;
    canvas.lineWidth = 1;
    canvas.beginPath();
    canvas.roundRect(left + 0.5, AXIS + 2.5, Math.max(2, right - left - 1), ATTEMPT - 5, 3);
    canvas.fill();
    canvas.stroke();
    const text = fitting(canvas, label, right - left - 10);
    canvas.fillStyle = isBad ? tones.bad : tones.ink;
    if (text) canvas.fillText(text, left + 6, AXIS + ATTEMPT / 2);
  }
}

/** As much of a label as there is room for: all of it, its first word, or nothing. */
function fitting(canvas: Canvas, label: string, room: number): string {
  const short = label.split(" · ")[0] ?? "";
  return [label, short, short.replace(/\D+/g, "")].find((text) => canvas.measureText(text).width <= room) ?? "";
}

function drawNotes(canvas: Canvas, { notes, palette: { tones } }: Scene): void {
  canvas.textAlign = "left";
  for (const { kind, x, text } of notes) {
    canvas.fillStyle = kind === "silence" || kind === "waits" ? tones.warn : kind === "next" ? tones["ink-soft"] : tones.bad;
    canvas.fillText(text, x, AXIS + ATTEMPT + NOTES / 2 - 1);
  }
}

function drawLane(canvas: Canvas, scene: Scene, { category }: Lane, index: number): void {
  const top = LANES_TOP + index * LANE;
  const hasBars = category === "tool" || category === "interaction";
  if (hasBars) drawBars(canvas, scene, category, top);
  const { columns, counts, worst, most } = scene.bins;
  const full = most[index] ?? 0;
  const { tones, lanes } = scene.palette;
  const step = scene.width / columns;
  let lastMark = -Infinity;
  for (let column = 0; column < columns; column += 1) {
    const place = index * columns + column;
    const count = counts[place] ?? 0;
    if (count === 0) continue;
    const level = worst[place] ?? 0;
    const x = column * step;
    if (!hasBars) {
      const part = full > 1 ? 0.4 + 0.6 * (Math.log(1 + count) / Math.log(1 + full)) : 0.6;
      const tall = (LANE - 7) * part;
      canvas.fillStyle = level === 2 ? tones.bad : level === 1 ? tones.warn : lanes[category];
      canvas.fillRect(x, top + (LANE - tall) / 2, Math.max(step, 1.5), tall);
    }
    if (level > 0 && x - lastMark >= 5) {
      mark(canvas, level, x + step / 2, top, level === 2 ? tones.bad : tones.warn, tones.surface);
      lastMark = x;
    }
  }
}

function drawBars(canvas: Canvas, scene: Scene, category: Category, top: number): void {
  const { width, view, end, mask, bars, palette: { tones, lanes } } = scene;
  const kind = category === "tool" ? "tool" : "question";
  // Where the last bar of each row ends: what would be painted on one pixel again and again is painted once.
  const painted = new Array<number>(ROWS).fill(-Infinity);
  for (const bar of bars) {
    if (bar.kind !== kind || !(mask[bar.first - 1] || (bar.last !== undefined && mask[bar.last - 1]))) continue;
    const from = xOf(view, width, bar.from);
    const to = Math.max(xOf(view, width, bar.to ?? end), from + 2);
    const isTrouble = bar.ending === "failed" || bar.ending === "expired";
    if (to < 0 || from > width || (!isTrouble && to <= (painted[bar.row] ?? 0))) continue;
    painted[bar.row] = to;
    const [left, right] = [Math.max(-4, from), Math.min(width + 4, to)];
    const y = top + 2 + bar.row * BAR_STEP;
    canvas.fillStyle = bar.ending === "failed" ? tones.bad : lanes[category];
    canvas.globalAlpha = bar.ending === "open" ? 0.35 : 0.9;
    canvas.fillRect(left, y, right - left, BAR_STEP - 1.5);
    canvas.globalAlpha = 1;
    if (right - left < 6 || bar.ending === "done" || bar.ending === "answered") continue;
    // Not ended, failed, and decided without a person differ in shape as well: open on the right, crossed, notched.
    canvas.fillStyle = tones.surface;
    switch (bar.ending) {
      case "open":
        canvas.fillStyle = lanes[category];
        canvas.fillRect(left, y, right - left, 1);
        canvas.fillRect(left, y + BAR_STEP - 2.5, right - left, 1);
        break;
      case "failed":
      case "expired":
        canvas.fillRect(right - 5, y, 1.5, BAR_STEP - 1.5);
        canvas.fillRect(right - 2.5, y, 1, BAR_STEP - 1.5);
        break;
      case "decided":
        canvas.fillRect(right - 4, y, 1.5, BAR_STEP - 1.5);
        break;
    }
  }
}

/** A warning is a triangle, an error a diamond. */
function mark(canvas: Canvas, level: number, x: number, top: number, colour: string, edge: string): void {
  const y = top + LANE - 6;
  canvas.beginPath();
  if (level === 2) {
    canvas.moveTo(x, y - 5.5);
    canvas.lineTo(x + 5, y);
    canvas.lineTo(x, y + 5.5);
    canvas.lineTo(x - 5, y);
  } else {
    canvas.moveTo(x, y - 5);
    canvas.lineTo(x + 5, y + 4);
    canvas.lineTo(x - 5, y + 4);
  }
  canvas.closePath();
  canvas.fillStyle = colour;
  canvas.strokeStyle = edge;
  canvas.lineWidth = 1;
  canvas.fill();
  canvas.stroke();
}

function line(canvas: Canvas, { width, view }: Scene, at: number, colour: string, height: number, dash: number[]): void {
  const x = Math.round(xOf(view, width, at));
  canvas.save();
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.setLineDash(dash);
  canvas.beginPath();
  canvas.moveTo(x, AXIS - 4);
  canvas.lineTo(x, height);
  canvas.stroke();
  canvas.restore();
}

function ring(canvas: Canvas, x: number, y: number, colour: string): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 2;
  canvas.beginPath();
  canvas.arc(x, y, 7, 0, 2 * Math.PI);
  canvas.stroke();
}

function handle(canvas: Canvas, x: number, colour: string): void {
  canvas.fillStyle = colour;
  canvas.beginPath();
  canvas.moveTo(x - 5, AXIS - 12);
  canvas.lineTo(x + 5, AXIS - 12);
  canvas.lineTo(x + 5, AXIS - 7);
  canvas.lineTo(x, AXIS - 1);
  canvas.lineTo(x - 5, AXIS - 7);
  canvas.fill();
}
