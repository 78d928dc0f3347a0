import { fault } from "../../contract/faults.ts";
import { Scan } from "../../domain/data-classes/scan.ts";
import { type DataClassRules, judgeDataClasses } from "../../domain/tenancy/data-class-rules.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import { isJsonObject } from "../../kit/json.ts";
import type { InferenceRequest } from "./inference-request.ts";
import type { RequestTrace } from "./record.ts";

/** What rules of data classes judge of a request. */
export type InspectedRequest = {
  /** Absent where the content is gone: a replay. */
  readonly content?: () => unknown;
  /** The same, inspected already or on first use. */
  inspection?: ContentInspection | undefined;
};

/** Where data of a class was found first; never the data. */
type Place = { readonly detector: string; readonly path: string; readonly offset: number };

const CLASSES: ReadonlySet<string> = new Set(["personal", "special", "secret", "business"]);
/** About two milliseconds of work, after which other requests get their turn. */
const TURN_CHARS = 65_536;

/** Finds the data classes in the content of one request, on first use and once. */
export class ContentInspection {
  readonly #counts: Record<string, number> = {};
  readonly #places = new Map<string, Place>();
  readonly #work: Generator<undefined, void>;

  constructor(content: unknown) {
    this.#work = this.#inspect(content);
  }

  /** Inspects in turns, so that a long request keeps no other one waiting. */
  async finish(): Promise<void> {
    while (this.#work.next().done !== true) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Findings by class; inspects what is left at once. */
  get counts(): Readonly<Record<string, number>> {
    while (this.#work.next().done !== true);
    return this.#counts;
  }

  /** The policy with what the rules demand for this content. Throws when a class may be processed nowhere. */
  apply(policy: Policy, rules: DataClassRules): Policy {
    const { floor, blocked } = judgeDataClasses(rules, Object.keys(this.counts));
    const place = blocked === undefined ? undefined : this.#places.get(blocked);
    if (place !== undefined)
      throw fault("data_class_not_permitted", {
        message: `The request contains data of the class "${blocked}" (${place.detector}) at ${place.path}, offset ${place.offset}, which the rule data_classes.${blocked} blocks.`,
        param: place.path,
      });
    return floor === null ? policy : tightenPolicy(policy, { floor });
  }

  *#inspect(content: unknown): Generator<undefined, void> {
    let chars = 0;
    for (const [text, path] of textsIn(content, "")) {
      const scan = new Scan(text, { classes: CLASSES });
      for (let more = true; more; ) {
        more = scan.next();
        chars += more ? Scan.sliceChars : Math.min(text.length, Scan.sliceChars);
        if (chars < TURN_CHARS) continue;
        chars = 0;
        yield;
      }
      for (const { kind, start } of scan.findings()) {
        this.#counts[kind.class] = (this.#counts[kind.class] ?? 0) + 1;
        if (!this.#places.has(kind.class)) this.#places.set(kind.class, { detector: kind.id, path, offset: start });
      }
    }
  }
}

/** The policy of a request with what rules of data classes demand for its content; one inspection serves every later check. */
export function judgeContent(policy: Policy, rules: DataClassRules, request: InspectedRequest): Policy {
  if (request.content !== undefined) request.inspection ??= new ContentInspection(request.content());
  return request.inspection?.apply(policy, rules) ?? policy;
}

/** What a request with rules in force contains, before it is planned. */
export async function inspectContent(request: Pick<InferenceRequest, "content">): Promise<ContentInspection> {
  const inspection = new ContentInspection(request.content());
  await inspection.finish();
  return inspection;
}

/** Notes classes and counts for the log and the response's header. */
export function traceInspection(trace: RequestTrace, { counts }: ContentInspection): void {
  trace.dataClasses = counts;
  if (Object.keys(counts).length > 0) trace.detail = { ...trace.detail, data_classes: counts };
}

/** `personal=3,secret=1`; `none` when nothing was found. */
export function dataClassesText(counts: Readonly<Record<string, number>>): string {
  const found = Object.entries(counts).map(([name, count]) => `${name}=${count}`);
  return found.length === 0 ? "none" : found.toSorted().join(",");
}

const PLAIN_NAME = /^[A-Za-z_]{1,32}$/;

/** Every string with its path, names of members included. Parsing bounds the depth. */
function* textsIn(value: unknown, path: string): Generator<readonly [text: string, path: string]> {
  if (typeof value === "string") yield [value, path];
  else if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* textsIn(item, `${path}[${at}]`);
  else if (isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      yield [name, path];
      // A path is part of an error message: a name that could be data itself is not.
      const step = PLAIN_NAME.test(name) ? name : "*";
      yield* textsIn(item, path === "" ? step : `${path}.${step}`);
    }
  }
}
