/**
 * A gateway in a process of its own, with a small heap. Any message makes it report since the last one: the most work of an
 * event-loop turn, and the longest text that one call of `JSON.parse` read and one of `JSON.stringify` wrote.
 */
import type { TurnWork } from "../../src/kit/event-loop-turns.ts";

const NOTHING = { chars: 0, values: 0, turns: 0, parsedChars: 0, writtenChars: 0 };
const most = { ...NOTHING };

const { parse, stringify } = JSON;
JSON.parse = (text, ...more) => {
  most.parsedChars = Math.max(most.parsedChars, text.length);
  return parse(text, ...more);
};
JSON.stringify = (value: unknown, ...more: never[]) => {
  const text = stringify(value, ...more);
  most.writtenChars = Math.max(most.writtenChars, text?.length ?? 0);
  return text;
};

// Only now, so that no module has taken the functions that count nothing.
const { start } = await import("../../src/main.ts");
const { readConfig } = await import("../../src/settings/config.ts");

const onResponseTurn = ({ chars, values }: TurnWork) => {
  most.chars = Math.max(most.chars, chars);
  most.values = Math.max(most.values, values);
  most.turns += 1;
};
const gateway = await start(readConfig(process.env), { onResponseTurn });
await gateway.ready();
process.on("message", () => {
  process.send?.({ ...most, rssMb: Math.round(process.resourceUsage().maxRSS / 1024) });
  Object.assign(most, NOTHING);
});
process.send?.({ origin: gateway.origin, adminToken: gateway.adminToken });
