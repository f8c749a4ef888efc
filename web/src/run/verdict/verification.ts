// A verification in words.
import type { Verification } from "@skillrun/client";
import { defineWords } from "../../words/words.ts";

type Check = Verification["checks"][number];

export const outcomeWords = defineWords({
  same: { en: "same", zh: "一致" },
  different: { en: "different", zh: "不一致" },
  changed_since: { en: "changed since", zh: "此后有改动" },
  not_comparable: { en: "not comparable", zh: "无法比较" },
  missing: { en: "missing", zh: "缺失" },
});

export const checkWords = defineWords({
  log: { en: "the Log itself", zh: "日志本身" },
  chain: { en: "the Log, against its chain of hashes", zh: "日志的哈希链" },
  head: { en: "the Log, against the given head", zh: "日志与所给的链头" },
  record: { en: "run.json, against the Log", zh: "run.json（依据日志）" },
  skill: { en: "copy of the skill, against run.json", zh: "技能副本（依据 run.json）" },
  inputs: { en: "input files, against run.json and the Log", zh: "输入文件（依据 run.json 与日志）" },
  evidence_files: { en: "evidence files, against the hashes of the host", zh: "证据文件（依据宿主记录的哈希）" },
  evidence_events: { en: "events, against the evidence", zh: "事件（依据证据）" },
  coverage: { en: "every byte belongs to an event", zh: "每个字节都有对应事件" },
  verdict: { en: "verdict, against the evidence", zh: "判定（依据证据）" },
  large_output: { en: "output outside of the Log, against the evidence", zh: "日志之外的输出（依据证据）" },
  meta: { en: "meta file, against the host and the Log", zh: "meta 文件（依据宿主与日志）" },
  run_checks: { en: "evidence of checks, against the hosts and the Log", zh: "检查的证据，对照主机记录与日志" },
  artifacts: { en: "artifacts, against the Log", zh: "产物（依据日志）" },
  result: { en: "result.json, against the Log", zh: "result.json（依据日志）" },
  conversation: { en: "fcmp.jsonl, against the Log", zh: "fcmp.jsonl（依据日志）" },
  diagnostics: { en: "parser_diagnostics.jsonl, against the Log", zh: "parser_diagnostics.jsonl（依据日志）" },
});

/** The detail of a check whose outcome is not "same". */
export function detailOf(check: Check): string {
  switch (check.outcome) {
    case "same":
      return "";
    case "different":
      return check.difference;
    case "changed_since":
      return check.what_changed;
    case "not_comparable":
    case "missing":
      return check.why;
  }
}

/** Whether something is wrong: what is made later, and what cannot be compared, is not. */
export function isBad(check: Check): boolean {
  return check.outcome === "different" || (check.outcome === "missing" && check.absence === "lost");
}
