import { envelopeOf, Fault, fault } from "../../contract/faults.ts";
import {
  type ResponseEnd,
  type ResponseEvent,
  responseStatusOf,
  type ServedBy,
  type StoredResponse,
} from "../../domain/responses/response-store.ts";
import { isJsonObject, type JsonObject, type MemberPatch, type ParsedBody, patchMembers } from "../../kit/json.ts";
import { losslessMember, parsePreciseJson } from "../../kit/lossless-json.ts";
import { errorFields } from "../../language/dialects/responses/client/errors.ts";
import { JobSink } from "./job-sink.ts";
import { eventOf } from "./response-events.ts";
import { servedByIn } from "./served-by.ts";

/** More than any answer says: what is kept of a job, in the store and for its end, has an end too. */
const KEPT_CHARS_MAX = 64 * 1024 * 1024;
/** Events that are not in the store yet: the provider waits while they are more. */
const HELD_CHARS_MAX = 1024 * 1024;

/**
 * `abandoned`: the process ends before the work does. `taken_up`: a newer run works on it. `ended_elsewhere`: it has the end
 * that somebody else gave it.
 */
type Phase = "running" | "abandoned" | "taken_up" | "ended_elsewhere" | "over";

/** One response that is being made in the background: its events as they come, and what has become of it. */
export class Job {
  readonly stored: StoredResponse;
  readonly sink: JobSink;
  /** Events that are not in the store yet, in order. */
  #events: ResponseEvent[] = [];
  /** How many there were before those: they are in the store, and read from there. */
  #forgotten: number;
  #heldChars = 0;
  #room = Promise.withResolvers<void>();
  /** Events that are not to be heard yet. */
  readonly #fresh: ResponseEvent[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #done: JsonObject[] = [];
  #run: number | undefined;
  readonly #answering = Promise.withResolvers<void>();
  #servedBy: ServedBy | undefined;
  readonly #over = Promise.withResolvers<void>();
  #sequence = 0;
  #chars = 0;
  #last: readonly ParsedBody[] = [];
  #final: JsonObject | undefined;
  #cancelled: "no" | "yes" = "no";
  #phase: Phase = "running";
  /** Whether its end is this run's. */
  #end: "open" | "taken" = "open";
  /** How many of its events are ones of the response; undefined: all. */
  #lasting: number | undefined;

  /** `eventsBefore`: how many events an earlier run has stored. */
  constructor(stored: StoredResponse, eventsBefore = 0) {
    this.stored = stored;
    this.sink = new JobSink({
      started: (headers) => {
        this.#servedBy = servedByIn(headers);
        this.#answering.resolve();
      },
      event: (event) => this.#take(event),
      ended: (last) => {
        this.#last = last;
      },
      hasRoom: () => !this.isFull,
      room: () => this.#room.promise,
    });
    this.#forgotten = eventsBefore;
    this.#sequence = eventsBefore;
    if (eventsBefore > 0) return;
    this.#add("response.created", { response: stored.response });
    this.#add("response.queued", { response: stored.response });
  }

  /** One event by its number: there, only in the store any more, or (undefined) not there yet. */
  eventAt(number: number): ResponseEvent | "stored" | undefined {
    return number < this.#forgotten ? "stored" : this.#events[number - this.#forgotten];
  }

  /** The events that are to be stored next. */
  get unstored(): readonly ResponseEvent[] {
    return this.#events.slice(0, this.#lasting === undefined ? undefined : this.#lasting - this.#forgotten);
  }

  /** The first of them are in the store, and need no memory any more. */
  forget(count: number): void {
    for (const { text } of this.#events.slice(0, count)) this.#heldChars -= text.length;
    this.#events = this.#events.slice(count);
    this.#forgotten += count;
    if (!this.isFull) this.#giveRoom();
  }

  /** The number of the run that it is; undefined before its work has begun. */
  get run(): number | undefined {
    return this.#run;
  }

  /** The same, or the one that it would have begun as. */
  get ownRun(): number {
    return this.#run ?? this.stored.runs + 1;
  }

  begin(run: number): void {
    this.#run = run;
  }

  get isFull(): boolean {
    return this.#heldChars > HELD_CHARS_MAX;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Another run goes on with it: hold and claim are that one's. */
  get isTakenUp(): boolean {
    return this.#phase === "taken_up" && this.#end === "open";
  }

  /** The process ends before it does, and its end is not this run's. */
  get isGivenUp(): boolean {
    return this.#phase === "abandoned" && this.#end === "open";
  }

  get isTaken(): boolean {
    return this.#end === "taken";
  }

  /** The provider has told the whole answer. */
  get isMade(): boolean {
    return this.#final !== undefined && responseStatusOf(this.#final) !== "failed";
  }

  /** Resolves when its answer begins. */
  get answering(): Promise<void> {
    return this.#answering.promise;
  }

  /** Who serves it; undefined before its answer begins. */
  get servedBy(): ServedBy | undefined {
    return this.#servedBy;
  }

  /** Resolves when its end is in the store, or it was given up. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** The whole answer, given before its last events. */
  keep(final: string): void {
    this.#final = this.answerIn(final);
  }

  answerIn(final: string): JsonObject | undefined {
    const response = parsePreciseJson(final);
    return isJsonObject(response) ? this.#dated(response) : undefined;
  }

  cancel(): void {
    this.#cancelled = "yes";
    this.sink.stop();
    this.#giveRoom();
  }

  /** The process ends before the work does: its row stays as it is, for the next start. */
  abandon(): void {
    this.#giveUp("abandoned", STOPPING);
  }

  /** Its end is this run's, whoever else works on it. */
  take(): void {
    this.#end = "taken";
  }

  /** It is somebody else's now, unless its end is this run's: what is paid for is kept, whoever made it. */
  leave(phase: "taken_up" | "ended_elsewhere"): void {
    if (this.#phase !== "running" || this.#end === "taken") return;
    this.#giveUp(phase, ELSEWHERE);
    // Its caller has not left, so what was told of it is not charged; before anything was, nobody else is asked.
    if (this.sink.started) this.sink.refuse(LEFT);
    else this.sink.stop();
  }

  /** What is to be stored of its end; `failure` is what the work threw. */
  end(failure: unknown): Pick<ResponseEnd, "status" | "response"> & { readonly last: readonly ResponseEvent[] } {
    this.#publish();
    const final = this.#final;
    if (final !== undefined) {
      const last = this.#keepsEvents ? this.#last.map((event) => this.#numbered(event)) : [];
      return { status: responseStatusOf(final), response: final, last };
    }
    const problem = this.#cancelled === "yes" ? null : (this.sink.refusal ?? problemOf(failure));
    const status = problem === null ? "cancelled" : "failed";
    const error = problem === null ? null : { code: problem.code, message: problem.message };
    const response = { ...this.stored.response, status, error, output: this.#done };
    if (!this.#keepsEvents) return { status, response, last: [] };
    const said = problem === null ? [] : [this.#event("error", this.#told(problem))];
    return { status, response, last: [...said, this.#event(`response.${status}`, { response })] };
  }

  /** Its end where the workspace has come to let nothing be kept: who follows it has heard it, and that is all. */
  unkept(failure: unknown): Pick<ResponseEnd, "status" | "response"> & { readonly last: readonly ResponseEvent[] } {
    const { last } = this.end(failure);
    const error = { code: "invalid_value", message: this.isMade ? `${UNKEPT} ${CHARGED}` : UNKEPT };
    return { status: "failed", response: { ...this.stored.response, status: "failed", error }, last };
  }

  /** Its end is stored: whoever follows it hears of it now. */
  close(last: readonly ResponseEvent[]): void {
    this.#phase = "over";
    for (const event of last) this.#events.push(event);
    this.#tell();
    this.#over.resolve();
  }

  /** Resolves when there is something new, or the time is up. */
  news(withinMs: number): Promise<"news" | "silence"> {
    return new Promise((resolve) => {
      const finish = (what: "news" | "silence") => {
        clearTimeout(timer);
        this.#watchers.delete(heard);
        resolve(what);
      };
      const heard = () => finish("news");
      const timer = setTimeout(() => finish("silence"), withinMs);
      this.#watchers.add(heard);
    });
  }

  #giveUp(phase: Phase, why: string): void {
    if (this.#phase !== "running") return;
    this.#publish();
    this.#phase = phase;
    const events = this.#events.length;
    this.#add("error", this.#told(fault("service_unavailable", { message: why })));
    // Only for those who listen now: it is no event of the response.
    this.#lasting = this.#forgotten + events;
    this.#sequence = this.#sequence - (this.#events.length - events);
    this.#giveRoom();
    this.#over.resolve();
  }

  get #keepsEvents(): boolean {
    return this.stored.background === "streamed";
  }

  #take(event: ParsedBody): void {
    const { type, item } = event.value;
    // Its own came when it was queued.
    if (type === "response.created" || type === "response.queued") return;
    if (type === "response.output_item.done" && isJsonObject(item)) this.#done.push(item);
    this.#chars += this.#keepsEvents ? event.text.length : answerChars(event);
    if (this.#chars > KEPT_CHARS_MAX) {
      this.sink.refuse(TOO_LARGE);
      this.#giveRoom();
    }
    if (!this.#keepsEvents || this.#phase !== "running") return;
    this.#fresh.push(this.#held(this.#numbered(event)));
    // Nobody hears of it before the journal has written, at the end of this turn, that there is an answer: what was
    // heard is never made anew after a restart.
    if (this.#fresh.length === 1) setImmediate(() => this.#publish());
  }

  #publish(): void {
    if (this.#fresh.length === 0) return;
    for (const event of this.#fresh.splice(0)) this.#events.push(event);
    this.#tell();
  }

  #add(type: string, more: JsonObject): void {
    if (!this.#keepsEvents) return;
    this.#events.push(this.#held(this.#event(type, more)));
    this.#tell();
  }

  #held(event: ResponseEvent): ResponseEvent {
    this.#heldChars += event.text.length;
    return event;
  }

  #giveRoom(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers<void>();
  }

  #event(type: string, more: JsonObject): ResponseEvent {
    return eventOf(type, this.#sequence++, more);
  }

  #told(problem: Fault): JsonObject {
    return errorFields(envelopeOf(problem, this.stored.id).error);
  }

  /** The same event with the number it has among all events of this response. */
  #numbered(event: ParsedBody): ResponseEvent {
    const sequence = this.#sequence++;
    const patches: MemberPatch[] = [{ key: "sequence_number", json: String(sequence) }];
    const { response } = event.value;
    if (isJsonObject(response) && this.#dated(response) !== response)
      patches.push({ key: "response", json: JSON.stringify(this.#dated(exactResponse(event, response))) });
    const data = patchMembers(event, patches);
    return { sequence, text: `event: ${String(event.value["type"])}\ndata: ${data}\n\n` };
  }

  /** It was created when it was asked for, whenever a provider began with it. */
  #dated(response: JsonObject): JsonObject {
    const { created_at } = this.stored.response;
    return response["created_at"] === created_at ? response : { ...response, created_at };
  }

  #tell(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

const STOPPING = "The gateway is being stopped. The work goes on at its next start if it had not begun to answer.";

const ELSEWHERE =
  "Another instance of the gateway has taken up this response while this one could not be heard of. Follow it again.";

/** Why what was made of it here is not charged. */
export const LEFT = fault("service_unavailable", { message: ELSEWHERE });

const UNKEPT =
  "The workspace or the key has come to demand zero data retention while this response was made, so the answer was not kept.";
const CHARGED = "What was made of it is charged, as where work is cancelled.";

const TOO_LARGE = fault("upstream_error", {
  message: "The answer was larger than this gateway keeps. What was made of it is not charged.",
});

/** What an event adds to the answer itself, which is all that is held of it where events are not kept. */
function answerChars({ text, value: { type, delta } }: ParsedBody): number {
  if (type === "response.output_item.done") return text.length;
  return typeof delta === "string" ? delta.length : 0;
}

function problemOf(failure: unknown): Fault {
  if (failure instanceof Fault) return failure;
  return fault("internal_error", { message: "The gateway failed on this response. Try again." });
}

/** Its schemas may have numbers that are other ones once they were read. */
function exactResponse(event: ParsedBody, response: JsonObject): JsonObject {
  const exact = losslessMember(event, "response");
  return isJsonObject(exact) ? exact : response;
}
