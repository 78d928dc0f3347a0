/**
 * `npm run soak`: runs simulations with new seeds until one violates an invariant.
 * `npm run soak -- --seed 4711` runs one simulation, `--mutant name` runs it with that mutant, `--minutes 10` limits the
 * time, `--from 1` sets the first seed, `--of money` simulates wallets and ledgers of several instances.
 * `--of fleet` is not simulated: three gateways behind HAProxy with PostgreSQL and Redis under load, while they are
 * killed, paused and restarted; `--minutes 10 --seed 1 --report soak.json`.
 * `--of fuzz` calls both APIs with requests made from their OpenAPI documents, with new seeds until one breaks a rule;
 * `--seed 1` repeats one seed.
 * `--of redis` sends calls of several instances to a real Redis over a link that loses, delays and repeats them.
 * `--of rounds` repeats the tests with random sequences and kill -9 loops, with twenty times as many rounds as `npm test`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { parseArgs } from "node:util";
import { handOnSignals } from "./hand-on.mjs";
import { pinnedNode, ROOT, setUp } from "./setup.mjs";

const CHILD = path.join(ROOT, "tests/simulation/simulate-child.ts");
const FLEET = path.join(ROOT, "tests/fleet/soak-child.ts");
const VITEST = path.join(ROOT, "node_modules/vitest/vitest.mjs");
const FUZZ_CASES = 20_000;
const ROUND_MS = 60_000;
const REPEATED_TESTS = [
  "src/domain/billing/exact-charge.test.ts",
  "tests/chat/kill.test.ts",
  "tests/money/crash-recovery.test.ts",
  "tests/record/master-key.test.ts",
  "tests/responses/restart.test.ts",
];
const REDIS_SIMULATION = "tests/simulation/redis/redis-requests.test.ts";
const REDIS_SEEDS = 10_000;
const ROUNDS_FACTOR = 20;
const REPEATED_TIMEOUT_MS = 60 * 60_000;
const SEEDS_MAX = 2 ** 31;

const { values } = parseArgs({
  options: {
    of: { type: "string", default: "requests" },
    seed: { type: "string" },
    mutant: { type: "string" },
    from: { type: "string" },
    minutes: { type: "string" },
    report: { type: "string" },
  },
});

await setUp("develop");
process.exitCode = await chosen();

function chosen() {
  if (values.of === "fleet") return fleet();
  if (values.of === "redis") return redisSimulation();
  if (values.of === "rounds") return repeatedTests();
  if (values.of === "fuzz") return fuzz();
  return values.seed === undefined ? soak() : show(values.seed);
}

async function fleet() {
  const { seed = String(Math.floor(Math.random() * SEEDS_MAX)), minutes = "10", report = "soak-report.json" } = values;
  const args = ["--seed", seed, "--minutes", minutes, "--report", path.resolve(report)];
  return (await run([FLEET, ...args], "inherit")).code;
}

function redisSimulation() {
  const { seed, from = seed ?? String(Math.floor(Math.random() * SEEDS_MAX)) } = values;
  process.env.SIMULATION_FROM = from;
  process.env.SIMULATION_SEEDS = seed === undefined ? String(REDIS_SEEDS) : "1";
  return repeated([REDIS_SIMULATION]);
}

function repeatedTests() {
  process.env.TEST_ROUNDS = String(ROUNDS_FACTOR);
  return repeated(REPEATED_TESTS);
}

async function repeated(tests) {
  return (await run([VITEST, "run", `--testTimeout=${REPEATED_TIMEOUT_MS}`, ...tests], "inherit")).code;
}

async function fuzz() {
  const untilMs = Date.now() + Number(values.minutes ?? Infinity) * 60_000;
  let seed = Number(values.seed ?? values.from ?? Math.floor(Math.random() * SEEDS_MAX));
  do {
    Object.assign(process.env, { FUZZ_SEED: String(seed), FUZZ_CASES: String(FUZZ_CASES) });
    const { code } = await run([VITEST, "run", "tests/edge/schema-fuzz.test.ts"], "inherit");
    process.stdout.write(`seed ${seed}: ${FUZZ_CASES} calls\n`);
    if (code !== 0) {
      process.stdout.write(`npm run soak -- --of fuzz --seed ${seed} shows how\n`);
      return 1;
    }
    seed += 1;
  } while (values.seed === undefined && Date.now() < untilMs);
  return 0;
}

async function show(seed) {
  return (await simulate(["--seed", seed], "inherit")).code;
}

async function soak() {
  const untilMs = Date.now() + Number(values.minutes ?? Infinity) * 60_000;
  let from = Number(values.from ?? Math.floor(Math.random() * SEEDS_MAX));
  while (Date.now() < untilMs) {
    const forMs = Math.min(ROUND_MS, untilMs - Date.now());
    const { stdout, stderr, code } = await simulate(
      ["--from", String(from), "--seeds", String(SEEDS_MAX), "--for-ms", String(forMs)],
      "pipe",
    );
    if (code !== 0) {
      process.stderr.write(stderr);
      return 1;
    }
    const { seeds, requests, calls, broken, problem } = JSON.parse(stdout);
    if (problem !== undefined) throw new Error(problem);
    process.stdout.write(`seeds ${from} to ${from + seeds - 1}: ${requests} requests, ${calls} calls\n`);
    if (broken !== undefined) {
      process.stdout.write(`seed ${broken.seed} broke "${broken.rule}": ${broken.what}\n`);
      const mutant = values.mutant === undefined ? "" : ` --mutant ${values.mutant}`;
      const of = values.of === "requests" ? "" : `--of ${values.of} `;
      process.stdout.write(`npm run soak -- ${of}--seed ${broken.seed}${mutant} shows how\n`);
      return 1;
    }
    from += seeds;
  }
  return 0;
}

function simulate(args, output) {
  const mutant = values.mutant === undefined ? [] : ["--mutant", values.mutant];
  return run(["--max-semi-space-size=32", CHILD, "--of", values.of, ...args, ...mutant], output);
}

async function run(args, output) {
  const child = spawn(pinnedNode(), args, { cwd: ROOT, stdio: ["ignore", output, output] });
  handOnSignals(child);
  const captured = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"])
    child[name]?.setEncoding("utf8").on("data", (text) => {
      captured[name] += text;
    });
  const [code] = await once(child, "close");
  return { ...captured, code: code ?? 1 };
}
