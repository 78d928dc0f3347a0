import { EventLoopTurns, type TurnWork } from "../../kit/event-loop-turns.ts";
import { JSON_LIMITS } from "../../kit/json-document.ts";
import { TEXT_LIMITS, type TextLimits } from "../../kit/json-size.ts";
import type { JsonLimits } from "../../kit/json-structure.ts";
import { ResponseMemory, type ResponseMemoryLimits } from "./response-memory.ts";

/** From this length on, a response is scanned, checked and built in slices of event-loop turns. */
export const LARGE_RESPONSE_BYTES = 64 * 1024;

type GuardRules = {
  readonly json: JsonLimits;
  readonly text: TextLimits;
  /** Work of one event-loop turn. */
  readonly turn: TurnWork;
  readonly memory: ResponseMemoryLimits;
  /** Receives the work of each turn. */
  readonly onTurn?: (work: TurnWork) => void;
};

const RESPONSE_TURN: TurnWork = { chars: 1024 * 1024, values: 32_000 };
const MEBIBYTE = 1024 * 1024;
const DEFAULT_RULES: GuardRules = {
  json: JSON_LIMITS,
  text: TEXT_LIMITS,
  turn: RESPONSE_TURN,
  memory: { totalBytes: 256 * MEBIBYTE, workspaceBytes: 128 * MEBIBYTE },
};

/** Bounds what responses of providers and nodes may cost: their shape, event-loop time and memory. */
export class ResponseGuard {
  readonly json: JsonLimits;
  readonly text: TextLimits;
  readonly turns: EventLoopTurns;
  readonly memory: ResponseMemory;

  constructor({ json, text, turn, memory, onTurn }: GuardRules = DEFAULT_RULES) {
    this.json = json;
    this.text = text;
    this.turns = new EventLoopTurns(turn, onTurn);
    this.memory = new ResponseMemory(memory);
  }
}
