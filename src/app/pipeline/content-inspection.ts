import { type Fault, fault } from "../../contract/faults.ts";
import { type Detectors, shortestText } from "../../domain/data-classes/custom-class.ts";
import { embeddedText } from "../../domain/data-classes/embedded-text.ts";
import {
  type DetectedText,
  type Detection,
  type ExternalClass,
  jointsOf,
} from "../../domain/data-classes/external-detector.ts";
import type { Kind } from "../../domain/data-classes/kinds.ts";
import { KnownTextSets, KnownTexts } from "../../domain/data-classes/known-texts.ts";
import { OutputFilter } from "../../domain/data-classes/output-filter.ts";
import { PATTERN_CHARS_READ_MAX, PatternBudgetError, writingBudget } from "../../domain/data-classes/pattern.ts";
import { findIn, Reading, readingsOf } from "../../domain/data-classes/reading.ts";
import { replaceInJson, replaceInText, type Treat } from "../../domain/data-classes/replace.ts";
import { findSplitValues, JOINTS, TextRuns } from "../../domain/data-classes/split-values.ts";
import type { StandIns } from "../../domain/data-classes/stand-ins.ts";
import { isUninspected } from "../../domain/data-classes/uninspected.ts";
import {
  type DataClassRules,
  firstDemanding,
  judgeDataClasses,
  outputActions,
  type Reply,
  type Treatment,
  treatmentsAt,
  UNINSPECTED,
  unknownClass,
} from "../../domain/tenancy/data-class-rules.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import type { PolicySource } from "../../domain/tenancy/policy-sources.ts";
import type { UpstreamBody } from "../../io/upstream/transport.ts";
import { atOnce, inTurns } from "../../kit/in-turns.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { standInsFor, visibleTexts } from "./request-stand-ins.ts";

/** The rules of one layer of a request's policy, with those of the layers before it. */
export type RuleLayer = { readonly from: PolicySource; readonly rules: DataClassRules | undefined };
export type RuleLayers = () => readonly RuleLayer[];

const floorNote = (reply: Reply, rule: string) =>
  reply === "restorable"
    ? ` that the rule ${rule} sets`
    : ` of the rule ${rule}, below which the reply would have stand-ins that cannot be restored`;
const STRICTNESS = { none: 0, pseudonymise: 1, redact: 2 } as const;

/** Where data of a class was found first; never the data. */
type Place = { readonly detector: string; readonly path: string; readonly offset: number };

/** What a value costs besides its characters, measured in characters. */
const VALUE_CHARS = 16;
/** Shorter numbers identify no person. */
const SMALLEST_NUMBER = 10_000_000;

/** Finds the data classes in the content of one request, on first use and once. */
export class ContentInspection {
  readonly #counts: Record<string, number> = {};
  readonly #places = new Map<string, Place>();
  /** Every text that was found, as long as the request runs. */
  readonly #found = new Map<string, Kind>();
  readonly #work: Generator<number, void>;
  readonly #content: unknown;
  readonly #detectors: Detectors;
  readonly #shortest: number;
  #hasSplitValues = false;
  #standIns: Promise<StandIns> | undefined;
  #known: KnownTextSets | undefined;
  /** For external detectors: every different text, with where it was read first. */
  readonly #texts = new Map<string, DetectedText>();
  readonly #joints: DetectedText[] = [];
  /** What external detectors found, by class. */
  readonly #detected = new Map<string, Map<string, Kind>>();
  readonly #detections: Detection[] = [];
  /** Why an external detector did not read the request. */
  readonly #unread = new Map<string, Fault>();
  /** For the log: which external detectors were called, where they run and with what result. */
  readonly detectorCalls: Record<string, JsonObject> = {};

  constructor(content: unknown, detectors: Detectors) {
    this.#content = content;
    this.#detectors = detectors;
    this.#shortest = shortestText(detectors);
    this.#work = this.#inspectBounded(content);
  }

  /** Inspects in turns, so that a long request keeps no other one waiting. */
  finish(): Promise<void> {
    return inTurns(this.#work);
  }

  /** Findings by class; inspects what is left at once. */
  get counts(): Readonly<Record<string, number>> {
    atOnce(this.#work);
    return this.#counts;
  }

  /** The policy with what the rules demand for this content. Throws when a class may be processed nowhere. */
  apply(policy: Policy, rules: DataClassRules, reply: Reply = "restorable", layers: RuleLayers = () => []): Policy {
    const ruleOf = (name: string) => {
      const from = firstDemanding(layers(), name, reply)?.from;
      return `data_classes.${name}${from === undefined ? "" : ` of the ${from}`}`;
    };
    const { floor, floorOf, blocked } = judgeDataClasses(rules, Object.keys(this.counts), reply);
    const place = blocked === undefined ? undefined : this.#places.get(blocked);
    if (blocked !== undefined && place !== undefined)
      throw fault("data_class_not_permitted", {
        message: `The request contains data of the class "${blocked}" (${place.detector}) at ${place.path}, offset ${place.offset}, which the rule ${ruleOf(blocked)} blocks${reply === "restorable" ? "" : ", or pseudonymises where the reply could not be restored"}.`,
        param: place.path,
      });
    const { classes } = this.#detectors;
    const unknown = unknownClass(rules, { has: (name) => classes.has(name) || this.#detected.has(name) });
    const unread = unknown === undefined ? undefined : this.#unread.get(unknown);
    if (unread !== undefined) throw unread;
    if (unknown !== undefined)
      throw fault("data_class_not_permitted", {
        message: `The rule data_classes.${unknown} names a class that was not looked for in the request: neither this version of the gateway nor the workspace defines it, or the rule came into force while the request ran. Define the class, correct the rule, or send the request again.`,
      });
    const [changed] = [...outputActions(rules)].find(([, action]) => action !== "report") ?? [];
    if (reply === "with_logprobs" && changed !== undefined)
      throw fault("data_class_not_permitted", {
        message: `The rule data_classes.${changed} redacts or blocks data in replies, but log probabilities spell out the reply token by token. Omit the log probabilities, or the member "output" of the rule.`,
      });
    if (floor === null || floorOf === undefined) return policy;
    const judged = tightenPolicy(policy, { floor });
    return judged.floor === policy.floor ? judged : { ...judged, floorNote: floorNote(reply, ruleOf(floorOf)) };
  }

  /** Detectors that the texts have to be sent to. */
  get external(): readonly ExternalClass[] {
    return this.#detectors.external;
  }

  get #detectedTexts(): readonly DetectedText[] {
    return [...this.#texts.values(), ...this.#joints];
  }

  get detectedChars(): number {
    return this.#detectedTexts.reduce((sum, { text }) => sum + text.length, 0);
  }

  /**
   * The texts as a detector at an endpoint of this level may receive them: what would be replaced there is masked, character
   * for character. Undefined: a value is split over parts, which cannot be masked.
   */
  *textsFor(rules: DataClassRules, level: string): Generator<number, readonly DetectedText[] | undefined> {
    const treatments = this.treatmentsAt(rules, level);
    if (treatments.size === 0) return this.#detectedTexts;
    if (this.#hasSplitValues) return undefined;
    const treated = [...this.#found].filter(([, kind]) => treatments.has(kind.class));
    const known = yield* KnownTexts.build(new Map(treated));
    const masked: DetectedText[] = [];
    for (const one of this.#detectedTexts) {
      let text = "";
      let read = 0;
      for (const { start, end } of yield* known.in(one.text)) {
        if (end <= read) continue;
        const from = Math.max(read, start);
        text += one.text.slice(read, from) + MASK.repeat(end - from);
        read = end;
      }
      masked.push({ ...one, text: text + one.text.slice(read), original: one.text });
    }
    return masked;
  }

  /** What external detectors found. */
  get detections(): readonly Detection[] {
    return this.#detections;
  }

  /** Notes what an external detector found in all texts; its class counts as looked for from here on. */
  addDetected(name: string, detections: readonly Detection[]): void {
    const known = new Map<string, Kind>();
    const places = new Set<string>();
    for (const { from, start, end, kind } of detections) {
      const { joint } = from;
      const isSplit = joint !== undefined && start < joint && end > joint;
      // Inside one part the same value was found there.
      if (joint !== undefined && !isSplit) continue;
      const { original = from.text } = from;
      const value = original.slice(start, end);
      const pieces = isSplit ? [original.slice(start, joint), original.slice(joint, end)] : [value];
      this.#hasSplitValues ||= isSplit;
      known.set(value, kind);
      if (isSplit) for (const between of JOINTS) known.set(pieces.join(between), kind);
      places.add(`${from.path} ${start}`);
      if (!this.#places.has(name)) this.#places.set(name, { detector: kind.id, path: from.path, offset: start });
    }
    for (const [text, kind] of known) if (!this.#found.has(text)) this.#found.set(text, kind);
    this.#detected.set(name, known);
    this.#detections.push(...detections);
    if (places.size > 0) this.#counts[name] = (this.#counts[name] ?? 0) + places.size;
  }

  addUnread(name: string, reason: Fault): void {
    this.#unread.set(name, reason);
  }

  /** What has to be replaced before an endpoint of this level receives the request; empty: nothing. */
  treatmentsAt(rules: DataClassRules, level: string): ReadonlyMap<string, Treatment> {
    return treatmentsAt(rules, Object.keys(this.counts), level);
  }

  /** For a reply to this request; undefined: no rule reads it. */
  outputFilter(rules: DataClassRules): OutputFilter | undefined {
    const actions = outputActions(rules);
    if (actions.size === 0) return undefined;
    let known: ReadonlySet<string> | undefined;
    return new OutputFilter(this.#detectors, actions, (original) => {
      known ??= new Set([...this.#found.keys()].map(compared));
      return known.has(compared(original));
    });
  }

  /** For every text that was found, before it is replaced; the same at each attempt. */
  standIns(key: Buffer, conversation: string): Promise<StandIns> {
    this.#standIns ??= inTurns(standInsFor(this.#found, [...visibleTexts(this.#content)], { key, conversation }));
    return this.#standIns;
  }

  /** In turns; the body is JSON, or a form that replaces its own fields. `isEchoed`: the reply repeats texts of the request. */
  async replaceIn(
    body: UpstreamBody,
    treatments: ReadonlyMap<string, Treatment>,
    standIns: StandIns | undefined,
    isEchoed: boolean,
  ): Promise<UpstreamBody> {
    this.#known ??= await inTurns(KnownTextSets.build([this.#found, ...this.#detected.values()]));
    const treat: Treat = {
      detectors: { ...this.#detectors, budget: writingBudget() },
      known: this.#known,
      hasSplitValues: this.#hasSplitValues,
      strictness: (kind, original) => {
        // Signed reasoning of an earlier turn holds stand-ins of this conversation.
        if (standIns?.originals.has(original) === true) return 0;
        return STRICTNESS[treatments.get(kind.class) ?? "none"];
      },
      replacement: (kind, original) => {
        if (standIns !== undefined && treatments.get(kind.class) === "pseudonymise")
          return standIns.for(kind, original);
        return standIns !== undefined && isEchoed ? standIns.marker(kind, original) : `[${kind.label}]`;
      },
    };
    if (typeof body === "string") return inTurns(replaceInJson(body, treat));
    if (body.rewritten !== undefined) return body.rewritten((text) => atOnce(replaceInText(text, treat)));
    throw new Error("a body without text cannot be treated");
  }

  *#inspectBounded(content: unknown): Generator<number, void> {
    try {
      yield* this.#inspect(content);
    } catch (error) {
      if (!(error instanceof PatternBudgetError)) throw error;
      const patterns = this.#detectors.patterns.length;
      throw fault("request_too_large", {
        message: `The request has more text than the ${patterns} patterns of the workspace's data classes may read: ${PATTERN_CHARS_READ_MAX} characters, counted for each pattern. Send less text, or define fewer patterns; terms are not limited like this.`,
      });
    }
  }

  /** Every string, name of a member and long number. Parsing bounds the depth. */
  *#inspect(content: unknown): Generator<number, void> {
    const above: Container[] = [];
    let value = content;
    for (;;) {
      yield VALUE_CHARS;
      const text = textOf(value);
      if (text !== undefined && text.length >= this.#shortest) yield* this.#inspectText(text, () => pathOf(above));
      else if (typeof value === "object" && value !== null) {
        if (isJsonObject(value) && isUninspected(value)) this.#countUninspected(above);
        above.push(new Container(value));
      }
      let container = above.at(-1);
      while (container?.isRead) {
        yield* this.#inspectEdges(container, above);
        above.pop();
        container = above.at(-1);
      }
      if (container === undefined) return;
      value = container.next();
      const { name } = container;
      if (name === undefined) continue;
      yield VALUE_CHARS;
      if (name.length >= this.#shortest) yield* this.#inspectText(name, () => pathOf(above.slice(0, -1)));
    }
  }

  /** Values that are split over adjacent parts of a message, or are named in the part beside them. */
  *#inspectEdges({ runs }: Container, above: readonly Container[]): Generator<number, void> {
    for (const { at: first, texts } of runs.found) {
      const find = (text: string) => findIn([new Reading(text)], this.#detectors);
      if (this.external.length > 0)
        this.#joints.push(...jointsOf(texts, `${pathOf(above.slice(0, -1))}[${first}].text`));
      for (const { kind, at, offset, pieces } of yield* findSplitValues(texts, find)) {
        const value = pieces.join("");
        if (pieces.length === 1 && this.#found.has(value)) continue;
        this.#hasSplitValues ||= pieces.length > 1;
        this.#found.set(value, kind);
        if (pieces.length > 1) for (const joint of JOINTS) this.#found.set(pieces.join(joint), kind);
        this.#counts[kind.class] = (this.#counts[kind.class] ?? 0) + 1;
        if (!this.#places.has(kind.class))
          this.#places.set(kind.class, {
            detector: kind.id,
            path: `${pathOf(above.slice(0, -1))}[${first + at}].text`,
            offset,
          });
      }
    }
  }

  #countUninspected(above: readonly Container[]): void {
    this.#counts[UNINSPECTED] = (this.#counts[UNINSPECTED] ?? 0) + 1;
    if (!this.#places.has(UNINSPECTED))
      this.#places.set(UNINSPECTED, { detector: "an image, audio or file", path: pathOf(above), offset: 0 });
  }

  /** Of several readings of a text the one with the most findings of a class counts. */
  *#inspectText(text: string, path: () => string): Generator<number, void> {
    const embedded = embeddedText(text);
    if (embedded !== undefined) return yield* this.#inspectText(embedded.text, () => `${path()}.*`);
    const perReading = new Map<Reading, Record<string, number>>();
    const readings = yield* readingsOf(new Reading(text));
    const decoded = readings.at(-1)?.text ?? text;
    if (this.external.length > 0 && !this.#texts.has(decoded))
      this.#texts.set(decoded, { text: decoded, path: path() });
    for (const { kind, start, end, reading } of yield* findIn(readings, this.#detectors)) {
      yield VALUE_CHARS;
      const name = kind.class;
      const counts = perReading.get(reading) ?? {};
      counts[name] = (counts[name] ?? 0) + 1;
      perReading.set(reading, counts);
      this.#found.set(reading.text.slice(start, end), kind);
      if (!this.#places.has(name))
        this.#places.set(name, {
          detector: kind.id,
          path: reading.depth === 0 ? path() : `${path()}.*`,
          offset: start,
        });
    }
    const most: Record<string, number> = {};
    for (const counts of perReading.values())
      for (const [name, count] of Object.entries(counts)) most[name] = Math.max(count, most[name] ?? 0);
    for (const [name, count] of Object.entries(most)) this.#counts[name] = (this.#counts[name] ?? 0) + count;
  }
}

/** Takes the place of a character that an external detector may not receive. */
const MASK = "x";

/** A reply may write a number with other separators. */
const compared = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, "").toLowerCase();

const PLAIN_NAME = /^[A-Za-z_]{1,32}$/;

/** An object or array whose values are read one after the other. */
class Container {
  /** Objects are read by name: a list of their values would cost far more than their names. */
  readonly #object: JsonObject = {};
  readonly #items: readonly unknown[] = [];
  readonly #names: readonly string[] | undefined;
  readonly #length: number;
  readonly runs = new TextRuns();
  #at = -1;

  constructor(value: object) {
    if (isJsonObject(value)) {
      this.#object = value;
      this.#names = Object.keys(value);
    } else if (Array.isArray(value)) this.#items = value;
    this.#length = (this.#names ?? this.#items).length;
  }

  get isRead(): boolean {
    return this.#at + 1 >= this.#length;
  }

  next(): unknown {
    this.#at += 1;
    const { name } = this;
    if (name !== undefined) return this.#object[name];
    const item = this.#items[this.#at];
    this.runs.add(this.#at, item);
    return item;
  }

  /** Of the value that was read last. */
  get name(): string | undefined {
    return this.#names?.[this.#at];
  }

  /** A path is part of an error message: a name that could be data itself is not. */
  get step(): string {
    if (this.name === undefined) return `[${this.#at}]`;
    return PLAIN_NAME.test(this.name) ? `.${this.name}` : ".*";
  }
}

/** Of the value that the containers read last. */
function pathOf(above: readonly Container[]): string {
  const path = above.map(({ step }) => step).join("");
  return path.startsWith(".") ? path.slice(1) : path;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" && Math.abs(value) >= SMALLEST_NUMBER ? String(value) : undefined;
}
