import type { z } from "zod";
import { type Fault, fault, invalidValue, unknownField } from "../contract/faults.ts";
import { isJsonObject, type JsonObject, type ParsedBody, parseJsonObject } from "../kit/json.ts";
import { sampleLongArrays } from "../kit/json-sample.ts";
import { unpredictableFraction } from "../kit/secret.ts";
import type { Exchange } from "./exchange.ts";

/** A body with more values than this would block the event loop for seconds. */
export const BODY_LIMITS = { partsMax: 400_000 };

/** Parses one JSON object and keeps its text, so that a surface can forward it verbatim. */
export function parseJson(bytes: Buffer, limits: Parameters<typeof parseJsonObject>[1] = BODY_LIMITS): ParsedBody {
  const parsed = parseJsonObject(bytes, limits);
  if ("problem" in parsed) throw invalidJson(parsed.problem);
  return parsed;
}

export function invalidJson(problem: string): Fault {
  return fault("invalid_json", { message: `The body is not a valid JSON object: ${problem}.` });
}

/** For the log record of a rejected body; undefined when it is not a JSON object. */
export function tryParseJson(bytes: Buffer): JsonObject | undefined {
  const parsed = parseJsonObject(bytes, BODY_LIMITS);
  return "problem" in parsed ? undefined : parsed.value;
}

export async function readJson(exchange: Pick<Exchange, "body">): Promise<ParsedBody> {
  return parseJson(await exchange.body());
}

/** Validates a value; the fault names the field. */
export function decodeWith<T>(schema: z.ZodType<T>, value: unknown): T {
  rejectBySample(schema, value);
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  throw faultForIssues(fieldIssuesIn(decoded.error.issues), value);
}

/**
 * The validator collects every issue, so a long list of invalid items would block the event loop for seconds. A sample of
 * the list is validated first and rejects such a body early.
 */
function rejectBySample(schema: z.ZodType, value: unknown): void {
  const sample = sampleLongArrays(value, unpredictableFraction);
  if (sample === undefined) return;
  const problems = schema.safeParse(sample.value).error?.issues ?? [];
  const issues = fieldIssuesIn(problems).map(({ issue, path }) => ({ issue, ...sample.toOriginalPath(path) }));
  // Only issues inside items count: the sample is shorter than the list.
  if (issues.some(({ isInside }) => isInside)) throw faultForIssues(issues, value);
}

export async function readBody<T>(exchange: Pick<Exchange, "body">, schema: z.ZodType<T>): Promise<T> {
  return decodeWith(schema, (await readJson(exchange)).value);
}

/** An empty body counts as `{}`. */
export async function readOptionalBody<T>(exchange: Pick<Exchange, "body">, schema: z.ZodType<T>): Promise<T> {
  const bytes = await exchange.body();
  if (bytes.length === 0) return decodeWith(schema, {});
  return decodeWith(schema, parseJson(bytes).value);
}

/** Validates the query; a repeated parameter is ambiguous and rejected. */
export function readQuery<T>(exchange: Pick<Exchange, "query">, schema: z.ZodType<T>): T {
  const value: Record<string, string> = {};
  for (const [name, text] of exchange.query) {
    if (Object.hasOwn(value, name)) throw invalidValue(name, "is sent twice");
    Object.defineProperty(value, name, { value: text, enumerable: true });
  }
  return decodeWith(schema, value);
}

type ZodIssue = z.core.$ZodIssue;

/** An unknown field is reported before a missing or invalid one (ERR-10). */
function faultForIssues(found: readonly FieldIssue[], value: unknown): Fault {
  for (const { issue, path } of found) {
    if (issue.code !== "unrecognized_keys") continue;
    return unknownField(fieldName([...path, issue.keys[0] ?? ""]));
  }
  const first = found[0];
  if (first === undefined) return fault("invalid_value", { message: "The request is invalid." });
  const param = fieldName(first.path);
  if (param === "")
    return fault("invalid_value", { message: `The request is invalid: ${describeIssue(first.issue)}.` });
  if (valueAt(value, first.path) !== undefined) return invalidValue(param, describeIssue(first.issue));
  if (first.issue.code === "invalid_type") return invalidValue(param, "is required");
  return invalidValue(param, `is required: ${describeIssue(first.issue).replace(RECEIVED, "")}`);
}

const fieldIssuesIn = (issues: readonly ZodIssue[]) => issues.flatMap((issue) => flattenIssue(issue, []));

type FieldIssue = { readonly issue: ZodIssue; readonly path: readonly PropertyKey[] };

/** Reports the union branch that matched deepest. */
function flattenIssue(issue: ZodIssue, above: readonly PropertyKey[]): FieldIssue[] {
  const path = [...above, ...issue.path];
  if (issue.code !== "invalid_union") return [{ issue, path }];
  const branches = issue.errors.map((branch) => branch.flatMap((inner) => flattenIssue(inner, path)));
  const depth = (found: readonly FieldIssue[]) => found.reduce((most, one) => Math.max(most, issueDepth(one)), 0);
  const deepest = branches.toSorted((a, b) => depth(b) - depth(a))[0];
  return deepest === undefined || depth(deepest) <= path.length ? [{ issue, path }] : deepest;
}

/** An unknown field lies one level below its path. */
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

/** Rewrites the validator's messages in plain English; custom messages stay unchanged. */
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

/** Lists what each branch expects. */
function describeUnionIssue(branches: readonly (readonly ZodIssue[])[]): string {
  const firsts = branches.flatMap(([first]) => (first === undefined ? [] : [first]));
  // The value has the type of one branch, so that branch's issue applies.
  const sized = firsts.find(({ code }) => code === "too_small" || code === "too_big" || code === "invalid_format");
  if (sized !== undefined) return describeIssue(sized);
  const all = firsts.map(describeIssue);
  const wanted = [...new Set(all.map((words) => words.replace(RECEIVED, "")))];
  const [first = "is invalid", ...rest] = wanted;
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
