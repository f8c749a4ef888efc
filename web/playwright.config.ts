// The browser tests: the distribution's Chromium against the program that was built last, each test with a server and
// a data folder of its own.
import { defineConfig } from "@playwright/test";

const isMeasuring = process.env["SKILLRUN_MEASURE"] === "1";

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  testMatch: "**/*.spec.ts",
  grep: isMeasuring ? /@measure/ : /.*/,
  workers: isMeasuring ? 1 : 2,
  fullyParallel: true,
  forbidOnly: true,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1440, height: 900 },
    locale: "en-GB",
    colorScheme: "light",
    trace: "off",
    launchOptions: {
      executablePath: process.env["SKILLRUN_CHROMIUM"] ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-precise-memory-info",
        "--js-flags=--expose-gc",
      ],
    },
  },
});
