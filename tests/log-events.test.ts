import { describe, expect, test } from "vitest";
import { LOG_EVENTS } from "../src/io/telemetry/log-events.ts";
import { readSources } from "./architecture/source.ts";

/** A call that logs at `warn` or above; `onRejected` passes its message on. */
const LOG_CALL = /(?:\blog(?:\[\w+\]|\.(?:warn|error|fatal))|(?<!\w)warn|\bonRejected)\(/g;
const LITERAL = /"((?:[^"\\]|\\.)*)"/g;
const MESSAGE = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*: [a-z]/;

type LogCall = { readonly file: string; readonly level: string; readonly message: string };

/** The top-level arguments of the call whose parenthesis opens before `start`. */
function argumentsAt(code: string, bare: string, start: number): string[] {
  const found: string[] = [];
  let [depth, from] = [1, start];
  for (let at = start; depth > 0 && at < bare.length; at += 1) {
    const char = bare[at] ?? "";
    if ("([{".includes(char)) depth += 1;
    if (")]}".includes(char)) depth -= 1;
    if (depth === 0 || (depth === 1 && char === ",")) {
      found.push(code.slice(from, at).trim());
      from = at + 1;
    }
  }
  return found.filter((argument) => argument !== "");
}

function literalsIn(code: string): string[] {
  return [...code.matchAll(LITERAL)].map(([, text = ""]) => text);
}

/** Messages of `log.info` and `log.debug`, which are not in the table. */
function quietMessages(code: string, bare: string): Set<string> {
  const calls = [...bare.matchAll(/\blog\.(?:info|debug|trace)\(/g)];
  return new Set(
    calls.flatMap(({ index, 0: call }) => argumentsAt(code, bare, index + call.length).flatMap(literalsIn)),
  );
}

/** The messages of one call: literals, constants, or, for a parameter, every message in the file. */
function messagesOf(argument: string, code: string, bare: string): string[] {
  if (argument.includes("`")) return [argument];
  const literals = literalsIn(argument);
  if (literals.length > 0) return literals;
  const constant = new RegExp(`const ${argument}\\b[^=]*=([^;]*);`).exec(code)?.[1];
  if (constant !== undefined) return literalsIn(constant);
  const quiet = quietMessages(code, bare);
  return literalsIn(code).filter((text) => MESSAGE.test(text) && !quiet.has(text));
}

function levelOf(call: string): string {
  if (call.includes("[")) return "any";
  return /error|fatal/.test(call) ? "error" : "warn";
}

const calls: LogCall[] = readSources()
  .filter(({ file }) => file !== "src/io/telemetry/log-events.ts")
  .flatMap(({ file, code, bare }) =>
    [...bare.matchAll(LOG_CALL)].flatMap(({ index, 0: call }) => {
      const message = argumentsAt(code, bare, index + call.length)[1];
      // Without a second argument, or with a typed one, it is a declaration.
      if (message === undefined || message.includes(": string")) return [];
      return messagesOf(message, code, bare).map((text) => ({ file, level: levelOf(call), message: text }));
    }),
  );

describe("log messages", () => {
  test("OPS-02 every message at warn and above is in the table, with its level", () => {
    expect(calls.filter(({ message }) => LOG_EVENTS[message] === undefined)).toEqual([]);
    expect(calls.filter(({ level, message }) => level === "error" && LOG_EVENTS[message]?.level !== level)).toEqual([]);
  });

  test("OPS-02 every message of the table is logged, as `component: event`", () => {
    const logged = new Set(calls.map(({ message }) => message));
    const messages = Object.keys(LOG_EVENTS);
    expect(messages.filter((message) => !logged.has(message))).toEqual([]);
    expect(messages.filter((message) => !MESSAGE.test(message))).toEqual([]);
    expect(messages).toEqual(messages.toSorted());
  });
});
