// Light or dark: as the system prefers, unless the user has chosen.

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "skillrun.theme";

function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

class Look {
  theme = $state<Theme>(kept());

  choose(theme: Theme): void {
    this.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // A browser may forbid it; then nothing is kept.
    }
  }
}

export const look = new Look();
