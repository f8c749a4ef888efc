// The terminal on which a recording is played. It is display only: it accepts no input, and the recording cannot create
// links, copy, set a title or send queries. Loaded on demand.
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { unhidden } from "./cast.ts";
import type { Screen } from "./player.ts";

/** Strings to the terminal that do something: titles, folders, colours, links, pointers, notices, the clipboard. */
const STRINGS = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 19, 22, 50, 52, 99, 104, 110, 111, 112, 133, 633, 777, 1337];

export interface ShownTerminal extends Screen {
  paint(theme: ITheme): void;
  scroll(lines: number): void;
  dispose(): void;
}

export interface Wanted {
  readonly columns: number;
  readonly rows: number;
  readonly theme: ITheme;
  readonly font: string;
  readonly label: string;
}

export function openTerminal(host: HTMLElement, { columns, rows, theme, font, label }: Wanted): ShownTerminal {
  const terminal = new Terminal({
    cols: columns,
    rows,
    theme,
    fontFamily: font,
    fontSize: fitting(host.clientWidth, columns),
    scrollback: 2_000,
    disableStdin: true,
    allowProposedApi: false,
    windowOptions: {},
    linkHandler: { activate: () => undefined },
    cursorBlink: false,
    cursorInactiveStyle: "outline",
    // What is written in the colour of its ground can be read all the same.
    minimumContrastRatio: 4.5,
    logLevel: "off",
  });
  for (const number of STRINGS) terminal.parser.registerOscHandler(number, () => true);
  // Keys belong to the page, so that one can leave by keyboard.
  terminal.attachCustomKeyEventHandler(() => false);
  terminal.open(host);
  terminal.textarea?.setAttribute("tabindex", "-1");
  terminal.textarea?.setAttribute("aria-label", label);
  return {
    reset: () => terminal.reset(),
    write: (text, done) => terminal.write(unhidden(text), done),
    paint: (fresh) => (terminal.options.theme = fresh),
    scroll: (lines) => terminal.scrollLines(lines),
    dispose: () => terminal.dispose(),
  };
}

/** The largest size of letters with which all columns can be seen, as far as that can be read. */
function fitting(width: number, columns: number): number {
  const beside = 34;
  const perLetter = 0.602;
  return Math.min(14, Math.max(9, Math.floor(((width - beside) / columns / perLetter) * 2) / 2));
}

/** The colours of the page, as they are now, for a terminal. */
export function themeOf(host: HTMLElement): ITheme {
  const probe = document.createElement("span");
  host.append(probe);
  const colour = (token: string): string => {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  };
  const hues = { red: colour("bad"), green: colour("good"), yellow: colour("warn"), blue: colour("busy"), magenta: colour("lane-artifact"), cyan: colour("accent") };
  const theme: ITheme = {
    background: colour("sunken"), foreground: colour("ink"), cursor: colour("ink-soft"), cursorAccent: colour("sunken"), selectionBackground: colour("mark"),
    ...hues,
    black: colour("ink-soft"), white: colour("ink"), brightBlack: colour("ink-faint"), brightWhite: colour("ink"),
    brightRed: hues.red, brightGreen: hues.green, brightYellow: hues.yellow, brightBlue: hues.blue, brightMagenta: hues.magenta, brightCyan: hues.cyan,
  };
  probe.remove();
  return theme;
}
