import { type Config, readConfig } from "./config.ts";
import { systemClock } from "./kit/clock.ts";
import { handBackMemory } from "./kit/hand-back-memory.ts";
import { type Running, start } from "./main.ts";

/** Prints where things are and how to make the first call. The key is shown this once. */
function banner({ origin, firstKey, setupLink }: Running, { GATEWAY_PUBLIC_URL, sandbox }: Config): string {
  const base = GATEWAY_PUBLIC_URL ?? origin;
  const lines = [`API      ${base}/v1`, `Portal   ${base}/`];
  if (firstKey !== undefined) lines.push(`Key      ${firstKey}`);
  if (setupLink !== undefined) lines.push(`Setup    ${setupLink}`);
  if (firstKey !== undefined) {
    const body = JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] });
    const auth = `-H 'Authorization: Bearer ${firstKey}'`;
    // Without the simulated providers there may be no model to call yet, but there is always a list of them.
    lines.push(
      sandbox
        ? `curl ${base}/v1/chat/completions ${auth} -H 'Content-Type: application/json' -d '${body}'`
        : `curl ${base}/v1/models ${auth}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

const SAME_SIGNAL_MS = 1000;

/** Runs until it is told to stop. The first signal drains; a later second one exits at once. */
export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(env);
  const running = await start(config);
  process.stdout.write(banner(running, config));
  handBackMemory();
  running.ready();
  await new Promise<void>((resolve) => {
    let firstMs: number | undefined;
    const stop = () => {
      // A launcher forwards what the terminal sends to the whole group: signals close together are one.
      if (firstMs !== undefined && systemClock.elapsedMs() - firstMs > SAME_SIGNAL_MS) process.exit(1);
      if (firstMs !== undefined) return;
      firstMs = systemClock.elapsedMs();
      running.stop().then(resolve, (error: unknown) => {
        process.stderr.write(`error: ${error instanceof Error ? error.message : "the gateway did not stop cleanly"}\n`);
        process.exit(1);
      });
    };
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, stop);
  });
}
