export * from "./client.js";
export { ProblemError } from "./problem.js";
export { type SseEvent, SseParser } from "./sse.js";
export type { FollowOptions, RunsItem, StreamItem } from "./stream.js";
export * from "./turns.js";
export * from "./types.js";
