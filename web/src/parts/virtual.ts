// Which rows of a long list are drawn: those that can be seen, and a few around them.

export interface Drawn {
  /** The first row that is drawn, and the one after the last. */
  readonly from: number;
  readonly to: number;
}

/** Rows beyond each edge, so that scrolling shows no empty space. */
const AROUND = 12;

export function drawn(count: number, rowHeight: number, scrollTop: number, height: number): Drawn {
  const from = Math.max(0, Math.floor(scrollTop / rowHeight) - AROUND);
  const to = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + AROUND);
  return { from: Math.min(from, Math.max(0, count - 1)), to: Math.max(to, 0) };
}

/** Where to scroll so that a row can be seen; where one is if it can be seen already. */
export function scrollTo(row: number, rowHeight: number, scrollTop: number, height: number): number {
  const [top, bottom] = [row * rowHeight, (row + 1) * rowHeight];
  if (top >= scrollTop && bottom <= scrollTop + height) return scrollTop;
  return Math.max(0, top - Math.max(0, (height - rowHeight) / 2));
}
