/**
 * Measures the CPU that Redis spends on one request: `node bench/redis.ts`. Every request counts in the window of its key,
 * holds credit under a spend limit and is settled; the figure is the difference of `used_cpu_*` over requests.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { emptyWalletSources, openTestRedisState, startRedis } from "../tests/support/redis.ts";
import { cpuMicrosIn } from "./redis-cpu.ts";

const REQUESTS = 20_000;
const EUR = 1_000_000_000n;
const KEYS_PER_WORKSPACE = 2;

type Load = { readonly name: string; readonly inFlight: number; readonly workspaces: number; readonly thinkMs: number };

const LOADS: readonly Load[] = [
  { name: "1 in flight", inFlight: 1, workspaces: 1, thinkMs: 0 },
  { name: "64 in flight, 1 workspace", inFlight: 64, workspaces: 1, thinkMs: 1 },
  { name: "64 in flight, 100 workspaces", inFlight: 64, workspaces: 100, thinkMs: 1 },
  { name: "512 in flight, 1 workspace", inFlight: 512, workspaces: 1, thinkMs: 5 },
  { name: "512 in flight, 100 workspaces", inFlight: 512, workspaces: 100, thinkMs: 5 },
];

const keyOf = (workspaceId: string, n: number) => `key_${workspaceId}_${n % KEYS_PER_WORKSPACE}`;

/** Spend of other days of the month, as all but its first day have it. */
function spendOf(workspaceId: string, n: number) {
  const today = new Date().toISOString().slice(0, 10);
  return Array.from({ length: 15 }, (_, day) => `${today.slice(0, 8)}${String(day + 1).padStart(2, "0")}`)
    .filter((day) => day !== today)
    .map((day) => ({ workspaceId, keyId: keyOf(workspaceId, n), memberId: null, day, nanos: EUR / 7n }));
}

async function measure({ inFlight, workspaces, thinkMs }: Load, requests: number): Promise<number> {
  const server = await startRedis();
  try {
    const redis = await openTestRedisState(server.url, { timeoutMs: 10_000 });
    const names = Array.from({ length: workspaces }, (_, n) => `ws_${n}`);
    const balances = async () => names.map((workspaceId) => ({ workspaceId, balanceNanos: 1_000_000n * EUR }));
    const dailySpends = async () =>
      names.flatMap((workspaceId) =>
        Array.from({ length: KEYS_PER_WORKSPACE }, (_, n) => spendOf(workspaceId, n)).flat(),
      );
    await redis.openWallets(emptyWalletSources({ balances, dailySpends }));
    const { state } = redis;
    let begun = 0;
    const runOne = async (n: number) => {
      const workspaceId = names[n % workspaces] ?? "";
      const keyId = keyOf(workspaceId, n);
      const requestId = `req_019aa0b0-0000-7000-8000-${String(n).padStart(12, "0")}`;
      const window = await state.consumeRateWindow({ id: keyId, workspaceId }, 1_000_000);
      if (!window.isAllowed) throw new Error("refused by the window");
      const limits = [{ of: "workspace", per: "month", nanos: 900_000n * EUR } as const];
      const hold = { requestId, workspaceId, keyId, memberId: null, nanos: EUR / 100n, atMs: Date.now(), limits };
      const verdict = await state.hold(hold);
      if (verdict.is !== "held") throw new Error(verdict.is);
      if (thinkMs > 0) await sleep(Math.random() * 2 * thinkMs);
      await state.settle(hold, EUR / 300n);
    };
    const runUntil = async (end: number) => {
      await Promise.all(
        Array.from({ length: inFlight }, async () => {
          while (begun < end) await runOne(begun++);
        }),
      );
    };
    await runUntil(requests / 10);
    const info = async () => String(await server.ask("INFO", "cpu"));
    const before = cpuMicrosIn(await info());
    await runUntil(requests / 10 + requests);
    const micros = (cpuMicrosIn(await info()) - before) / requests;
    await redis.close();
    return micros;
  } finally {
    await server.close();
  }
}

if (import.meta.main) {
  for (const load of LOADS) {
    const micros = await measure(load, load.inFlight === 1 ? REQUESTS / 10 : REQUESTS);
    const ceiling = Math.floor(1e6 / micros).toLocaleString("en-US");
    process.stdout.write(`${load.name}: ${micros.toFixed(1)} µs of Redis CPU, at most ${ceiling} requests/s\n`);
  }
}
