import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import type { Place } from "../canon/places.ts";
import type { ReplyEvent } from "../canon/reply-events.ts";

/** How one member of a provider's reply is handled. */
export type MemberRule =
  /** Every caller surface has a place for it. */
  | "carried"
  /** Not model output and not reported: transport metadata, discriminators, copies of other members. */
  | "exempt"
  /** No surface has a place for it. */
  | "omitted"
  /** The same for model output. */
  | "content"
  /** Carried on surfaces that have the place. */
  | { readonly place: Place }
  /** An object, or an array of objects. Unlisted members are omitted, as content where stated. */
  | { readonly members: MemberRules; readonly others?: "content" }
  /** Objects told apart by the member `by` ("": without it), or plain text. Unlisted variants are omitted, as content where stated. */
  | { readonly by: string; readonly variants: MemberRules; readonly others?: "content" }
  /** An object whose names callers chose: one rule for every value, reported as the items of a list are. */
  | { readonly each: MemberRule }
  /** Words that every surface can express; any other is omitted. */
  | { readonly words: ReadonlySet<string> }
  /** A stream frame's member, reported under its path in a whole reply. */
  | { readonly at: string; readonly rule: MemberRule };

export type MemberRules = Readonly<Record<string, MemberRule>>;

export const members = (rules: MemberRules, others?: "content"): MemberRule =>
  others === undefined ? { members: rules } : { members: rules, others };
export const variants = (by: string, rules: MemberRules, others?: "content"): MemberRule =>
  others === undefined ? { by, variants: rules } : { by, variants: rules, others };
export const each = (rule: MemberRule): MemberRule => ({ each: rule });
export const words = (known: Iterable<string>): MemberRule => ({ words: new Set(known) });
export const placed = (place: Place): MemberRule => ({ place });
export const at = (path: string, rule: MemberRule): MemberRule => ({ at: path, rule });
/** Several members with one rule. */
export const all = (rule: MemberRule, ...names: readonly string[]): MemberRules =>
  Object.fromEntries(names.map((name) => [name, rule]));

/** Further paths are dropped. */
const PATHS_MAX = 256;
const VARIANT_NAME = /^[\w.]{1,64}$/;

/** For surfaces whose replies have the same places for every caller. */
const NO_PLACES: ReadonlySet<Place> = new Set();

/** The paths of a whole reply's members that are not carried; undefined: all are. */
export function omittedMembers(reply: unknown, rule: MemberRule): readonly string[] | undefined {
  const log = new OmissionLog();
  log.check(reply, rule);
  return log.paths;
}

/** Collects the paths of a reply's members that its caller does not receive, in order of discovery, each once. */
export class OmissionLog {
  readonly #places: ReadonlySet<Place>;
  readonly #paths = new Set<string>();
  #reported = 0;
  readonly #content = new Set<string>();

  constructor(places: ReadonlySet<Place> = NO_PLACES) {
    this.#places = places;
  }

  /** Undefined: nothing is omitted. */
  get paths(): readonly string[] | undefined {
    return this.#paths.size === 0 ? undefined : [...this.#paths];
  }

  /** An event for each path since the last call. */
  events(): readonly ReplyEvent[] {
    if (this.#paths.size === this.#reported) return NO_EVENTS;
    const fresh = [...this.#paths].slice(this.#reported);
    this.#reported = this.#paths.size;
    return fresh.map((path) => ({ is: "omitted", path, ...(this.#content.has(path) ? { isContent: true } : {}) }));
  }

  /** Model output was omitted, such as an image or the result of a tool that the provider ran. */
  get hasContent(): boolean {
    return this.#content.size > 0;
  }

  /** Paths are built only if something is omitted. */
  check(value: unknown, rule: MemberRule, path = ""): void {
    if (!this.#isCarried(value, rule)) this.#report(value, rule, path);
  }

  add(path: string, { isContent = false }: { readonly isContent?: boolean } = {}): void {
    if (this.#paths.size >= PATHS_MAX) return;
    this.#paths.add(path);
    if (isContent) this.#content.add(path);
  }

  #isCarried(value: unknown, rule: MemberRule): boolean {
    if (rule === "carried" || rule === "exempt" || isEmpty(value)) return true;
    if (rule === "content" || rule === "omitted") return false;
    if ("place" in rule) return this.#places.has(rule.place);
    if ("at" in rule) return this.#isCarried(value, rule.rule);
    if ("words" in rule) return typeof value === "string" && rule.words.has(value);
    if (Array.isArray(value)) return value.every((item) => this.#isCarried(item, rule));
    if (!isJsonObject(value)) return typeof value === "string" && "by" in rule;
    if ("each" in rule) return Object.values(value).every((inner) => this.#isCarried(inner, rule.each));
    if ("members" in rule) return this.#areCarried(value, rule.members);
    const variant = variantOf(value, rule);
    return variant !== undefined && this.#isCarried(value, variant);
  }

  #areCarried(value: JsonObject, rules: MemberRules): boolean {
    for (const key in value) {
      const rule = ruleOf(rules, key);
      if (rule === undefined ? !isEmpty(value[key]) : !this.#isCarried(value[key], rule)) return false;
    }
    return true;
  }

  #report(value: unknown, rule: MemberRule, path: string): void {
    if (this.#isCarried(value, rule)) return;
    if (typeof rule === "string" || "place" in rule || "words" in rule)
      this.add(path, { isContent: rule === "content" });
    else if ("at" in rule) this.#report(value, rule.rule, rule.at);
    else if (Array.isArray(value))
      for (const item of value) this.#report(item, rule, path.endsWith("[]") ? path : `${path}[]`);
    else if (!isJsonObject(value)) this.add(path);
    else if ("each" in rule) for (const inner of Object.values(value)) this.#report(inner, rule.each, `${path}[]`);
    else if ("members" in rule) this.#reportMembers(value, rule, path);
    else this.#reportVariant(value, rule, path);
  }

  #reportVariant(value: JsonObject, rule: Extract<MemberRule, { by: string }>, path: string): void {
    const variant = variantOf(value, rule);
    const name = value[rule.by];
    const named = typeof name === "string" && VARIANT_NAME.test(name) ? join(path, name) : path || rule.by;
    if (variant === undefined) this.add(named, { isContent: rule.others === "content" });
    else this.#report(value, variant, path);
  }

  #reportMembers(value: JsonObject, rule: Extract<MemberRule, { members: MemberRules }>, path: string): void {
    for (const key in value) {
      const inner = join(path, key);
      const known = ruleOf(rule.members, key);
      if (known !== undefined) this.#report(value[key], known, inner);
      else if (!isEmpty(value[key])) this.add(inner, { isContent: rule.others === "content" });
    }
  }
}

const NO_EVENTS: readonly ReplyEvent[] = [];

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Own members only: a provider may send `constructor`. */
function ruleOf(rules: MemberRules, key: string): MemberRule | undefined {
  return Object.hasOwn(rules, key) ? rules[key] : undefined;
}

function variantOf(value: JsonObject, { by, variants }: Extract<MemberRule, { by: string }>): MemberRule | undefined {
  const name = value[by] ?? "";
  return typeof name === "string" ? ruleOf(variants, name) : undefined;
}

const EMPTY_DEPTH_MAX = 4;
/** More than this many lists and objects are content, whatever they contain. */
const EMPTY_CONTAINERS_MAX = 1000;

/** Nothing to carry: null, "", 0, false, and lists and objects of nothing else. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null ? isEmptyContainer(value, 0, { containers: 0 }) : !value;
}

function isEmptyContainer(value: object, depth: number, seen: { containers: number }): boolean {
  seen.containers += 1;
  if (depth === EMPTY_DEPTH_MAX || seen.containers > EMPTY_CONTAINERS_MAX) return false;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.every((item) =>
    typeof item === "object" && item !== null ? isEmptyContainer(item, depth + 1, seen) : !item,
  );
}
