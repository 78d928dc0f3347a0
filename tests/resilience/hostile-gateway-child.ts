/** A gateway in a process of its own, with a small heap. Any message makes it report the most work of an event-loop turn since the last. */
import type { TurnWork } from "../../src/kit/event-loop-turns.ts";
import { start } from "../../src/main.ts";
import { readConfig } from "../../src/settings/config.ts";

const most = { chars: 0, values: 0, turns: 0 };
const onResponseTurn = ({ chars, values }: TurnWork) => {
  most.chars = Math.max(most.chars, chars);
  most.values = Math.max(most.values, values);
  most.turns += 1;
};
const gateway = await start(readConfig(process.env), { onResponseTurn });
await gateway.ready();
process.on("message", () => {
  process.send?.({ ...most, rssMb: Math.round(process.resourceUsage().maxRSS / 1024) });
  Object.assign(most, { chars: 0, values: 0, turns: 0 });
});
process.send?.({ origin: gateway.origin, adminToken: gateway.adminToken });
