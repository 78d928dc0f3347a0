import type { JsonObject } from "../../src/kit/json.ts";
import { isJsonObject } from "../../src/kit/json.ts";
import type { MemberSchema, TypeDeclarations, TypeSchema } from "./type-schemas.ts";

/** A value of a reply's type with the paths of its leaves. */
export type ReplyCase = { readonly value: unknown; readonly leaves: readonly ReplyLeaf[] };

export type ReplyLeaf = {
  readonly path: string;
  /** Unlike any other value in the reply, unless it is one of a closed list. */
  readonly value: unknown;
  readonly isWord: boolean;
  /** The types of the objects around it, which tell leaves with the same path apart. */
  readonly variant: string;
};

const DEPTH_MAX = 12;
/** Above the figures that a reply otherwise contains. */
const FIRST_FIGURE = 4000;
const USAGE = /^(response\.|message\.)?usage|Token|token/;
const TOTALS =
  /(^|\.)(prompt_tokens|completion_tokens|input_tokens|output_tokens|total_tokens|promptTokenCount|candidatesTokenCount|totalTokenCount|inputTokens|outputTokens|totalTokens)$/;

/**
 * Values that together contain every member of a type at every depth: each required member in all of its forms, and
 * each optional member in all of its forms beside the required ones.
 */
export function replyCases(
  types: TypeDeclarations,
  root: string,
  /** Of what is exempt from reports, one form is enough. */
  isExempt: (path: string) => boolean = () => false,
): ReplyCase[] {
  const schema = types.find(root);
  if (schema === undefined) throw new Error(`there is no type ${root}`);
  const cases = new CaseGenerator(types, isExempt).of(schema, "", []);
  const seen = new Set<string>();
  return cases.filter(({ leaves }) => {
    const fresh = leaves.filter((leaf) => !seen.has(keyOfLeaf(leaf)));
    for (const leaf of fresh) seen.add(keyOfLeaf(leaf));
    return fresh.length > 0;
  });
}

/** Leaves with one key differ in their value alone. */
export const keyOfLeaf = ({ path, value, isWord, variant }: ReplyLeaf) =>
  `${variant} ${isWord ? `${path}=${String(value)}` : path}`;

class CaseGenerator {
  readonly #types: TypeDeclarations;
  readonly #isExempt: (path: string) => boolean;
  #count = 0;

  constructor(types: TypeDeclarations, isExempt: (path: string) => boolean) {
    this.#types = types;
    this.#isExempt = isExempt;
  }

  of(schema: TypeSchema, path: string, within: readonly string[]): ReplyCase[] {
    if (within.length > DEPTH_MAX) return [];
    if (path === "" || !this.#isExempt(path)) return this.#forms(schema, path, within);
    return this.#forms(schema, path, within).slice(0, 1);
  }

  #forms(schema: TypeSchema, path: string, within: readonly string[]): ReplyCase[] {
    const variant = within.filter((name) => name.startsWith("type ")).join(" ");
    const leaf = (value: unknown, isWord = false) => [{ value, leaves: [{ path, value, isWord, variant }] }];
    switch (schema.is) {
      case "ref":
        // A type inside itself adds no member.
        if (within.includes(schema.name)) return [];
        return this.of(this.#types.resolve(schema), path, [...within, schema.name]);
      case "null":
        return [];
      case "string":
        return leaf(`zq${++this.#count}z`);
      case "number":
        return leaf(this.#figure(path));
      case "boolean":
        return leaf(true);
      case "unknown":
        return leaf({ note: `zq${++this.#count}z` });
      case "literal":
        return leaf(schema.value, true);
      case "record":
        return this.of(schema.of, `${path}.key`, within).map(({ value, leaves }) => ({
          value: { key: value },
          leaves,
        }));
      case "array":
        return this.of(schema.of, `${path}[]`, within).map(({ value, leaves }) => ({ value: [value], leaves }));
      case "union":
        return schema.of.flatMap((choice) => this.of(choice, path, within));
      case "all":
        return this.#object(
          schema.of.flatMap((part) => this.#membersOf(part)),
          path,
          within,
        );
      case "object":
        return this.#object(schema.members, path, within);
    }
  }

  /** Counts of tokens must be plausible. */
  #figure(path: string): number {
    this.#count += 1;
    if (!USAGE.test(path)) return FIRST_FIGURE + this.#count;
    return TOTALS.test(path) ? 60 + (this.#count % 30) : 5 + (this.#count % 13);
  }

  #membersOf(schema: TypeSchema): readonly MemberSchema[] {
    const found = this.#types.resolve(schema);
    if (found.is === "object") return found.members;
    return found.is === "all" ? found.of.flatMap((part) => this.#membersOf(part)) : [];
  }

  #object(members: readonly MemberSchema[], path: string, around: readonly string[]): ReplyCase[] {
    const type = members.find(({ name }) => name === "type")?.type;
    const within = type?.is === "literal" ? [...around, `type ${String(type.value)}`] : around;
    const required: [string, readonly ReplyCase[]][] = [];
    const optional: [string, readonly ReplyCase[]][] = [];
    for (const { name, optional: isOptional, type } of members) {
      const found = this.of(type, path === "" ? name : `${path}.${name}`, within);
      if (found.length > 0) (isOptional ? optional : required).push([name, found]);
    }
    const base = required.flatMap(([name, [first]]) => (first === undefined ? [] : [[name, first] as const]));
    const others = required.flatMap(([name, [, ...rest]]) => rest.map((one) => [name, one] as const));
    const more = optional.flatMap(([name, found]) => found.map((one) => [name, one] as const));
    return [[], ...[...others, ...more].map((one) => [one])].map((changed) => {
      const entries = new Map([...base, ...changed]);
      return {
        value: Object.fromEntries([...entries].map(([name, { value }]) => [name, value])),
        leaves: [...entries.values()].flatMap(({ leaves }) => leaves),
      };
    });
  }
}

/**
 * Puts a case into a complete reply: objects are merged, and entries of lists that have a type of their own are added
 * behind those of the reply.
 */
export function merged(base: unknown, more: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(more)) {
    const [first] = more;
    if (base.length === 0 || isTyped(first)) return [...base, ...more];
    return [merged(base[0], first), ...base.slice(1)];
  }
  if (typeof base === "string" && Array.isArray(more)) return [{ type: "text", text: base }, ...more];
  if (!isJsonObject(base) || !isJsonObject(more)) return more;
  const result: Record<string, unknown> = { ...base };
  for (const key in more) result[key] = key in base ? merged(base[key], more[key]) : more[key];
  return result satisfies JsonObject;
}

function isTyped(value: unknown): boolean {
  return isJsonObject(value) && ("type" in value || "segment" in value);
}
