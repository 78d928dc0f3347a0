/**
 * `npm run portal-speed`: measures how long every screen of the portal takes on a slow line and a slow machine, and writes the
 * section about it in docs/benchmarks.md. `--runs N` sets the repetitions (3), `--dry` writes nothing.
 */
import { readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { limitMs, NETWORK, renderPortalSection, withPortalSection } from "../bench/portal-section.ts";
import { openPast } from "../tests/e2e/support/past.ts";
import { type ScreenVisit, ScreenVisitor, screenPaths } from "../tests/e2e/support/visit-screens.ts";

const PAGE = path.resolve(import.meta.dirname, "../docs/benchmarks.md");
const argument = process.argv.indexOf("--runs");
const runs = argument < 0 ? 3 : Math.max(1, Number(process.argv[argument + 1]));

const portal = await openPast({ GATEWAY_RPM_IP: "0" });
try {
  const { cookies } = await portal.person("operator");
  const context = await portal.browser.newContext({
    locale: "en-GB",
    viewport: { width: 1280, height: 800 },
    storageState: { cookies: [...cookies], origins: [] },
  });
  const page = await context.newPage();
  const { visitor, session } = await ScreenVisitor.create(page, portal.origin);
  const paths = await screenPaths(portal);
  // Fills the cache of assets; the API is loaded anew for its weight.
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  const weights = new Map<string, number>();
  for (const screen of paths) weights.set(screen, (await visitor.visit(screen)).apiBytes);
  await session.send("Network.setCacheDisabled", { cacheDisabled: false });
  for (const screen of paths) await visitor.visit(screen);
  const bytesPerSecond = (NETWORK.kilobitsPerSecond * 1000) / 8;
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: NETWORK.roundTripMs,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await session.send("Emulation.setCPUThrottlingRate", { rate: NETWORK.cpuSlowdown });
  const visits: ScreenVisit[] = [];
  for (const screen of paths) {
    const measured: ScreenVisit[] = [];
    for (let run = 0; run < runs; run += 1) measured.push(await visitor.visit(screen));
    const [median] = measured.toSorted((a, b) => a.readyMs - b.readyMs).slice(Math.floor((runs - 1) / 2));
    if (median === undefined) continue;
    const visit = { ...median, apiBytes: weights.get(screen) ?? 0 };
    visits.push(visit);
    const note = visit.readyMs > limitMs(visit) ? ` (limit ${limitMs(visit)} ms)` : "";
    process.stdout.write(`${screen}: ${Math.round(visit.readyMs)} ms, ${visit.apiBytes} bytes of API data${note}\n`);
  }
  const cores = os.cpus();
  const machine = `${cores[0]?.model ?? "unknown processor"}, ${cores.length} cores`;
  if (!process.argv.includes("--dry")) {
    const section = renderPortalSection(visits, machine, new Date().toISOString());
    writeFileSync(PAGE, withPortalSection(readFileSync(PAGE, "utf8"), section));
  }
  if (visits.some((visit) => visit.readyMs > limitMs(visit))) process.exitCode = 1;
  await context.close();
} finally {
  await portal.close();
  await portal.browser.close();
}
