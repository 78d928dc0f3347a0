import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { type JsonObject, parseJsonText } from "../kit/json.ts";
import { parseNanos } from "../kit/money.ts";
import { parseDurationMs, parseIsoTimeMs } from "../kit/time.ts";
import { CliError } from "./command.ts";

/** Readers of typed values: each answers what the management API takes, or says what to write. */

export function onOff(text: string): boolean {
  if (text === "on") return true;
  if (text === "off") return false;
  throw new InvalidArgumentError("Must be on or off.");
}

/** An empty string is an empty list: it clears. */
export function list(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

export function oneOf(...choices: readonly string[]) {
  return (text: string): string => {
    const found = choices.find((choice) => choice.toLowerCase() === text.toLowerCase());
    if (found === undefined) throw new InvalidArgumentError(`Must be one of ${choices.join(", ")}.`);
    return found;
  };
}

export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Must be a whole number from ${min} to ${max}.`);
  };
}

export function workers(text: string): string {
  if (text === "auto" || (/^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 256)) return text;
  throw new InvalidArgumentError("Must be a whole number from 1 to 256, or auto.");
}

export function status(text: string): string {
  if (/^[1-5](?:\d\d|xx)$/.test(text)) return text;
  throw new InvalidArgumentError("Must be a status from 100 to 599, or a class such as 5xx.");
}

export function time(text: string): string {
  if (parseIsoTimeMs(text) === undefined)
    throw new InvalidArgumentError("Must be an ISO 8601 time such as 2027-01-31T12:00:00Z.");
  return text;
}

export function duration(text: string): string {
  if (parseDurationMs(text) === undefined)
    throw new InvalidArgumentError("Must be a duration such as 2s, 5m, 12h or 7d.");
  return text;
}

export function amount(text: string): string {
  const nanos = /^\d+(\.\d+)?$/.test(text) ? parseNanos(text) : undefined;
  if (nanos === undefined || nanos <= 0n)
    throw new InvalidArgumentError("Must be a positive decimal with at most 9 decimal places, such as 12.50.");
  return text;
}

/** As an amount, and nothing at all is one too. */
export function amountOrZero(text: string): string {
  if (/^\d+(\.\d+)?$/.test(text) && parseNanos(text) !== undefined) return text;
  throw new InvalidArgumentError("Must be zero or a positive decimal with at most 9 decimal places, such as 12.50.");
}

const CACHE_WORDS = ["coalesce", "forbid-requests"] as const;

/** `off`, or a duration and words such as `1h,coalesce`. */
export function cacheSettings(text: string): JsonObject {
  const [first = "", ...rest] = list(text);
  const isWord = (word: string) => CACHE_WORDS.some((one) => one === word);
  const [lifetime, words] = isWord(first) ? [undefined, [first, ...rest]] : [first, rest];
  const ms = lifetime === "off" ? 0 : lifetime === undefined ? undefined : parseDurationMs(lifetime);
  if (!words.every(isWord) || (lifetime !== undefined && ms === undefined))
    throw new InvalidArgumentError(
      "Must be off, or a duration such as 5m, 12h or 7d, with coalesce or forbid-requests after a comma, such as 1h,coalesce.",
    );
  return {
    ...(ms === undefined ? {} : { ttl: Math.ceil(ms / 1000) }),
    ...(words.includes("coalesce") ? { coalesce: true } : {}),
    ...(words.includes("forbid-requests") ? { requests: "forbid" } : {}),
  };
}

const STDIN = 0;

/** The JSON object in a file; `-` is standard input. */
export function jsonFile(file: string): JsonObject {
  const parsed = parseJsonText(wholeText(file));
  if ("problem" in parsed) throw new CliError(`${file}: must be one JSON object: ${parsed.problem}.`);
  return parsed.value;
}

/** All that is written in a file, but for the space around it; `-` is standard input. */
export function textFile(file: string): string {
  const text = wholeText(file).trim();
  if (text === "") throw new CliError(`${file} is empty.`);
  return text;
}

/** A file as it is; `-` is standard input. */
/** One entry on each line; empty lines do not count. */
export function linesFile(file: string): string[] {
  return wholeText(file)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function wholeText(file: string): string {
  try {
    return readFileSync(file === "-" ? STDIN : file, "utf8");
  } catch (error) {
    throw new CliError(`${file} cannot be read (${error instanceof Error ? error.message : String(error)}).`);
  }
}

/** Stands for null, which commander does not hand on. */
export const LIFTED = Symbol("lifted");

/** An empty string or `none` lifts the setting; anything else is read as usual. */
export function orLift<T>(read: (text: string) => T) {
  return (text: string): T | typeof LIFTED => (text === "" || text === "none" ? LIFTED : read(text));
}
