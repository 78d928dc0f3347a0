import { DAY_MS } from "../../kit/time.ts";
import type { LevelState } from "../tenancy/policy.ts";

/** The European Economic Area: the EU, Iceland, Liechtenstein and Norway, but not Switzerland. */
export const EEA: ReadonlySet<string> = new Set(
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK".split(" "),
);

export type LevelMeaning = {
  readonly level: LevelState;
  readonly name: string;
  readonly meaning: string;
  /** Requirements of the level; each level includes those below it. */
  readonly needs: string;
};

/** Lowest level first, then the unclassified state. */
export const LEVEL_MEANINGS: readonly LevelMeaning[] = [
  {
    level: "L0",
    name: "Foreign jurisdiction",
    meaning: "Served under third-country law, outside EU/EEA guarantees",
    needs:
      "Nothing: the operator is based in or controlled from a third country, and no EEA-only location is documented.",
  },
  {
    level: "L1",
    name: "EU/EEA location",
    meaning: "Inference runs on EU/EEA soil",
    needs: "The provider documents that this deployment infers only in the listed countries, all of them in the EEA.",
  },
  {
    level: "L2",
    name: "EU/EEA operation plus certification",
    meaning: "EU/EEA operation plus certification",
    needs: "L1, the operator's own legal seat in the EEA, and at least one named certificate.",
  },
  {
    level: "L3",
    name: "EU/EEA ownership and control",
    meaning: "EU/EEA ownership and control of the serving operator",
    needs: "L2, ultimate ownership in the EEA, and EEA control of the computers in the inference path.",
  },
  {
    level: "L4",
    name: "Full sovereignty",
    meaning: "Full sovereignty, no exceptions",
    needs: "L3 without any exception. It is never derived from other facts.",
  },
  {
    level: "UNCLASSIFIED",
    name: "Not yet assessed",
    meaning: "Not yet assessed (a data-quality state, not a rung)",
    needs: "It does not meet any floor, not even L0.",
  },
];

const EVIDENCE_DAYS_MAX = 180;

export function isStale(read: string, nowMs: number): boolean {
  return Date.parse(isoDay(nowMs)) - Date.parse(read) > EVIDENCE_DAYS_MAX * DAY_MS;
}

export function isoDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}
