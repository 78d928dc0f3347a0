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

/** Upper bound of the stored output of one job. */
const KEPT_CHARS_MAX = 64 * 1024 * 1024;
/** Backpressure applies to the provider while unstored events exceed this size. */
const HELD_CHARS_MAX = 1024 * 1024;

/**
 * `abandoned`: the process shuts down before the job ends. `taken_up`: a newer run owns the job. `ended_elsewhere`: another
 * run has stored the end.
 */
type Phase = "running" | "abandoned" | "taken_up" | "ended_elsewhere" | "over";

/** One background response: its events as they arrive, and its state. */
export class Job {
  readonly stored: StoredResponse;
  readonly sink: JobSink;
  /** Events that are not stored yet, in order. */
  #events: ResponseEvent[] = [];
  /** Number of earlier events; those are read from the store. */
  #forgotten: number;
  #heldChars = 0;
  #room = Promise.withResolvers<void>();
  /** Events that are not published yet. */
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
  #end: "open" | "taken" = "open";
  /** Number of events that belong to the response; undefined: all. */
  #lasting: number | undefined;

  /** `eventsBefore`: number of events stored by an earlier run. */
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

  /** `stored`: read it from the store; undefined: not produced yet. */
  eventAt(number: number): ResponseEvent | "stored" | undefined {
    return number < this.#forgotten ? "stored" : this.#events[number - this.#forgotten];
  }

  get unstored(): readonly ResponseEvent[] {
    return this.#events.slice(0, this.#lasting === undefined ? undefined : this.#lasting - this.#forgotten);
  }

  /** Drops the first events from memory once they are stored. */
  forget(count: number): void {
    for (const { text } of this.#events.slice(0, count)) this.#heldChars -= text.length;
    this.#events = this.#events.slice(count);
    this.#forgotten += count;
    if (!this.isFull) this.#giveRoom();
  }

  /** Undefined before the job has begun. */
  get run(): number | undefined {
    return this.#run;
  }

  /** This run's number, or the number it would begin with. */
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

  /** Another run owns the job, its hold and its idempotency claim. */
  get isTakenUp(): boolean {
    return this.#phase === "taken_up" && this.#end === "open";
  }

  /** The process shuts down first, and this run does not own the end. */
  get isGivenUp(): boolean {
    return this.#phase === "abandoned" && this.#end === "open";
  }

  get isTaken(): boolean {
    return this.#end === "taken";
  }

  /** True when the provider's reply is complete. */
  get isMade(): boolean {
    return this.#final !== undefined && responseStatusOf(this.#final) !== "failed";
  }

  get answering(): Promise<void> {
    return this.#answering.promise;
  }

  /** Undefined before the response begins. */
  get servedBy(): ServedBy | undefined {
    return this.#servedBy;
  }

  /** Resolves when the end is stored or the job is abandoned. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Receives the complete response before its last events. */
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

  /** Shutdown: the row stays unfinished, so that the next start resumes it. */
  abandon(): void {
    this.#giveUp("abandoned", STOPPING);
  }

  /** This run owns the end, even if another run exists. */
  take(): void {
    this.#end = "taken";
  }

  /** Gives the job to another run, unless this run owns the end. */
  leave(phase: "taken_up" | "ended_elsewhere"): void {
    if (this.#phase !== "running" || this.#end === "taken") return;
    this.#giveUp(phase, ELSEWHERE);
    // The client is still connected, so partial output is not charged; without output no further attempt is made.
    if (this.sink.started) this.sink.refuse(LEFT);
    else this.sink.stop();
  }

  /** Builds the end to store; `failure` is what the pipeline threw. */
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

  /** Builds the end when zero data retention was switched on meanwhile: followers get the events, nothing is stored. */
  unkept(failure: unknown): Pick<ResponseEnd, "status" | "response"> & { readonly last: readonly ResponseEvent[] } {
    const { last } = this.end(failure);
    const error = { code: "invalid_value", message: this.isMade ? `${UNKEPT} ${CHARGED}` : UNKEPT };
    return { status: "failed", response: { ...this.stored.response, status: "failed", error }, last };
  }

  /** Called once the end is stored: publishes the last events. */
  close(last: readonly ResponseEvent[]): void {
    this.#phase = "over";
    for (const event of last) this.#events.push(event);
    this.#tell();
    this.#over.resolve();
  }

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
    // Followers get this event; it is not part of the stored response.
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
    // The job emitted its own at creation.
    if (type === "response.created" || type === "response.queued") return;
    if (type === "response.output_item.done" && isJsonObject(item)) this.#done.push(item);
    this.#chars += this.#keepsEvents ? event.text.length : answerChars(event);
    if (this.#chars > KEPT_CHARS_MAX) {
      this.sink.refuse(TOO_LARGE);
      this.#giveRoom();
    }
    if (!this.#keepsEvents || this.#phase !== "running") return;
    this.#fresh.push(this.#held(this.#numbered(event)));
    // Published only after the journal's group write at the end of this tick: output that a client has seen is never
    // generated again after a restart.
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

  /** Renumbers a pipeline event within the sequence of this response. */
  #numbered(event: ParsedBody): ResponseEvent {
    const sequence = this.#sequence++;
    const patches: MemberPatch[] = [{ key: "sequence_number", json: String(sequence) }];
    const { response } = event.value;
    if (isJsonObject(response) && this.#dated(response) !== response)
      patches.push({ key: "response", json: JSON.stringify(this.#dated(exactResponse(event, response))) });
    const data = patchMembers(event, patches);
    return { sequence, text: `event: ${String(event.value["type"])}\ndata: ${data}\n\n` };
  }

  /** `created_at` is the time of the request, not of the provider's reply. */
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

export const LEFT = fault("service_unavailable", { message: ELSEWHERE });

const UNKEPT =
  "The workspace or the key has come to demand zero data retention while this response was made, so the answer was not kept.";
const CHARGED = "What was made of it is charged, as where work is cancelled.";

const TOO_LARGE = fault("upstream_error", {
  message: "The answer was larger than this gateway keeps. What was made of it is not charged.",
});

/** Characters an event adds to the reply; without stored events only those count. */
function answerChars({ text, value: { type, delta } }: ParsedBody): number {
  if (type === "response.output_item.done") return text.length;
  return typeof delta === "string" ? delta.length : 0;
}

function problemOf(failure: unknown): Fault {
  if (failure instanceof Fault) return failure;
  return fault("internal_error", { message: "The gateway failed on this response. Try again." });
}

/** Parsed numbers can lose digits, so the response is taken from the event's text. */
function exactResponse(event: ParsedBody, response: JsonObject): JsonObject {
  const exact = losslessMember(event, "response");
  return isJsonObject(exact) ? exact : response;
}
