import type { ApiResponse, Args } from "../../api/client.ts";

type PolicyBody = NonNullable<Args<"manageChangePolicy">["body"]>;
export type ClassRules = NonNullable<PolicyBody["data_classes"]>;
export type ClassRule = ClassRules[string];
export type Trial = ApiResponse<"manageTryDataClasses">;
type Action = NonNullable<ClassRule["action"]>;
type Finding = Trial["findings"][number];

type ClassInfo = { readonly name: string; readonly description: string };

export const BUILT_IN: readonly ClassInfo[] = [
  { name: "personal", description: "Names, addresses, numbers and accounts of people." },
  { name: "secret", description: "Private keys, tokens, passwords." },
  { name: "special", description: "Health, religion and union membership, by words." },
  { name: "business", description: "Numbers of companies." },
  { name: "uninspected", description: "Images, audio and files, which are not read." },
];

export const ACTION_LABELS: Readonly<Record<Action, string>> = {
  report: "Report only",
  pseudonymise: "Pseudonymise",
  redact: "Redact",
  block: "Block",
};

/** Media are passed on unchanged or not at all. */
export const actionsOf = (name: string): readonly Action[] =>
  name === "uninspected" ? ["report", "block"] : ["report", "pseudonymise", "redact", "block"];

export const hasBound = (action: Action | undefined) => action !== undefined && action !== "report";

/** A rule that demands nothing is no rule. */
export function withRule(rules: ClassRules, name: string, { below, ...rule }: ClassRule): ClassRules {
  const { [name]: _before, ...others } = rules;
  const kept = below !== undefined && hasBound(rule.action) ? { ...rule, below } : rule;
  return Object.values(kept).every((value) => value === undefined) ? others : { ...others, [name]: kept };
}

/** The order of classes and members has no meaning. */
export const rulesText = (rules: ClassRules) =>
  JSON.stringify(
    Object.entries(rules)
      .map(([name, { floor, action, below, output }]) => [name, floor, action, below, output])
      .toSorted(([one], [other]) => String(one).localeCompare(String(other))),
  );

export type Segment = { readonly at: number; readonly text: string; readonly finding?: Finding };

/** The text with its findings; of overlapping ones the first. */
export function segmentsOf(text: string, findings: readonly Finding[]): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const finding of findings.toSorted((a, b) => a.offset - b.offset)) {
    const end = finding.offset + finding.length;
    if (finding.offset < at || end > text.length) continue;
    if (finding.offset > at) segments.push({ at, text: text.slice(at, finding.offset) });
    segments.push({ at: finding.offset, text: text.slice(finding.offset, end), finding });
    at = end;
  }
  return at < text.length ? [...segments, { at, text: text.slice(at) }] : segments;
}

type Received = Trial["levels"][number];
export type LevelGroup = Omit<Received, "level"> & { readonly levels: readonly Received["level"][] };

/** Levels that receive the same, in one group. */
export function groupsOf(levels: readonly Received[]): LevelGroup[] {
  const groups: LevelGroup[] = [];
  for (const { level, ...outcome } of levels) {
    const last = groups.at(-1);
    if (last !== undefined && last.text === outcome.text && last.reason === outcome.reason)
      groups[groups.length - 1] = { ...last, levels: [...last.levels, level] };
    else groups.push({ ...outcome, levels: [level] });
  }
  return groups;
}
