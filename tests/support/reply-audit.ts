import { isJsonObject } from "../../src/kit/json.ts";
import type { MemberRule } from "../../src/language/dialects/reply-members.ts";
import { keyOfLeaf, type ReplyCase, type ReplyLeaf } from "./reply-cases.ts";

/** Where a leaf is in the rules of its dialect, its path as it would be reported, and the variants on the way there. */
type LocatedLeaf = { readonly path: string; readonly rule: MemberRule | undefined; readonly variants: string };

function locate(rule: MemberRule, value: unknown, path: string): LocatedLeaf {
  return walk({ rule, value, reported: "", variants: "" }, path === "" ? [] : (path.match(/\[\]|[^.[\]]+/g) ?? []));
}

type Walk = {
  readonly rule: MemberRule | undefined;
  readonly value: unknown;
  readonly reported: string;
  readonly variants: string;
};

function walk({ rule, value, reported, variants }: Walk, steps: readonly string[]): LocatedLeaf {
  if (typeof rule === "object" && "at" in rule)
    return walk({ rule: rule.rule, value, reported: rule.at, variants }, steps);
  const [step, ...rest] = steps;
  if (step === "[]") {
    const inner = reported.endsWith("[]") ? reported : `${reported}[]`;
    return walk({ rule, value: Array.isArray(value) ? value[0] : undefined, reported: inner, variants }, rest);
  }
  if (rule === undefined || typeof rule === "string" || "place" in rule || "words" in rule)
    return {
      rule,
      variants,
      path: [reported, ...steps]
        .filter((part) => part !== "")
        .join(".")
        .replaceAll(".[]", "[]"),
    };
  const object = isJsonObject(value) ? value : {};
  if ("by" in rule) {
    const name = String(object[rule.by] ?? "");
    const variant = Object.hasOwn(rule.variants, name) ? rule.variants[name] : undefined;
    if (variant !== undefined) return walk({ rule: variant, value, reported, variants: `${variants} ${name}` }, steps);
    if (typeof value === "string") return { rule: "carried", path: reported, variants };
    return { rule: undefined, path: reported === "" ? name : `${reported}.${name}`, variants };
  }
  if (step === undefined) return { rule, path: reported, variants };
  if ("each" in rule) return walk({ rule: rule.each, value: object[step], reported: `${reported}[]`, variants }, rest);
  const inner = reported === "" ? step : `${reported}.${step}`;
  const known = Object.hasOwn(rule.members, step) ? rule.members[step] : undefined;
  return walk({ rule: known, value: object[step], reported: inner, variants }, rest);
}

/** Whether every step of the path, without its variants, leads to an exempt member. */
export function isExemptMember(rule: MemberRule): (path: string) => boolean {
  return (path) => locate(rule, undefined, path).rule === "exempt";
}

/** The cases without those whose leaves are all in members that earlier cases have and that are omitted as a whole. */
export function distinctCases(rule: MemberRule, cases: readonly ReplyCase[]): readonly ReplyCase[] {
  const seen = new Set<string>();
  return cases.filter(({ value, leaves }) => {
    const keys = leaves.map((leaf) => {
      const located = locate(rule, value, leaf.path);
      const isWhole = located.rule === undefined || located.rule === "omitted" || located.rule === "content";
      return isWhole ? `${located.path}${located.variants}` : keyOfLeaf(leaf);
    });
    const fresh = keys.filter((key) => !seen.has(key));
    for (const key of fresh) seen.add(key);
    return fresh.length > 0;
  });
}

/** The text before that of a case. */
export const FIRST_TEXT = "Hello.";

/** What a caller received of one case. */
export type AuditedReply = {
  readonly status: number;
  readonly text: string;
  /** From the header, or from the end of the stream. */
  readonly omitted: readonly string[];
  /** The provider's bytes are relayed, so its own words are in the text. */
  readonly isVerbatim: boolean;
};

export type AuditFigures = { carried: number; omitted: number; exempt: number; readonly silent: string[] };

export function newFigures(): AuditFigures {
  return { carried: 0, omitted: 0, exempt: 0, silent: [] };
}

/** Counts each leaf of a case as carried, named as omitted, or exempt; any other is silent. */
export function audit(
  rule: MemberRule,
  { value, leaves }: ReplyCase,
  reply: AuditedReply,
  figures: AuditFigures,
): void {
  for (const leaf of leaves) {
    const located = locate(rule, value, leaf.path);
    if (located.rule === "exempt") figures.exempt += 1;
    else if (isNamed(located.path, reply.omitted)) figures.omitted += 1;
    else if (reply.isVerbatim && isRelayed(leaf, reply.text)) figures.carried += 1;
    else if (isCarried(leaf, located.rule, reply.text) || isSummed(leaf, leaves, reply.text)) figures.carried += 1;
    else figures.silent.push(`${located.path} (${JSON.stringify(leaf.value)}) [${reply.omitted.join(" ")}]`);
  }
}

function isRelayed({ path, value, isWord }: ReplyLeaf, text: string): boolean {
  if (!isWord && typeof value !== "boolean") return false;
  const json = JSON.stringify(value);
  return path.endsWith("[]") ? text.includes(json) : text.includes(`"${path.split(".").at(-1)}":${json}`);
}

/** Dialects count caches and reasoning inside of a total or beside it. */
function isSummed({ path, value }: ReplyLeaf, leaves: readonly ReplyLeaf[], text: string): boolean {
  if (typeof value !== "number" || !/usage/i.test(path)) return false;
  const others = leaves.flatMap((leaf) => (typeof leaf.value === "number" && leaf.path !== path ? [leaf.value] : []));
  const sums = others.flatMap((one, at) => [one, ...others.slice(at + 1).map((other) => one + other)]);
  return sums.some((sum) => hasNumber(text, value + sum) || hasNumber(text, value - sum));
}

const hasNumber = (text: string, value: number) => new RegExp(`(?<![\\d.])${value}(?![\\d.])`).test(text);

function isNamed(path: string, omitted: readonly string[]): boolean {
  return omitted.some((named) => path === named || path.startsWith(`${named}.`) || path.startsWith(`${named}[`));
}

function isCarried({ value, isWord }: ReplyLeaf, rule: MemberRule | undefined, text: string): boolean {
  // A word with a meaning on every surface, such as a finish reason, may be another word there.
  if (isWord) return rule === "carried" || (typeof rule === "object" && ("words" in rule || "members" in rule));
  if (isJsonObject(value)) return text.includes(String(value["note"]));
  // Positions count from the start of the reply, which begins with another text.
  if (typeof value === "number") return hasNumber(text, value) || hasNumber(text, value + FIRST_TEXT.length);
  return typeof value === "string" && text.includes(value);
}
