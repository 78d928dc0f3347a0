import { setImmediate } from "node:timers/promises";
import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import { ReplayAsk } from "../../../contract/schemas/manage-routing.ts";
import type { LogFilter } from "../../../domain/record/record.ts";
import { AUTO_ROUTER, type Router } from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { formatNanos } from "../../../kit/money.ts";
import { buffered, type Handler } from "../../exchange.ts";
import type { ReplayMetrics, ReplayResult } from "../../pipeline/replay-routing.ts";
import { planningWithRouter, replayRecord } from "../../pipeline/replay-routing.ts";
import { readOptionalBody } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { MutationLock } from "../mutation-lock.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime, routerName } from "../views.ts";
import { findRouter, unsavedRouter } from "./routers.ts";

const LIMIT_DEFAULT = 1000;
/** Records planned per event-loop tick. */
const SLICE = 25;

const NOTES = [
  "Quality is the catalogue's score of the model, not a measurement of these responses.",
  "Each request is planned separately, with the current catalogue, policy and measured latency; sessions and past failures are not replayed.",
  "Token counts are those of the actual responses; another model would have written more or less. The cache hit rate is assumed to be the same.",
];

const WITHOUT_OWN_KEYS =
  "The workspace's own provider keys are not considered: all requests are planned on the platform's endpoints at their prices, including those an own key would serve.";

function notesFor({ planning }: ManageContext, { id }: Workspace): readonly string[] {
  return planning.ownKeys.of(id) === undefined ? NOTES : [...NOTES, WITHOUT_OWN_KEYS];
}

type ReplayInput = z.infer<typeof ReplayAsk>;

/** An unsaved router, the saved one, or undefined for the default `auto`. */
function routerFor(
  context: ManageContext,
  workspace: Workspace,
  slug: string,
  { spec }: ReplayInput,
): Router | undefined {
  if (spec !== undefined && spec !== null) return unsavedRouter(context, workspace, slug, spec);
  if (slug === AUTO_ROUTER) return context.directory.router(workspace.id, slug);
  return findRouter(context, workspace, slug);
}

type ReplayPeriod = { readonly filter: LogFilter; readonly sinceMs: number | null; readonly untilMs: number };

function periodOf({ since, until, model, key }: ReplayInput, nowMs: number): ReplayPeriod {
  const sinceMs = parseTime("since", since ?? null);
  const untilMs = parseTime("until", until ?? null) ?? nowMs;
  if (sinceMs !== null && sinceMs >= untilMs) throw invalidValue("since", "must be a time before `until`");
  const filter = {
    ...(sinceMs === null ? {} : { sinceMs }),
    untilMs,
    ...(model == null ? {} : { model }),
    ...(key == null ? {} : { keyId: key }),
  };
  return { filter, sinceMs, untilMs };
}

async function replay(
  context: ManageContext,
  workspace: Workspace,
  slug: string,
  router: Router | undefined,
  input: ReplayInput,
) {
  const { filter, sinceMs, untilMs } = periodOf(input, context.clock.nowMs());
  const limit = input.limit ?? LIMIT_DEFAULT;
  const name = routerName(workspace, slug);
  const planning = planningWithRouter(context.planning, slug, router);
  const tally = new ReplayTally();
  let found = 0;
  let cursor: string | null = null;
  await context.waitForIngest();
  do {
    const page = await context.store.log.list(workspace.id, filter, Math.min(SLICE, limit - found), cursor);
    for (const record of page.rows) tally.add(replayRecord(planning, workspace, name, record));
    found += page.rows.length;
    cursor = page.next;
    await setImmediate();
  } while (cursor !== null && found < limit);
  return {
    router: name,
    version: router === undefined || router.version === 0 ? null : router.version,
    since: sinceMs === null ? null : isoTime(sinceMs),
    until: isoTime(untilMs),
    currency: workspace.currency,
    found,
    more: cursor !== null,
    ...tally.view(),
    notes: notesFor(context, workspace),
  };
}

export function replayHandlers(context: ManageContext): Record<string, Handler> {
  // One at a time: a replay plans thousands of requests on the event loop.
  const replays = new MutationLock();
  return {
    manageReplayRouter: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const input = await readOptionalBody(exchange, ReplayAsk);
      const slug = exchange.params["router"] ?? "";
      const router = routerFor(context, workspace, slug, input);
      return { status: 200, json: await replays.run(() => replay(context, workspace, slug, router, input)) };
    }),
  };
}

/** Total cost, and means of latency and quality over the requests where they are known. */
class ReplayTotals {
  requests = 0;
  #nanos = 0n;
  #latency = { sum: 0, count: 0 };
  #quality = { sum: 0, count: 0 };

  add(figure: ReplayMetrics): void {
    this.requests += 1;
    this.#nanos += figure.nanos;
    count(this.#latency, figure.latencyMs);
    count(this.#quality, figure.quality);
  }

  view() {
    return {
      requests: this.requests,
      cost: formatNanos(this.#nanos),
      latency_ms: meanOf(this.#latency, 10),
      quality: meanOf(this.#quality, 10_000),
    };
  }
}

type RunningMean = { sum: number; count: number };

function count(into: RunningMean, value: number | null): void {
  if (value === null) return;
  into.sum += value;
  into.count += 1;
}

function meanOf({ sum, count: known }: RunningMean, precision: number): number | null {
  return known === 0 ? null : Math.round((precision * sum) / known) / precision;
}

const UNKNOWN_LEVEL = "UNCLASSIFIED";

/** Recorded and replayed totals. Overall means cover only requests for which both values are known. */
export class ReplayTally {
  readonly #happened = new ReplayTotals();
  readonly #replayed = new ReplayTotals();
  readonly #models = new Map<string, { happened: ReplayTotals; replayed: ReplayTotals }>();
  readonly #levels = new Map<string, { happened: number; replayed: number }>();
  readonly #leftOut = new Map<string, number>();
  #moved = 0;
  #latencies = 0;
  #qualities = 0;

  add(one: ReplayResult): void {
    if (one.is === "left_out") {
      this.#leftOut.set(one.reason, (this.#leftOut.get(one.reason) ?? 0) + 1);
      return;
    }
    const { happened, replayed } = one;
    if (one.by === "another endpoint") this.#moved += 1;
    const latency = happened.latencyMs !== null && replayed.latencyMs !== null;
    const quality = happened.quality !== null && replayed.quality !== null;
    if (latency) this.#latencies += 1;
    if (quality) this.#qualities += 1;
    const shared = (figure: ReplayMetrics): ReplayMetrics => ({
      ...figure,
      latencyMs: latency ? figure.latencyMs : null,
      quality: quality ? figure.quality : null,
    });
    this.#happened.add(shared(happened));
    this.#replayed.add(shared(replayed));
    this.#of(happened.model).happened.add(happened);
    this.#of(replayed.model).replayed.add(replayed);
    this.#level(happened.level).happened += 1;
    this.#level(replayed.level).replayed += 1;
  }

  #level(level: string | null) {
    const name = level ?? UNKNOWN_LEVEL;
    const found = this.#levels.get(name) ?? { happened: 0, replayed: 0 };
    this.#levels.set(name, found);
    return found;
  }

  #of(model: string) {
    const found = this.#models.get(model) ?? { happened: new ReplayTotals(), replayed: new ReplayTotals() };
    this.#models.set(model, found);
    return found;
  }

  view() {
    return {
      compared: this.#happened.requests,
      moved: this.#moved,
      left_out: [...this.#leftOut]
        .map(([reason, requests]) => ({ reason, requests }))
        .toSorted((a, b) => b.requests - a.requests),
      happened: this.#happened.view(),
      replayed: this.#replayed.view(),
      latency_requests: this.#latencies,
      quality_requests: this.#qualities,
      models: [...this.#models]
        .map(([model, { happened, replayed }]) => ({ model, happened: happened.view(), replayed: replayed.view() }))
        .toSorted((a, b) => weightOf(b) - weightOf(a) || (a.model < b.model ? -1 : 1)),
      levels: [...this.#levels]
        .map(([level, requests]) => ({ level, ...requests }))
        .toSorted((a, b) => (a.level < b.level ? -1 : 1)),
    };
  }
}

function weightOf({ happened, replayed }: { happened: { requests: number }; replayed: { requests: number } }): number {
  return happened.requests + replayed.requests;
}
