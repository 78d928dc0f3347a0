import { fault } from "../../contract/faults.ts";
import { Scan } from "../../domain/data-classes/scan.ts";
import { type DataClassRules, judgeDataClasses } from "../../domain/tenancy/data-class-rules.ts";
import { type Policy, tightenPolicy } from "../../domain/tenancy/policy.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
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
/** What a value costs besides its characters, measured in characters: every one, and every one that is scanned. */
const VALUE_CHARS = 16;
const SCAN_CHARS = 112;
/** No detector finds anything in less. */
const SHORTEST_TEXT = 5;
/** Shorter numbers identify no person. */
const SMALLEST_NUMBER = 10_000_000;
/** How often JSON in a string in JSON is read. */
const NESTED_JSON_MAX = 4;

/** Finds the data classes in the content of one request, on first use and once. */
export class ContentInspection {
  readonly #counts: Record<string, number> = {};
  readonly #places = new Map<string, Place>();
  readonly #work: Generator<undefined, void>;
  /** Work of this turn. */
  #chars = 0;

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

  /** Every string, name of a member and long number. Parsing bounds the depth. */
  *#inspect(content: unknown): Generator<undefined, void> {
    const above: Container[] = [];
    let value = content;
    for (;;) {
      if (this.#spend(VALUE_CHARS)) yield;
      const text = textOf(value);
      if (text !== undefined && text.length >= SHORTEST_TEXT) yield* this.#inspectText(text, () => pathOf(above));
      else if (typeof value === "object" && value !== null) above.push(new Container(value));
      let container = above.at(-1);
      while (container?.isRead) {
        above.pop();
        container = above.at(-1);
      }
      if (container === undefined) return;
      value = container.next();
      const { name } = container;
      if (name === undefined) continue;
      if (this.#spend(VALUE_CHARS)) yield;
      if (name.length >= SHORTEST_TEXT) yield* this.#inspectText(name, () => pathOf(above.slice(0, -1)));
    }
  }

  /** A text of JSON is read as it stands and with its escapes decoded: each may hide what the other shows. */
  *#inspectText(text: string, path: () => string): Generator<undefined, void> {
    const most = new Map<string, number>();
    yield* this.#scan(text, most, path);
    if (text.includes("\\") && JSON_START.test(text)) {
      let read = text;
      for (let nested = 0; nested < NESTED_JSON_MAX; nested++) {
        const decoded = yield* this.#decode(read);
        if (decoded === read) break;
        yield* this.#scan(decoded, most, () => `${path()}.*`);
        read = decoded;
      }
    }
    for (const [name, count] of most) this.#counts[name] = (this.#counts[name] ?? 0) + count;
  }

  /** Raises `most`, the findings by class, to those of this reading. */
  *#scan(text: string, most: Map<string, number>, path: () => string): Generator<undefined, void> {
    if (this.#spend(SCAN_CHARS)) yield;
    const scan = new Scan(text, { classes: CLASSES });
    for (let more = true; more; ) {
      more = scan.next();
      if (this.#spend(more ? Scan.sliceChars : Math.min(text.length, Scan.sliceChars))) yield;
    }
    const found = new Map<string, number>();
    for (const { kind, start } of scan.findings()) {
      found.set(kind.class, (found.get(kind.class) ?? 0) + 1);
      if (!this.#places.has(kind.class))
        this.#places.set(kind.class, { detector: kind.id, path: path(), offset: start });
    }
    for (const [name, count] of found) most.set(name, Math.max(count, most.get(name) ?? 0));
  }

  /**
   * Decodes the escapes of JSON. Parsing would lose what detectors need: the name beside a value, digits of long numbers,
   * members of the same name, and all of a text that was cut off.
   */
  *#decode(text: string): Generator<undefined, string> {
    if (!text.includes("\\")) return text;
    let decoded = "";
    for (let at = 0; at < text.length; ) {
      const end = Math.min(text.length, at + Scan.sliceChars);
      let cut = 0;
      decoded += text.slice(at, end).replace(ESCAPE, (code) => {
        if (end < text.length && code.length < (code[1] === "u" ? 6 : 2)) {
          cut = code.length;
          return "";
        }
        return decodeEscape(code);
      });
      at = end - cut;
      if (this.#spend(Scan.sliceChars)) yield;
    }
    return decoded;
  }

  /** True when this turn is over. */
  #spend(chars: number): boolean {
    this.#chars += chars;
    if (this.#chars < TURN_CHARS) return false;
    this.#chars = 0;
    return true;
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

/** An object or array whose values are read one after the other. */
class Container {
  /** Objects are read by name: a list of their values would cost far more than their names. */
  readonly #object: JsonObject = {};
  readonly #items: readonly unknown[] = [];
  readonly #names: readonly string[] | undefined;
  readonly #length: number;
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
    return name === undefined ? this.#items[this.#at] : this.#object[name];
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

const JSON_START = /^\s*[[{"]/;
/** The last one may be cut off. */
const ESCAPE = /\\(?:u[0-9a-fA-F]{4}|u[0-9a-fA-F]{0,3}$|[^u]|$)/g;
const ESCAPED: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  '"': '"',
  "\\": "\\",
  "/": "/",
};

function decodeEscape(code: string): string {
  if (code.length === 6) return String.fromCharCode(Number.parseInt(code.slice(2), 16));
  return ESCAPED[code.charAt(1)] ?? code;
}
