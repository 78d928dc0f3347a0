import type { DataClassRule, DataClassRules } from "../../src/domain/tenancy/data-class-rules.ts";
import { LEVELS } from "../../src/domain/tenancy/policy.ts";
import type { Chance } from "./chance.ts";

const CLASSES = ["personal", "secret"] as const;
type DataClass = (typeof CLASSES)[number];

/** What a request contains of each class, different for every request. */
export type RequestData = { readonly [name in DataClass]?: string };

const RUNGS: Readonly<Record<string, number>> = { L0: 0, L1: 1, L2: 2, L3: 3, L4: 4 };
const isUnder = (level: string, bound: string) => (RUNGS[level] ?? -1) < (RUNGS[bound] ?? 5);

export function drawData(chance: Chance, no: number): RequestData {
  return {
    ...(chance.is(0.6) ? { personal: `person${no}@mail.example.eu` } : {}),
    ...(chance.is(0.3) ? { secret: `ghp_q8Zr2Lw0Vn7Tk5YxB3mD9cGhJ1pSfA4eR${String(no).padStart(3, "0")}` } : {}),
  };
}

/** Undefined: requests are not inspected. */
export function drawDataRules(chance: Chance, share: number): DataClassRules | undefined {
  const rules = chance.some(CLASSES, share).map((name): [string, DataClassRule] => [name, drawRule(chance)]);
  return rules.length === 0 ? undefined : Object.fromEntries(rules);
}

function drawRule(chance: Chance): DataClassRule {
  const action = chance.pick(["report", "pseudonymise", "redact", "redact", "pseudonymise", "block"] as const);
  const below = action === "report" || chance.is(0.3) ? {} : { below: chance.pick(LEVELS) };
  return { action, ...below, ...(chance.is(0.2) ? { floor: chance.pick(LEVELS) } : {}) };
}

/** Each layer is checked by itself, in the simplest form: why this level may not process the request. */
export function barredByData(rules: DataClassRules | undefined, data: RequestData, level: string): string | undefined {
  for (const name of CLASSES) {
    const rule = rules?.[name];
    if (rule === undefined || data[name] === undefined) continue;
    if (rule.floor !== undefined && isUnder(level, rule.floor)) return `${name} needs ${rule.floor}`;
    if (rule.action === "block" && (rule.below === undefined || isUnder(level, rule.below)))
      return `${name} is blocked`;
  }
  return undefined;
}

/** What this level must not see of the request. */
export function hiddenFrom(
  layers: readonly (DataClassRules | undefined)[],
  data: RequestData,
  level: string,
): string[] {
  return CLASSES.flatMap((name) => {
    const text = data[name];
    const isHidden = layers.some((rules) => {
      const { action, below } = rules?.[name] ?? {};
      const isChanged = action === "redact" || action === "pseudonymise";
      return isChanged && (below === undefined || isUnder(level, below));
    });
    return text === undefined || !isHidden ? [] : [text];
  });
}

/** Beside the mark; in some requests split over two parts. */
export function contentWith(text: string, data: RequestData, no: number): unknown {
  const values = Object.values(data).join(" and ");
  if (values === "" || no % 3 !== 0) return `${text}${values}`;
  const cut = 4 + (no % 9);
  return [
    { type: "text", text: `${text}${values.slice(0, cut)}` },
    { type: "text", text: values.slice(cut) },
  ];
}

/** As a provider that joins the parts of a message reads it. */
export const joinedParts = (body: string) => body.replaceAll(/"\},\{"type":"text","text":"/g, "");
