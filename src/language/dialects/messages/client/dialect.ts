import type { ClientDialect } from "../../client-dialect.ts";
import { BlockQueue } from "./content-blocks.ts";
import { encodeMessage, foldSteps, stopFields } from "./reply.ts";
import { MessageWriter } from "./stream.ts";
import { wholeUsage } from "./usage.ts";

/** Callers of `POST /messages`. */
export const messagesClient: ClientDialect = {
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  openWriter: (head, call) => new MessageWriter(head, call),
  render(events, head, call, counted, shown) {
    const blocks = new BlockQueue(call);
    const steps = [...events.flatMap((event) => blocks.add(event)), ...blocks.finish()];
    const finish = events.findLast((event) => event.is === "finish");
    const usage = wholeUsage(counted, shown);
    return JSON.stringify(encodeMessage(head, foldSteps(steps), stopFields(finish, blocks), usage));
  },
};
