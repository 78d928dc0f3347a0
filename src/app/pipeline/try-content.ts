import { Fault } from "../../contract/faults.ts";
import type { Detectors } from "../../domain/data-classes/custom-class.ts";
import type { Finding } from "../../domain/data-classes/finding.ts";
import { findInText, Reading } from "../../domain/data-classes/reading.ts";
import type { DataClassRules, Treatment } from "../../domain/tenancy/data-class-rules.ts";
import { LEVELS, type LevelState, levelRank, OPEN_POLICY, type Policy } from "../../domain/tenancy/policy.ts";
import { inTurns } from "../../kit/in-turns.ts";
import { ContentInspection } from "./content-inspection.ts";
import { describeTreatments } from "./guard-content.ts";

type TriedFinding = {
  readonly class: string;
  readonly detector: string;
  readonly label: string;
  readonly confidence: "high" | "low";
  readonly offset: number;
  readonly length: number;
};

type TriedLevel = {
  readonly level: LevelState;
  readonly allowed: boolean;
  readonly reason: string | null;
  readonly action: string | null;
  readonly text: string | null;
};

export type TriedContent = {
  readonly findings: readonly TriedFinding[];
  readonly counts: Readonly<Record<string, number>>;
  readonly levels: readonly TriedLevel[];
};

type TrialDetectors = {
  readonly detectors: Detectors;
  readonly readExternally: (inspection: ContentInspection) => Promise<void>;
};

const STATES: readonly LevelState[] = ["UNCLASSIFIED", ...LEVELS];
const CONVERSATION = "trial";

/** What rules make of a text, for endpoints of each level. Nothing of it is kept. */
export async function tryContent(
  text: string,
  rules: DataClassRules,
  { detectors, readExternally }: TrialDetectors,
  key: Buffer,
): Promise<TriedContent> {
  const inspection = new ContentInspection({ text }, detectors);
  await inspection.finish();
  if (inspection.external.length > 0) await readExternally(inspection);
  const found: readonly Finding[] = [
    ...(await inTurns(findInText(new Reading(text), detectors))),
    ...inspection.detections.filter(({ from }) => (from.original ?? from.text) === text),
  ];
  const findings = found
    .toSorted((a, b) => a.start - b.start)
    .map(({ kind, start, end }) => ({
      class: kind.class,
      detector: kind.id,
      label: kind.label,
      confidence: kind.confidence,
      offset: start,
      length: end - start,
    }));
  const floor = floorFor(inspection, rules);
  const levels: TriedLevel[] = [];
  for (const level of STATES) {
    if (floor instanceof Fault || isBelow(level, floor)) {
      const reason =
        floor instanceof Fault ? floor.message : `below the floor ${String(floor.floor)}${floor.floorNote ?? ""}`;
      levels.push({ level, allowed: false, reason, action: null, text: null });
      continue;
    }
    const treatments = inspection.treatmentsAt(rules, level);
    const received = treatments.size === 0 ? text : await treatedText(inspection, text, treatments, key);
    levels.push({ level, allowed: true, reason: null, action: describeTreatments(treatments), text: received });
  }
  return { findings, counts: inspection.counts, levels };
}

function floorFor(inspection: ContentInspection, rules: DataClassRules): Policy | Fault {
  try {
    return inspection.apply(OPEN_POLICY, rules);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function isBelow(level: LevelState, { floor }: Policy): boolean {
  return floor !== null && levelRank(level) < levelRank(floor);
}

async function treatedText(
  inspection: ContentInspection,
  text: string,
  treatments: ReadonlyMap<string, Treatment>,
  key: Buffer,
): Promise<string> {
  const standIns = await inspection.standIns(key, CONVERSATION);
  const body = await inspection.replaceIn(JSON.stringify(text), treatments, standIns, false);
  return typeof body === "string" ? String(JSON.parse(body)) : "";
}
