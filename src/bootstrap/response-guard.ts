import { getHeapStatistics } from "node:v8";
import { ResponseGuard } from "../io/upstream/response-guard.ts";
import type { TurnWork } from "../kit/event-loop-turns.ts";
import { JSON_DEPTH_MAX } from "../kit/json.ts";
import type { Config } from "../settings/config.ts";

/** Long responses may use this share of the heap. */
const HEAP_SHARE = 1 / 4;
const WORKSPACE_SHARE = 1 / 2;

export function responseGuard(config: Config, onTurn?: (work: TurnWork) => void): ResponseGuard {
  const totalBytes =
    config.GATEWAY_ANSWERS_MEMORY_BYTES ?? Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE);
  const workspaceBytes = config.GATEWAY_ANSWERS_WORKSPACE_MEMORY_BYTES ?? Math.floor(totalBytes * WORKSPACE_SHARE);
  return new ResponseGuard({
    json: {
      depthMax: JSON_DEPTH_MAX,
      membersMax: config.GATEWAY_ANSWER_MAX_MEMBERS,
      stringCharsMax: config.GATEWAY_ANSWER_MAX_STRING,
      readPartsMax: config.GATEWAY_ANSWER_MAX_PARTS,
      settings: {
        members: "GATEWAY_ANSWER_MAX_MEMBERS",
        string: "GATEWAY_ANSWER_MAX_STRING",
        parts: "GATEWAY_ANSWER_MAX_PARTS",
      },
    },
    text: {
      replyChars: config.GATEWAY_ANSWER_MAX_TEXT,
      eventChars: config.GATEWAY_ANSWER_MAX_EVENT_TEXT,
      settings: { reply: "GATEWAY_ANSWER_MAX_TEXT", event: "GATEWAY_ANSWER_MAX_EVENT_TEXT" },
    },
    turn: { chars: config.GATEWAY_ANSWER_SLICE_BYTES, values: config.GATEWAY_ANSWER_SLICE_MEMBERS },
    memory: { totalBytes, workspaceBytes },
    ...(onTurn === undefined ? {} : { onTurn }),
  });
}
