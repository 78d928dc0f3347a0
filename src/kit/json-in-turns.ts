import { EventLoopTurns, type TurnWork } from "./event-loop-turns.ts";
import { type JsonProblem, type ParsedBody, parseJsonText } from "./json.ts";
import { parseJsonInSlices, scanInSlices } from "./json-sliced-build.ts";
import { buildDocumentInSlices } from "./json-sliced-document.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { runInSlices, stringifySteps } from "./work-steps.ts";

/** From this length on, a text is parsed in slices of event-loop turns. */
const LONG_CHARS = 64 * 1024;

const OWN_TURN: TurnWork = { chars: 1024 * 1024, values: 8_000 };

export const isLongText = (text: string) => text.length > LONG_CHARS;

/** Parses and writes JSON of the gateway's own: short texts at once, long ones in the event-loop turns of their workspace. */
export class JsonInTurns {
  readonly turns: EventLoopTurns;

  constructor(turns = new EventLoopTurns(OWN_TURN)) {
    this.turns = turns;
  }

  /** Throws or rejects like `parse`. */
  parse(text: string, workspaceId: string, parse: (text: string) => unknown): MaybePromise<unknown> {
    return isLongText(text) ? this.#parseLong(text, workspaceId, parse) : parse(text);
  }

  /** As an object that can be patched. */
  body(text: string, workspaceId: string): MaybePromise<ParsedBody | JsonProblem> {
    return isLongText(text) ? this.#longBody(text, workspaceId) : parseJsonText(text);
  }

  /** `JSON.stringify` of parsed JSON. */
  stringify(value: unknown, workspaceId: string): MaybePromise<string> {
    const steps = stringifySteps(value);
    const first = steps.next();
    return first.done === true ? first.value : runInSlices(steps, this.turns.begin(workspaceId));
  }

  async #parseLong(text: string, workspaceId: string, parse: (text: string) => unknown): Promise<unknown> {
    const work = this.turns.begin(workspaceId);
    try {
      return await parseJsonInSlices(text, work, parse);
    } finally {
      work.end();
    }
  }

  async #longBody(text: string, workspaceId: string): Promise<ParsedBody | JsonProblem> {
    const work = this.turns.begin(workspaceId);
    try {
      const document = await buildDocumentInSlices(text, await scanInSlices(text, work), work);
      return document.body;
    } catch (error) {
      if (error instanceof SyntaxError) return { problem: error.message, isSyntax: true };
      throw error;
    } finally {
      work.end();
    }
  }
}
