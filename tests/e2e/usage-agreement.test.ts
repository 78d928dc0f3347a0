import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { startGateway } from "../support/gateway.ts";
import { chargedRecord } from "../support/records.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

const DAY_MS = 86_400_000;

describe.skipIf(!hasChromium)("home and usage", () => {
  let portal: Portal;
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-edges-"));
    const before = await startGateway({ dataDir });
    const { id: workspaceId } = await before.manage("GET", "/workspaces/demo");
    const live = await before.manage("POST", "/workspaces/demo/keys", { name: "live", environment: "live" });
    const trial = await before.manage("POST", "/workspaces/demo/keys", { name: "trial", environment: "test" });
    await before.close();
    const today = Math.floor(systemClock.nowMs() / DAY_MS) * DAY_MS;
    const firstDay = today - 29 * DAY_MS;
    const rows = [
      { at: firstDay - 1, environment: "live" },
      { at: firstDay - DAY_MS / 2, environment: "test" },
      { at: firstDay, environment: "live" },
      { at: firstDay + 1, environment: "test" },
      { at: today - 1, environment: "live" },
      { at: today, environment: "live" },
      { at: today + 1, environment: "test" },
    ] as const;
    const store = await openSqlite(dataDir, systemClock);
    await store.ingest(
      rows.map(({ at, environment }, number) =>
        chargedRecord(`chatcmpl-edge${number}`, 1_000_000n, {
          workspaceId: String(workspaceId),
          keyId: String(environment === "live" ? live.id : trial.id),
          createdAtMs: at,
          environment,
        }),
      ),
    );
    await store.close();
    portal = await openPortal({ DATA_DIR: dataDir });
  }, 120_000);
  afterAll(async () => {
    await portal.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  test("PORTAL-04 Home and Usage count the same 30 UTC days and label test traffic, in every time zone", async () => {
    for (const timezoneId of ["Pacific/Auckland", "America/Los_Angeles"]) {
      const page = await portal.page("operator", { timezoneId });
      await page.goto(portal.at());
      await page.getByText("5 in 30 days, 2 of them test").waitFor();
      await page.getByText("Requests today (UTC)").locator("..").getByText("2", { exact: true }).waitFor();
      await page.getByRole("link", { name: "View usage" }).click();
      const requests = page.getByText("Requests", { exact: true }).locator("..");
      await requests.getByText("5", { exact: true }).first().waitFor();
      await requests.getByText("live and test").waitFor();
      await page.getByLabel("Traffic").selectOption("Live keys");
      await requests.getByText("3", { exact: true }).first().waitFor();
      expect(new URL(page.url()).searchParams.get("env")).toBe("live");
    }
  });
});
