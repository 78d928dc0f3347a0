/** The scripts of requests as one would write them without Redis: one entry after another, with exact integers. */

type Hold = { kind: string; nanos: bigint; readonly tail: string };

class Workspace {
  free: bigint;
  balance: bigint;
  version: string | undefined;
  readonly holds = new Map<string, Hold>();
  readonly paid = new Set<string>();
  readonly counters = new Map<string, bigint>();
  readonly windows = new Map<string, number[]>();

  constructor(balance: bigint) {
    this.free = balance;
    this.balance = balance;
  }

  counter(field: string): bigint {
    return this.counters.get(field) ?? 0n;
  }
}

const WINDOW_US = 60_000_000;

export class ScriptModel {
  readonly workspaces: ReadonlyMap<string, Workspace>;

  constructor(balances: ReadonlyMap<string, bigint>) {
    this.workspaces = new Map([...balances].map(([id, balance]) => [id, new Workspace(balance)]));
  }

  of(workspaceId: string): Workspace {
    const workspace = this.workspaces.get(workspaceId);
    if (workspace === undefined) throw new Error(`${workspaceId} does not exist`);
    return workspace;
  }

  /** The reply of `REQUESTS`, flat. */
  requests(args: readonly string[]): unknown[] {
    const rest = [...args];
    const take = () => rest.shift() ?? "";
    const nowUs = Number(take()) * 1000;
    const [instance, , , version] = [take(), take(), take(), take()];
    const replies: unknown[] = [nowUs];
    while (rest.length > 0) {
      const [id, entries] = [take(), Number(take())];
      const [calls, steps] = [Math.floor(entries / 1000), entries % 1000];
      const workspace = this.of(id);
      if (calls > 0) workspace.version ??= version;
      for (let n = 0; n < calls; n += 1)
        replies.push(...countCall(workspace, take(), take(), nowUs), workspace.version);
      for (let n = 0; n < steps; n += 1) {
        const kind = take();
        if (kind === "h") replies.push(...hold(id, workspace, instance, [take(), take(), take(), take()]));
        else replies.push(settle(id, workspace, take().slice(1), BigInt(take()), kind === "d"));
      }
    }
    return replies;
  }

  /** `ADOPT` of a charge without a hold. */
  adopt(id: string, entry: string, tail: string): string {
    const requestId = entry.slice(1);
    const workspace = this.of(id);
    const known = workspace.holds.get(requestId);
    if ((known !== undefined && known.kind !== "t") || workspace.paid.has(requestId)) return "known";
    workspace.holds.set(requestId, { kind: "a", nanos: 0n, tail });
    return "adopted";
  }

  release(id: string, entry: string): number {
    const requestId = entry.slice(1);
    const workspace = this.of(id);
    const known = workspace.holds.get(requestId);
    if (known?.kind !== "h") return 1;
    workspace.free += known.nanos;
    spend(id, workspace, known.tail, "h", -known.nanos);
    workspace.holds.set(requestId, { kind: "s", nanos: 0n, tail: known.tail });
    return 1;
  }
}

function countCall({ windows }: Workspace, key: string, limitText: string, clockUs: number): number[] {
  const isCounted = !limitText.startsWith("p");
  const limit = Number(isCounted ? limitText : limitText.slice(1));
  const last = windows.get(key)?.at(-1) ?? clockUs;
  const before = last > clockUs + WINDOW_US ? [] : (windows.get(key) ?? []);
  const nowUs = before.length > 0 && last > clockUs ? last : clockUs;
  const times = before.filter((at) => at > nowUs - WINDOW_US);
  windows.set(key, times);
  const reply = (remaining: number, resetsUs: number) => [remaining, resetsUs];
  if (times.length >= limit) return reply(-1, (times[times.length - limit] ?? nowUs) + WINDOW_US);
  if (isCounted) times.push(nowUs);
  return reply(limit - times.length, times[0] === undefined ? nowUs : times[0] + WINDOW_US);
}

function spend(id: string, { counters }: Workspace, tail: string, kind: "h" | "s", nanos: bigint): void {
  const [month, day, key, member] = tail.split("|");
  for (const spender of [id, key, member]) {
    if (spender === undefined || spender === "") continue;
    for (const field of [`${month} ${spender} ${kind}`, `${month} ${spender} ${kind} ${day}`]) {
      counters.set(field, (counters.get(field) ?? 0n) + nanos);
    }
  }
}

type HoldArgs = readonly [entry: string, nanos: string, tail: string, limits: string];

function hold(id: string, workspace: Workspace, instance: string, args: HoldArgs): unknown[] {
  const [entry, nanosText, tail, limits] = args;
  const requestId = entry.slice(1);
  const nanos = BigInt(nanosText);
  const known = workspace.holds.get(requestId);
  if (known?.kind === "t") return ["late"];
  if (known?.kind === "h") {
    const spenders = known.tail.split("|").slice(0, 4);
    workspace.holds.set(requestId, { ...known, tail: [...spenders, instance].join("|") });
  }
  if (known !== undefined && known.kind !== "s") return ["held"];
  if (workspace.paid.has(requestId)) return ["late"];
  if (workspace.free < nanos) return ["insufficient", workspace.free.toString()];
  const [month, day, key, member] = tail.split("|");
  const spenders: Readonly<Record<string, string | undefined>> = { w: id, k: key, m: member };
  for (const [n, [, of = "", span, most = ""]] of [...limits.matchAll(/(\w)(\w)(\d+)/g)].entries()) {
    const counter = (kind: "s" | "h") =>
      workspace.counter(`${month} ${spenders[of]} ${kind}${span === "d" ? ` ${day}` : ""}`);
    const [spent, held] = [counter("s"), counter("h")];
    if (spent + held + nanos > BigInt(most)) return ["limit", n, spent.toString(), held.toString()];
  }
  workspace.free -= nanos;
  spend(id, workspace, tail, "h", nanos);
  workspace.holds.set(requestId, { kind: "h", nanos, tail });
  return ["held"];
}

function settle(id: string, workspace: Workspace, requestId: string, charge: bigint, mayArrive: boolean): string {
  const known = workspace.holds.get(requestId);
  if (known === undefined || known.kind === "t") {
    if (workspace.paid.has(requestId)) return "paid";
    if (mayArrive) workspace.holds.set(requestId, { kind: "t", nanos: 0n, tail: "||||" });
    return "none";
  }
  if (mayArrive) workspace.holds.set(requestId, { kind: "t", nanos: 0n, tail: "||||" });
  else workspace.holds.delete(requestId);
  workspace.free += known.nanos - charge;
  workspace.balance -= charge;
  spend(id, workspace, known.tail, "h", -known.nanos);
  spend(id, workspace, known.tail, "s", charge);
  if (charge !== 0n) workspace.paid.add(requestId);
  return "settled";
}
