import type { z } from "zod";
import { type Fault, fault, invalidValue, unknownField } from "../contract/faults.ts";
import { isJsonObject, type JsonObject, type ParsedBody, parseJsonObject } from "../kit/json.ts";
import { sampleLongArrays } from "../kit/json-sample.ts";
import { unpredictableFraction } from "../kit/secret.ts";
import type { Exchange } from "./exchange.ts";

/** Far more than a conversation has. Without it a body of tiny parts keeps everybody else waiting for seconds. */
const BODY_LIMITS = { partsMax: 400_000 };

/** The body as one JSON object, with its text kept: a surface may forward it untouched. */
export function parseJson(bytes: Buffer): ParsedBody {
  const parsed = parseJsonObject(bytes, BODY_LIMITS);
  if ("problem" in parsed)
    throw fault("invalid_json", { message: `The body is not one well-formed JSON object: ${parsed.problem}.` });
  return parsed;
}

/** What a body says that was refused, for its line in the log; undefined where it is no JSON object. */
export function tryParseJson(bytes: Buffer): JsonObject | undefined {
  const parsed = parseJsonObject(bytes, BODY_LIMITS);
  return "problem" in parsed ? undefined : parsed.value;
}

export async function readJson(exchange: Pick<Exchange, "body">): Promise<ParsedBody> {
  return parseJson(await exchange.body());
}

/** A value through its schema; what is wrong with it is said with the name of the field. */
export function decodeWith<T>(schema: z.ZodType<T>, value: unknown): T {
  rejectBySample(schema, value);
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  throw faultForIssues(fieldIssuesIn(decoded.error.issues), value);
}

/**
 * The validator notes everything that is wrong, and a long list of nothing else would keep all other callers waiting for
 * seconds. So some items of such a list are looked at first; where those are right, few of all can be wrong.
 */
function rejectBySample(schema: z.ZodType, value: unknown): void {
  const some = sampleLongArrays(value, unpredictableFraction);
  if (some === undefined) return;
  const problems = schema.safeParse(some.value).error?.issues ?? [];
  const found = fieldIssuesIn(problems).map(({ issue, path }) => ({ issue, ...some.toOriginalPath(path) }));
  // Only what is wrong with an item itself: a list that was made shorter says nothing of its length.
  if (found.some(({ isInside }) => isInside)) throw faultForIssues(found, value);
}

export async function readBody<T>(exchange: Pick<Exchange, "body">, schema: z.ZodType<T>): Promise<T> {
  return decodeWith(schema, (await readJson(exchange)).value);
}

/** For actions whose fields are all optional: no body at all is the same as `{}`. */
export async function readOptionalBody<T>(exchange: Pick<Exchange, "body">, schema: z.ZodType<T>): Promise<T> {
  const bytes = await exchange.body();
  if (bytes.length === 0) return decodeWith(schema, {});
  return decodeWith(schema, parseJson(bytes).value);
}

/** The query through its schema; a parameter given twice is read differently by different readers and is refused. */
export function readQuery<T>(exchange: Pick<Exchange, "query">, schema: z.ZodType<T>): T {
  const value: Record<string, string> = {};
  for (const [name, text] of exchange.query) {
    if (Object.hasOwn(value, name)) throw invalidValue(name, "it is given twice");
    Object.defineProperty(value, name, { value: text, enumerable: true });
  }
  return decodeWith(schema, value);
}

type ZodIssue = z.core.$ZodIssue;

/** An unknown field is named before a missing or bad one (ERR-10). */
function faultForIssues(found: readonly FieldIssue[], value: unknown): Fault {
  for (const { issue, path } of found) {
    if (issue.code !== "unrecognized_keys") continue;
    return unknownField(fieldName([...path, issue.keys[0] ?? ""]));
  }
  const first = found[0];
  if (first === undefined) return fault("invalid_value", { message: "The request is not valid." });
  const param = fieldName(first.path);
  if (param === "")
    return fault("invalid_value", { message: `The request is not valid: ${describeIssue(first.issue)}.` });
  if (valueAt(value, first.path) !== undefined) return invalidValue(param, describeIssue(first.issue));
  if (first.issue.code === "invalid_type") return invalidValue(param, "it is required");
  return invalidValue(param, `it is required: ${describeIssue(first.issue).replace(RECEIVED, "")}`);
}

const fieldIssuesIn = (issues: readonly ZodIssue[]) => issues.flatMap((issue) => flattenIssue(issue, []));

type FieldIssue = { readonly issue: ZodIssue; readonly path: readonly PropertyKey[] };

/** Of a union's branches, the one that got furthest tells most. */
function flattenIssue(issue: ZodIssue, above: readonly PropertyKey[]): FieldIssue[] {
  const path = [...above, ...issue.path];
  if (issue.code !== "invalid_union") return [{ issue, path }];
  const branches = issue.errors.map((branch) => branch.flatMap((inner) => flattenIssue(inner, path)));
  const depth = (found: readonly FieldIssue[]) => found.reduce((most, one) => Math.max(most, issueDepth(one)), 0);
  const deepest = branches.toSorted((a, b) => depth(b) - depth(a))[0];
  return deepest === undefined || depth(deepest) <= path.length ? [{ issue, path }] : deepest;
}

/** Who names a field that is not known has looked inside. */
function issueDepth({ issue, path }: FieldIssue): number {
  return issue.code === "unrecognized_keys" ? path.length + 1 : path.length;
}

const RECEIVED = /, received \w+$/;
const BOUNDS: Readonly<Record<string, string>> = {
  ">=": "at least",
  "<=": "at most",
  ">": "more than",
  "<": "less than",
};

/** The validator's words, in plainer ones; words of our own stay as they are. */
function describeIssue(issue: ZodIssue): string {
  if (issue.code === "invalid_union" && issue.message === "Invalid input") return describeUnionIssue(issue.errors);
  return issue.message
    .replace(/\.$/, "")
    .replace(/^Invalid discriminator value\. Expected (.*)$/, (_, kinds: string) => {
      const words = kinds.replaceAll("'", '"').replaceAll(" | ", "|");
      return words.includes("|") ? `expected one of ${words}` : `expected ${words}`;
    })
    .replace(/^Invalid (input|option|string|number): /, "")
    .replace(/^Too (?:small|big): expected \w+ to (be|have) (>=|<=|>|<)?/, (_, verb: string, bound = "") =>
      bound === "" ? `must ${verb} ` : `must ${verb} ${BOUNDS[bound]} `,
    )
    .replace(/\b1 (item|character)s$/, "1 $1")
    .replace(/^expected int\b/, "expected integer")
    .replace(/^expected record\b/, "expected object");
}

/** What each branch wants, and what was there in the place of all of them. */
function describeUnionIssue(branches: readonly (readonly ZodIssue[])[]): string {
  const firsts = branches.flatMap(([first]) => (first === undefined ? [] : [first]));
  // Where the value is of one branch's kind, what that one says is what is wrong with it.
  const sized = firsts.find(({ code }) => code === "too_small" || code === "too_big" || code === "invalid_format");
  if (sized !== undefined) return describeIssue(sized);
  const all = firsts.map(describeIssue);
  const wanted = [...new Set(all.map((words) => words.replace(RECEIVED, "")))];
  const [first = "it is not valid", ...rest] = wanted;
  const between = first.includes("|") ? ", or " : " or ";
  const received = all.every((words) => RECEIVED.test(words)) ? (RECEIVED.exec(all[0] ?? "")?.[0] ?? "") : "";
  return [first, ...rest.map((words) => words.replace(/^expected /, ""))].join(between) + received;
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.map(String).join(".").slice(0, 200);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (Array.isArray(at)) at = at[Number(key)];
    else if (isJsonObject(at) && Object.hasOwn(at, key)) at = at[String(key)];
    else return undefined;
  }
  return at;
}
