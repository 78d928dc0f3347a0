import { type Exchange, rejectUpload } from "../../src/app/exchange.ts";
import { decodeChat } from "../../src/app/pipeline/decode.ts";
import type { DecodedRequest } from "../../src/app/pipeline/inference-request.ts";
import { run } from "../../src/app/pipeline/run.ts";
import { Fault, fault } from "../../src/contract/faults.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import type { Principal } from "../../src/domain/tenancy/key.ts";
import { authenticateKey, keyFault } from "../../src/edge/authenticate.ts";
import { routerSlug } from "./checks.ts";
import { CallerSink, type ClientRequest } from "./client-request.ts";
import { contentWith, drawData } from "./data-classes.ts";
import type { Process } from "./process.ts";
import { drawHints, drawModel } from "./routing-hints.ts";
import { ended } from "./settlement-checks.ts";
import { routerKey, secretOf } from "./tenants.ts";
import type { World } from "./world.ts";

const ADDRESS = "127.0.0.1";
const ROUTE = ROUTES.find(({ id }) => id === "createChatCompletion");

/** A caller with a key sends a request. */
export function ask(world: World, when: ClientRequest["when"]): void {
  const { process } = world;
  if (process === undefined) {
    world.note("no process accepts the connection");
    return;
  }
  const visit = drawVisit(world, when);
  const headers = { authorization: `Bearer ${secretOf(visit.keyId)}` };
  const principal = identified(headers, process, world);
  if (principal === undefined) {
    visit.state = "over";
    visit.refusal = "invalid_api_key";
    world.note(`${visit.mark} has no valid key`);
    return;
  }
  world.note(`${visit.mark} ${visit.keyId} wants ${visit.model} ${JSON.stringify(visit.hints)}`);
  visit.state = "running";
  world.checks.activeChanged();
  enter(world, process, visit, { headers, principal });
  if (when === "in_trouble" && world.chance.is(world.shape.leaveShare))
    world.scheduler.after(world.chance.between(0, world.chance.is(0.6) ? 500 : 3000), () => {
      if (visit.sink.state === "open" && visit.state === "running") world.note(`${visit.mark} hangs up`);
      visit.sink.hangUp();
    });
}

function drawVisit(world: World, when: ClientRequest["when"]): ClientRequest {
  const { chance, scheduler, inForce, shape } = world;
  const no = world.visits.length + 1;
  const key = chance.pick([...inForce.keys.values()]);
  const workspace = inForce.workspaces.get(key.workspaceId);
  if (workspace === undefined) throw new Error(`no workspace of ${key.id}`);
  const sink = new CallerSink(
    () => !shape.isCalm && chance.is(shape.slowShare),
    (then) => void scheduler.after(chance.between(1, 300), then),
  );
  const visit: ClientRequest = {
    no,
    id: `req_${no}`,
    mark: `<c${no}>`,
    workspaceId: workspace.id,
    workspaceSlug: workspace.slug,
    currency: workspace.currency,
    keyId: key.id,
    model: drawModel(chance, workspace.slug),
    hints: drawHints(chance, world.data),
    data: world.data === undefined ? {} : drawData(world.data, no),
    streaming: chance.is(0.5),
    maxTokens: chance.between(10, 300),
    sink,
    when,
    planned: undefined,
    calls: [],
    held: undefined,
    chargedNanos: 0n,
    records: [],
    refusedByJournal: 0,
    finished: 0,
    refusal: undefined,
    state: "over",
  };
  world.visits.push(visit);
  return visit;
}

function identified(headers: { authorization: string }, process: Process, world: World): Principal | undefined {
  try {
    const principal = authenticateKey(headers, process.directory);
    return keyFault(principal, ADDRESS, world.scheduler.nowMs()) === undefined ? principal : undefined;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

type AuthenticatedCaller = { readonly headers: { authorization: string }; readonly principal: Principal };

/** Like the edge: runs the handler, then sends what is left to send. */
function enter(
  world: World,
  process: Process,
  visit: ClientRequest,
  { headers, principal }: AuthenticatedCaller,
): void {
  const { scheduler } = world;
  if (ROUTE === undefined) throw new Error("there is no route for chat");
  const exchange: Exchange = {
    requestId: visit.id,
    route: ROUTE,
    params: {},
    query: new URLSearchParams(),
    headers,
    clientAddress: ADDRESS,
    receivedAtMs: scheduler.nowMs(),
    startedMs: scheduler.monotonicMs(),
    principal,
    baseHeaders: {},
    body: () => arriving(world, process, visit),
    upload: rejectUpload,
  };
  const over = (error?: unknown) => {
    if (process.isAlive) ended(world, visit, error);
  };
  run(process.gateway, "chat", exchange, visit.sink, (bytes) => decode(world, visit, bytes)).then(() => over(), over);
}

function arriving({ scheduler, chance }: World, process: Process, visit: ClientRequest): Promise<Buffer> {
  const bytes = Buffer.from(bodyOf(visit));
  return new Promise((resolve) => {
    scheduler.after(chance.is(0.7) ? 0 : chance.between(1, 2500), () => {
      if (process.isAlive) resolve(bytes);
    });
  });
}

function bodyOf({ model, mark, streaming, maxTokens, hints, no, data }: ClientRequest): string {
  const messages = [
    { role: "user", content: contentWith(`${mark} ${"tell me more ".repeat(1 + (no % 5))}`, data, no) },
  ];
  return JSON.stringify({ model, messages, stream: streaming, max_tokens: maxTokens, ...hints });
}

/** The request is planned right after this, with what is in force now. */
function decode(world: World, visit: ClientRequest, bytes: Buffer): DecodedRequest | Promise<DecodedRequest> {
  const { chance, scheduler } = world;
  const decoded: DecodedRequest = { ...decodeChat(bytes), ...afterwards(world) };
  const plan = () => {
    const slug = routerSlug(visit);
    const router = slug === undefined ? undefined : world.inForce.routers.get(routerKey(visit.workspaceId, slug));
    visit.planned = { catalogue: world.catalogue, router: router?.spec, atMs: scheduler.monotonicMs() };
    return decoded;
  };
  if (chance.is(0.8)) return plan();
  return new Promise((resolve) => void scheduler.after(chance.between(0, 50), () => resolve(plan())));
}

/** Surfaces that store their responses have steps before and after. */
function afterwards({ chance, scheduler, shape }: World): Pick<DecodedRequest, "onAdmitted" | "storeResponse"> {
  if (chance.is(0.8)) return {};
  const aWhile = () => new Promise<void>((resolve) => void scheduler.after(chance.between(0, 40), resolve));
  const fails = !shape.isCalm && chance.is(0.1);
  const onAdmitted = async () => {
    await aWhile();
    if (fails) throw fault("service_unavailable", { message: "It could not be put down. Try again." });
  };
  return { onAdmitted, storeResponse: aWhile };
}
