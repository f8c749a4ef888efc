// The box of a run in words: what is held by what, what is not held and why.
import type { BoxPart } from "@skillrun/client";
import { expect, test } from "vitest";
import { type Boxed, boxLine, isMissing, partsOf, sameBox } from "./box.ts";

const by = (part: string, mechanism: string): BoxPart => ({ part, state: "enforced", mechanism }) as BoxPart;
const open = (part: string, reason: string): BoxPart => ({ part, state: "not_enforced", reason }) as BoxPart;
const boxed = (parts: BoxPart[] | null, network: "open" | "none" = "open", box: "off" | "on" | "required" = "on"): Boxed => ({ box: parts && { parts }, options: { box, network, allow_hosts: [] } });

test.each<[string, Boxed, string | undefined]>([
  ["without a box", boxed(null, "open", "off"), undefined],
  ["everything held", boxed([by("files", "namespaces"), by("processes", "namespaces")]), "files, processes enforced by namespaces; network open"],
  ["no network", boxed([by("files", "namespaces"), by("network", "namespaces")], "none"), "files, network enforced by namespaces"],
  ["by two mechanisms", boxed([by("files", "landlock"), by("memory", "cgroup_v2")]), "files enforced by Landlock; memory enforced by cgroup v2; network open"],
  ["a part not held", boxed([by("files", "landlock"), open("processes", "x"), open("network", "y")], "none"), "files enforced by Landlock; processes, network not enforced"],
  ["nothing held", boxed([open("files", "full")]), "files not enforced; network open"],
  ["held by what is not said", boxed([{ part: "files", state: "enforced" }]), "files enforced by ?; network open"],
  ["a workflow", boxed(null), "in each step; network open"],
  ["a workflow without a network", boxed(null, "none", "required"), "in each step"],
])("the line of a box: %s", (_, request, line) => {
  expect(boxLine("en", request)).toBe(line);
});

test("the line in Chinese", () => {
  expect(boxLine("zh", boxed([by("files", "namespaces"), by("processes", "namespaces")]))).toBe("文件、进程由命名空间强制执行；网络开放");
});

test("a network that is not open is never called open", () => {
  expect(boxLine("en", boxed([open("network", "no UDP")], "none"))).toBe("network not enforced");
});

test("each part names its mechanism or its reason", () => {
  expect(partsOf("en", boxed([by("files", "namespaces"), open("processes", "no namespaces\u202e can be made")]))).toEqual([
    { part: "files", name: "files", isEnforced: true, because: "namespaces" },
    { part: "processes", name: "processes", isEnforced: false, because: "no namespaces⟨U+202E⟩ can be made" },
  ]);
  expect(partsOf("en", boxed(null))).toEqual([]);
});

test("names of a newer service are shown as they are, and no name of an object is a word", () => {
  expect(partsOf("zh", boxed([by("open_files", "counted"), by("constructor", "toString")])).map(({ name, because }) => [name, because])).toEqual([["open files", "counted"], ["constructor", "toString"]]);
});

test("a run that continues another one asks for the same box", () => {
  expect(sameBox(boxed([], "none", "required"))).toEqual({ options: { box: "required", network: "none", allow_hosts: [] } });
  expect(sameBox(boxed(null, "open", "off"))).toEqual({});
});

test("a part that is not held is missing", () => {
  expect(isMissing(boxed([by("files", "namespaces")]))).toBe(false);
  expect(isMissing(boxed([by("files", "namespaces"), open("network", "x")]))).toBe(true);
  expect(isMissing(boxed(null))).toBe(false);
});
