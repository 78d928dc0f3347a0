import { setImmediate } from "node:timers/promises";
import type { z } from "zod";
import { invalidValue } from "../../../contract/faults.ts";
import { ReplayAsk } from "../../../contract/schemas/manage-routing.ts";
import type { LogFilter } from "../../../domain/record/record.ts";
import { AUTO_ROUTER, type Router } from "../../../domain/tenancy/router.ts";
import type { Workspace } from "../../../domain/tenancy/workspace.ts";
import { buffered, type Handler } from "../../exchange.ts";
import { planningWith, replayOne } from "../../pipeline/replay-routing.ts";
import { readOptionalBody } from "../../request-input.ts";
import { findWorkspace, type ManageContext } from "../deps.ts";
import { createMutationLock } from "../mutation-lock.ts";
import { parseTime } from "../tenancy/key-settings.ts";
import { isoTime, routerName } from "../views.ts";
import { ReplayTally } from "./replay-tally.ts";
import { findRouter, unsavedRouter } from "./routers.ts";

const LIMIT_DEFAULT = 1000;
/** Records that are read and planned before others get their turn on the event loop: their decisions can be long. */
const SLICE = 25;

const NOTES = [
  "Quality is the catalogue's score of the model, not a measurement of these answers.",
  "Each request is planned on its own, with today's catalogue, policy and measured speed; sessions and failures of that time are not replayed.",
  "Token counts are those of the answers that were given; another model would have written more or less, and a cache is taken to be as warm as it was.",
];

const WITHOUT_OWN_KEYS =
  "The workspace's own keys at providers are not used here: all requests are planned on the platform's endpoints and at their prices, also those that an own key would serve.";

function notesFor({ planning }: ManageContext, { id }: Workspace): readonly string[] {
  return planning.ownKeys.of(id) === undefined ? NOTES : [...NOTES, WITHOUT_OWN_KEYS];
}

type ReplayInput = z.infer<typeof ReplayAsk>;

/** The router to try: one that is not saved, the saved one, or `auto` without one of the workspace's own. */
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
  if (sinceMs !== null && sinceMs >= untilMs) throw invalidValue("since", "write a time before `until`");
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
  said: ReplayInput,
) {
  const { filter, sinceMs, untilMs } = periodOf(said, context.clock.nowMs());
  const limit = said.limit ?? LIMIT_DEFAULT;
  const name = routerName(workspace, slug);
  const planning = planningWith(context.planning, slug, router);
  const tally = new ReplayTally();
  let found = 0;
  let cursor: string | null = null;
  await context.waitForIngest();
  do {
    const page = await context.store.log.list(workspace.id, filter, Math.min(SLICE, limit - found), cursor);
    for (const record of page.rows) tally.add(replayOne(planning, workspace, name, record));
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
  // One at a time: it may plan thousands of requests, and the gateway has others to serve.
  const oneAtATime = createMutationLock();
  return {
    manageReplayRouter: buffered(async (exchange) => {
      const workspace = findWorkspace(context, exchange.params["workspace"]);
      const said = await readOptionalBody(exchange, ReplayAsk);
      const slug = exchange.params["router"] ?? "";
      const router = routerFor(context, workspace, slug, said);
      return { status: 200, json: await oneAtATime(() => replay(context, workspace, slug, router, said)) };
    }),
  };
}
