import type { Endpoint, Evidence, EvidenceSubject, Provider } from "./catalogue.ts";
import { EEA } from "./levels.ts";

/** The requirements of the levels: each level includes those below it. */
const CRITERIA = [
  { criterion: "location", level: "L1" },
  { criterion: "operator", level: "L2" },
  { criterion: "certification", level: "L2" },
  { criterion: "ownership", level: "L3" },
  { criterion: "infrastructure", level: "L3" },
] as const satisfies readonly { readonly criterion: EvidenceSubject; readonly level: string }[];

export type LevelCriterion = (typeof CRITERIA)[number] & {
  readonly met: "yes" | "no" | "unknown";
  /** What the catalogue records about it, such as the operator's name; null: nothing. */
  readonly fact: string | null;
  /** The statement that supports it; null: none is on record. */
  readonly evidence: Evidence | null;
};

/** Which requirements of the levels an endpoint meets, and the statement behind each. */
export function levelCriteria(
  { sovereignty }: Pick<Endpoint, "sovereignty">,
  provider: Provider,
): readonly LevelCriterion[] {
  const statements = [...sovereignty.evidence, ...provider.evidence];
  const met: Readonly<Record<LevelCriterion["criterion"], LevelCriterion["met"]>> = {
    location: meetsLocation(sovereignty),
    operator: provider.eeaOperated ? "yes" : "no",
    certification: provider.certifications.length > 0 ? "yes" : "unknown",
    ownership: provider.ownerEea ?? "unknown",
    infrastructure: provider.infrastructureEeaControlled ?? "unknown",
  };
  const facts: Readonly<Record<LevelCriterion["criterion"], string | null>> = {
    location: null,
    operator: provider.seatCountry === null ? provider.operator : `${provider.operator} (${provider.seatCountry})`,
    certification: provider.certifications.join(", ") || null,
    ownership: provider.ownership || null,
    infrastructure: null,
  };
  return CRITERIA.map((row) => ({
    ...row,
    met: met[row.criterion],
    fact: facts[row.criterion],
    evidence: statements.find(({ subject }) => subject === row.criterion) ?? null,
  }));
}

const STRENGTH: readonly Evidence["status"][] = ["doubtful", "claimed", "verified"];

/** The weakest statement among the requirements of the endpoint's level; undefined when one has no statement. */
export function weakestEvidence(endpoint: Pick<Endpoint, "sovereignty">, provider: Provider): Evidence | undefined {
  const { level } = endpoint.sovereignty;
  // Below L1 nothing is required; the location explains why the level is not higher.
  const required = level === "UNCLASSIFIED" || level === "L0" ? "L1" : level;
  const statements = levelCriteria(endpoint, provider)
    .filter((row) => row.level <= required)
    .map(({ evidence }) => evidence);
  if (statements.includes(null)) return undefined;
  return statements
    .filter((one) => one !== null)
    .toSorted((a, b) => STRENGTH.indexOf(a.status) - STRENGTH.indexOf(b.status))[0];
}

function meetsLocation({ countries, locationCommitted }: Endpoint["sovereignty"]): LevelCriterion["met"] {
  if (countries.some((country) => !EEA.has(country)) || locationCommitted === false) return "no";
  return countries.length > 0 && locationCommitted === true ? "yes" : "unknown";
}
