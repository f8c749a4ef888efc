// How the page is built: one script for everything; what is loaded when it is asked for is the terminal and Chinese.
import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";
import { wordsApart } from "./scripts/words-apart.ts";

const client = fileURLToPath(new URL("../clients/typescript/src/index.ts", import.meta.url));
const schemas = fileURLToPath(new URL("../schemas", import.meta.url));

export default defineConfig({
  plugins: [wordsApart(fileURLToPath(new URL("src", import.meta.url))), svelte()],
  resolve: { alias: { "@skillrun/client": client, "@schemas": schemas } },
  build: { target: "es2023", assetsInlineLimit: 0, chunkSizeWarningLimit: 700, rolldownOptions: { checks: { pluginTimings: false } } },
  server: {
    // For work on the page: SKILLRUN_URL is where a server listens, SKILLRUN_TOKEN what lets us in.
    proxy: { "/v1": toServer(), "/docs": toServer() },
    fs: { allow: [".."] },
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});

function toServer(): ProxyOptions {
  return {
    target: process.env["SKILLRUN_URL"] ?? "http://127.0.0.1:7420",
    changeOrigin: true,
    configure: (proxy) => {
      proxy.on("proxyReq", (request) => {
        // The server trusts no other origin than its own.
        request.removeHeader("origin");
        request.setHeader("authorization", `Bearer ${process.env["SKILLRUN_TOKEN"] ?? ""}`);
      });
    },
  };
}
