import { envelopeOf } from "../../contract/error-envelope.ts";
import { Fault, fault } from "../../contract/faults.ts";
import {
  type ResponseEnd,
  type ResponseEvent,
  responseStatusOf,
  type ServedBy,
  type StoredResponse,
} from "../../domain/responses/response-store.ts";
import {
  isJsonObject,
  type JsonObject,
  type MemberPatch,
  nestedBody,
  type ParsedBody,
  patchMembers,
} from "../../kit/json.ts";
import { JsonInTurns } from "../../kit/json-in-turns.ts";
import { parsePreciseJson } from "../../kit/lossless-json.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { errorFields } from "../../language/dialects/responses/client/errors.ts";
import { JobSink, type SinkListener } from "./job-sink.ts";
import { eventOf, serializedEvent } from "./response-events.ts";

/** Upper bound of the stored output of one job. */
const STORED_CHARS_MAX = 64 * 1024 * 1024;
/** Backpressure applies to the provider while unstored events exceed this size. */
const BUFFERED_CHARS_MAX = 1024 * 1024;

/**
 * `abandoned`: the process shuts down before the job ends. `taken_over`: a newer run owns the job. `ended_elsewhere`: another
 * run has stored the end.
 */
type JobPhase = "running" | "abandoned" | "taken_over" | "ended_elsewhere" | "over";

/** The end of a response, and its last events. */
type JobEnd = Pick<ResponseEnd, "status" | "response"> & { readonly last: readonly ResponseEvent[] };

/** One background response: its events as they arrive, and its state. */
export class BackgroundJob {
  readonly stored: StoredResponse;
  readonly sink: JobSink;
  readonly #json: JsonInTurns;
  /** Events that are not stored yet, in order. */
  #events: ResponseEvent[] = [];
  /** Number of earlier events; those are read from the store. */
  #storedCount: number;
  #bufferedChars = 0;
  #drained = Promise.withResolvers<void>();
  /** Events that are not published yet. */
  readonly #unpublished: ResponseEvent[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #doneItems: JsonObject[] = [];
  #run: number | undefined;
  readonly #begun = Promise.withResolvers<void>();
  #servedBy: ServedBy | undefined;
  readonly #over = Promise.withResolvers<void>();
  #sequence = 0;
  #totalChars = 0;
  #last: readonly ParsedBody[] = [];
  #final: JsonObject | undefined;
  #reply: { readonly final: string; readonly response: MaybePromise<JsonObject | undefined> } | undefined;
  #isCancelled = false;
  #phase: JobPhase = "running";
  #ownsEnd = false;
  /** Number of events that belong to the response; undefined: all. */
  #persistentCount: number | undefined;

  /** `eventsBefore`: number of events stored by an earlier run. */
  constructor(stored: StoredResponse, eventsBefore = 0, json = new JsonInTurns()) {
    this.stored = stored;
    this.#json = json;
    const listener: SinkListener = {
      started: (headers) => {
        this.#servedBy = servedByHeaders(headers);
        this.#begun.resolve();
      },
      event: (event) => this.#receive(event),
      ended: (last) => {
        this.#last = last;
      },
      hasRoom: () => !this.isFull,
      room: () => this.#drained.promise,
    };
    this.sink = new JobSink(listener, json, stored.workspaceId);
    this.#storedCount = eventsBefore;
    this.#sequence = eventsBefore;
    if (eventsBefore > 0) return;
    this.#add("response.created", { response: stored.response });
    this.#add("response.queued", { response: stored.response });
  }

  /** `stored`: read it from the store; undefined: not produced yet. */
  eventAt(number: number): ResponseEvent | "stored" | undefined {
    return number < this.#storedCount ? "stored" : this.#events[number - this.#storedCount];
  }

  get unstored(): readonly ResponseEvent[] {
    return this.#events.slice(
      0,
      this.#persistentCount === undefined ? undefined : this.#persistentCount - this.#storedCount,
    );
  }

  /** Drops the first events from memory once they are stored. */
  dropStored(count: number): void {
    for (const { text } of this.#events.slice(0, count)) this.#bufferedChars -= text.length;
    this.#events = this.#events.slice(count);
    this.#storedCount += count;
    if (!this.isFull) this.#signalDrained();
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
    return this.#bufferedChars > BUFFERED_CHARS_MAX;
  }

  get phase(): JobPhase {
    return this.#phase;
  }

  /** Another run owns the job, its hold and its idempotency claim. */
  get isTakenOver(): boolean {
    return this.#phase === "taken_over" && !this.#ownsEnd;
  }

  /** The process shuts down first, and this run does not own the end. */
  get isAbandoned(): boolean {
    return this.#phase === "abandoned" && !this.#ownsEnd;
  }

  get ownsEnd(): boolean {
    return this.#ownsEnd;
  }

  /** True when the provider's reply is complete. */
  get isComplete(): boolean {
    return this.#final !== undefined && responseStatusOf(this.#final) !== "failed";
  }

  get answering(): Promise<void> {
    return this.#begun.promise;
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
  setReply(final: string): MaybePromise<void> {
    return chain(this.parseReply(final), (response) => {
      this.#final = response;
    });
  }

  /** Parsed once. */
  parseReply(final: string): MaybePromise<JsonObject | undefined> {
    if (this.#reply?.final !== final) {
      const parsed = this.#json.parse(final, this.stored.workspaceId, parsePreciseJson);
      const withTime = (response: unknown) => (isJsonObject(response) ? this.#withRequestTime(response) : undefined);
      this.#reply = { final, response: chain(parsed, withTime) };
    }
    return this.#reply.response;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.sink.stop();
    this.#signalDrained();
  }

  /** Shutdown: the row stays unfinished, so that the next start resumes it. */
  abandon(): void {
    this.#abandonAs("abandoned", SHUTDOWN_MESSAGE);
  }

  /** This run owns the end, even if another run exists. */
  claimEnd(): void {
    this.#ownsEnd = true;
  }

  /** Gives the job to another run, unless this run owns the end. */
  handOver(phase: "taken_over" | "ended_elsewhere"): void {
    if (this.#phase !== "running" || this.#ownsEnd) return;
    this.#abandonAs(phase, TAKEN_OVER_MESSAGE);
    // The client is still connected, so partial output is not charged; without output no further attempt is made.
    if (this.sink.started) this.sink.refuse(TAKEN_OVER);
    else this.sink.stop();
  }

  /** Builds the end to store; `failure` is what the pipeline threw. */
  async end(failure: unknown): Promise<JobEnd> {
    this.#publish();
    const final = this.#final;
    if (final !== undefined) {
      const last = this.#storesEvents ? this.#last.map((event) => this.#renumber(event)) : [];
      return { status: responseStatusOf(final), response: final, last };
    }
    const problem = this.#isCancelled ? null : (this.sink.refusal ?? faultOfFailure(failure));
    const status = problem === null ? "cancelled" : "failed";
    const error = problem === null ? null : failedJobError(problem);
    const response = { ...this.stored.response, status, error, output: this.#doneItems };
    if (!this.#storesEvents) return { status, response, last: [] };
    const errorEvents = problem === null ? [] : [this.#event("error", this.#errorFields(problem))];
    const sequence = this.#sequence++;
    // With the items that the provider had completed, so it can be long.
    const json = await this.#json.stringify({ sequence_number: sequence, response }, this.stored.workspaceId);
    return { status, response, last: [...errorEvents, serializedEvent(`response.${status}`, sequence, json)] };
  }

  /** Builds the end when zero data retention was switched on meanwhile: followers get the events, nothing is stored. */
  async endUnstored(failure: unknown): Promise<JobEnd> {
    const { last } = await this.end(failure);
    const error = {
      code: "invalid_value",
      message: this.isComplete ? `${UNSTORED_MESSAGE} ${CHARGED_MESSAGE}` : UNSTORED_MESSAGE,
    };
    return { status: "failed", response: { ...this.stored.response, status: "failed", error }, last };
  }

  /** Called once the end is stored: publishes the last events. */
  close(last: readonly ResponseEvent[]): void {
    this.#phase = "over";
    for (const event of last) this.#events.push(event);
    this.#notifyWatchers();
    this.#over.resolve();
  }

  waitForEvents(withinMs: number): Promise<"events" | "silence"> {
    return new Promise((resolve) => {
      const finish = (what: "events" | "silence") => {
        clearTimeout(timer);
        this.#watchers.delete(onEvents);
        resolve(what);
      };
      const onEvents = () => finish("events");
      const timer = setTimeout(() => finish("silence"), withinMs);
      this.#watchers.add(onEvents);
    });
  }

  #abandonAs(phase: JobPhase, why: string): void {
    if (this.#phase !== "running") return;
    this.#publish();
    this.#phase = phase;
    const events = this.#events.length;
    this.#add("error", this.#errorFields(fault("service_unavailable", { message: why })));
    // Followers get this event; it is not part of the stored response.
    this.#persistentCount = this.#storedCount + events;
    this.#sequence = this.#sequence - (this.#events.length - events);
    this.#signalDrained();
    this.#over.resolve();
  }

  get #storesEvents(): boolean {
    return this.stored.background === "streamed";
  }

  #receive(event: ParsedBody): void {
    const { type, item } = event.value;
    // The job emitted its own at creation.
    if (type === "response.created" || type === "response.queued") return;
    if (type === "response.output_item.done" && isJsonObject(item)) this.#doneItems.push(item);
    this.#totalChars += this.#storesEvents ? event.text.length : replyChars(event);
    if (this.#totalChars > STORED_CHARS_MAX) {
      this.sink.refuse(TOO_LARGE_FAULT);
      this.#signalDrained();
    }
    if (!this.#storesEvents || this.#phase !== "running") return;
    this.#unpublished.push(this.#buffer(this.#renumber(event)));
    // Published only after the journal's group write at the end of this tick: output that a client has seen is never
    // generated again after a restart.
    if (this.#unpublished.length === 1) setImmediate(() => this.#publish());
  }

  #publish(): void {
    if (this.#unpublished.length === 0) return;
    for (const event of this.#unpublished.splice(0)) this.#events.push(event);
    this.#notifyWatchers();
  }

  #add(type: string, more: JsonObject): void {
    if (!this.#storesEvents) return;
    this.#events.push(this.#buffer(this.#event(type, more)));
    this.#notifyWatchers();
  }

  #buffer(event: ResponseEvent): ResponseEvent {
    this.#bufferedChars += event.text.length;
    return event;
  }

  #signalDrained(): void {
    this.#drained.resolve();
    this.#drained = Promise.withResolvers<void>();
  }

  #event(type: string, more: JsonObject): ResponseEvent {
    return eventOf(type, this.#sequence++, more);
  }

  #errorFields(problem: Fault): JsonObject {
    return errorFields(envelopeOf(problem, this.stored.id).error);
  }

  /** Renumbers a pipeline event within the sequence of this response. */
  #renumber(event: ParsedBody): ResponseEvent {
    const sequence = this.#sequence++;
    const patches: MemberPatch[] = [{ key: "sequence_number", json: String(sequence) }];
    const response = nestedBody(event, "response");
    if (response !== undefined && this.#withRequestTime(response.value) !== response.value) {
      const created_at = JSON.stringify(this.stored.response["created_at"] ?? null);
      patches.push({ key: "response", json: patchMembers(response, [{ key: "created_at", json: created_at }]) });
    }
    const data = patchMembers(event, patches);
    return { sequence, text: `event: ${String(event.value["type"])}\ndata: ${data}\n\n` };
  }

  /** `created_at` is the time of the request, not of the provider's reply. */
  #withRequestTime(response: JsonObject): JsonObject {
    const { created_at } = this.stored.response;
    return response["created_at"] === created_at ? response : { ...response, created_at };
  }

  #notifyWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}

const SHUTDOWN_MESSAGE =
  "The gateway is stopping. The response is generated after its next start, unless output had already begun.";

const TAKEN_OVER_MESSAGE =
  "Another instance of the gateway took over this response while this one was unreachable. Reconnect to follow it.";

export const TAKEN_OVER = fault("service_unavailable", { message: TAKEN_OVER_MESSAGE });

const UNSTORED_MESSAGE =
  "The policy of the workspace or key has required zero data retention since this response was started, so it was not stored.";
const CHARGED_MESSAGE = "The generated part is charged, as for a cancelled response.";

const TOO_LARGE_FAULT = fault("upstream_error", {
  message: "The response is larger than this gateway stores. It is not charged.",
});

/** Characters an event adds to the reply; without stored events only those count. */
function replyChars({ text, value: { type, delta } }: ParsedBody): number {
  if (type === "response.output_item.done") return text.length;
  return typeof delta === "string" ? delta.length : 0;
}

function faultOfFailure(failure: unknown): Fault {
  if (failure instanceof Fault) return failure;
  return fault("internal_error", { message: "The gateway failed to generate this response. Try again." });
}

/** Route reason and timing are only in the log. */
const STORED_HEADERS = [
  ...["x-svc-model", "x-svc-provider", "x-svc-sovereignty-level"],
  ...["x-svc-compute-countries", "x-svc-upstream-surface"],
];

/** The response headers that are stored with a response. */
export function servedByHeaders(headers: Readonly<Record<string, string>>): ServedBy {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => STORED_HEADERS.includes(name)));
}

function failedJobError({ code, message, upstream }: Fault) {
  return upstream === undefined ? { code, message } : { code: upstream.code ?? code, message, upstream };
}
