// Pointer and wheel input on a canvas, reported as drags, clicks and turns.

export interface Drag {
  readonly x: number;
  readonly y: number;
  readonly isShift: boolean;
}

export interface Pointing {
  /** Begins a drag; the returned object receives each move, and the end. */
  begin(at: Drag): { move(x: number): void };
  /** Pressed and let go in one place. */
  click(at: Drag): void;
  hover(at: Drag | undefined): void;
  /** Turned; whether something came of it. */
  turn?(wheel: { x: number; near: number; aside: number }): boolean;
}

/** Below this it is a click with an unsteady hand. */
const STEADY = 4;
/** What one line and one page of a wheel are in pixels. */
const UNITS = [1, 16, 400] as const;

/** For `{@attach}`; the pointing is asked for each time, so that it may change. */
export function pointing(of: () => Pointing): (canvas: HTMLElement) => () => void {
  return (canvas) => {
    const stop = new AbortController();
    const options = { signal: stop.signal };
    let drag: { move(x: number): void } | undefined;
    let start: Drag | undefined;
    let isMoved = false;

    const place = (event: PointerEvent | WheelEvent): Drag => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top, isShift: event.shiftKey };
    };
    const end = (): void => {
      [drag, start, isMoved] = [undefined, undefined, false];
    };

    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      start = place(event);
      drag = of().begin(start);
    }, options);
    canvas.addEventListener("pointermove", (event) => {
      const at = place(event);
      if (!start) return of().hover(at);
      isMoved ||= Math.abs(at.x - start.x) > STEADY;
      if (isMoved) drag?.move(at.x);
    }, options);
    canvas.addEventListener("pointerup", (event) => {
      if (start && !isMoved) of().click(place(event));
      end();
    }, options);
    canvas.addEventListener("pointercancel", end, options);
    canvas.addEventListener("pointerleave", () => of().hover(undefined), options);
    canvas.addEventListener("wheel", (event) => {
      const unit = UNITS[event.deltaMode] ?? 1;
      const isAside = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const aside = isAside ? (event.deltaX || event.deltaY) * unit : 0;
      const isUsed = of().turn?.({ x: place(event).x, near: isAside ? 0 : -event.deltaY * unit, aside }) ?? false;
      // What does nothing here scrolls the page.
      if (isUsed || event.ctrlKey) event.preventDefault();
    }, { ...options, passive: false });
    return () => stop.abort();
  };
}
