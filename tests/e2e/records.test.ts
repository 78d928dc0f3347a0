import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

/** Many steps: on a machine that does other things as well they take their time. */
const SLOW_MS = 120_000;

describe.skipIf(!hasChromium)("capture windows, evidence and stored responses in the portal", () => {
  let portal: Portal;
  const chat = (content: string, over: object = {}) =>
    portal.gateway.call(portal.gateway.key, "/v1/chat/completions", {
      body: { model: "sandbox/chat", max_tokens: 20, messages: [{ role: "user", content }], ...over },
    });
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  test("PORTAL-08 PORTAL-03 a capture window is opened, runs, shows what it kept, is closed and purged", {
    timeout: SLOW_MS,
  }, async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("capture"));
    await page.getByText("No capture windows yet").waitFor();
    await page.getByRole("button", { name: "Open window" }).click();
    await page.waitForURL(/new=1/);
    await page.getByLabel("Duration (minutes)").fill("20");
    await page.getByText("Surfaces:").click();
    await page.getByRole("checkbox", { name: "chat" }).check();
    await page.getByLabel("Reason").fill("Responses are cut off, ticket 4711");
    await expectAccessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Open window" }).click();
    const timer = page.getByRole("timer");
    await timer.waitFor();
    expect(await timer.textContent()).toMatch(/^(?:20:00|19:\d\d)$/);
    const { headers, body } = await chat("Where is my parcel?");
    const id = headers.get("x-svc-request-id") ?? "";
    await page.getByText("1 request so far").waitFor({ timeout: 20_000 });
    await expectAccessible(page);
    await screenshot(page, "capture");

    const detail = await page.context().newPage();
    await detail.goto(portal.at(`requests/${id}`));
    await detail.getByText("Request and response were captured").waitFor();
    expect((await portal.gateway.manage("GET", "/audit?workspace=demo&action=capture.read")).data).toEqual([]);
    await detail.getByRole("button", { name: "Show content" }).click();
    await detail.getByText("Your access was recorded in the audit log").waitFor();
    const contentOf = (part: string) => detail.getByRole("region", { name: part, exact: true }).textContent();
    expect(JSON.parse((await contentOf("Captured request")) ?? "").messages).toEqual([
      { role: "user", content: "Where is my parcel?" },
    ]);
    expect(JSON.parse((await contentOf("Captured response")) ?? "").choices).toEqual(body.choices);
    const { data } = await portal.gateway.manage("GET", "/audit?workspace=demo&action=capture.read");
    expect(data).toMatchObject([{ target: id, actor: expect.stringContaining("ada@example.eu") }]);
    await detail.close();

    await page.getByRole("button", { name: "Close window" }).click();
    await timer.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByRole("button", { name: "Purge content" }).click();
    await page.getByText("Purged", { exact: true }).waitFor();
    expect((await portal.gateway.manage("GET", `/requests/${id}`))["captured_in"]).toBeNull();
  });

  test("PORTAL-08 under zero data retention no window can be opened, and the screen says why", async () => {
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { zero_data_retention: true });
    const page = await portal.page("operator");
    await page.goto(portal.at("capture?new=1"));
    await page.getByText("Capture is not allowed").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await page.getByRole("button", { name: "Open window" }).count()).toBe(0);
    await page.getByRole("link", { name: "View policy" }).waitFor();
    await portal.gateway.manage("PATCH", "/workspaces/demo/policy", { zero_data_retention: false });
  });

  test("PORTAL-08 the evidence report shows who served, where, under which policy, and can be saved", {
    timeout: SLOW_MS,
  }, async () => {
    const tenant = await portal.gateway.tenant();
    await portal.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, { floor: "L2" });
    const body = { model: "sandbox/chat", max_tokens: 20, messages: [{ role: "user", content: "Hi" }] };
    for (let n = 0; n < 3; n += 1) await portal.gateway.call(tenant.key, "/v1/chat/completions", { body });
    await portal.gateway.call(tenant.key, "/v1/chat/completions", { body: { ...body, model: "sandbox/gemini" } });
    const begun = await fetch(`${portal.gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...body, model: "sandbox/slow", stream: true }),
    });
    const reader = begun.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const totals = async () => (await portal.gateway.manage("GET", `/workspaces/${tenant.slug}/evidence`)).totals;
    await expect.poll(totals).toMatchObject({ requests: 5, served: 4, failed: 1 });
    const page = await portal.page("operator");
    await page.goto(portal.at("evidence", tenant.slug));
    await page.getByText("1 partially served").waitFor();
    const html = await page.request.get(`${portal.origin}/manage/workspaces/${tenant.slug}/evidence?format=html`);
    expect(await html.text()).toContain("1, 1 of them partially served");
    await page.getByRole("heading", { name: "By country" }).waitFor();
    await page.getByText("Germany").first().waitFor();
    await page.getByText("minimum level L2").waitFor();
    await page.getByText("sovereignty_floor_not_met").last().waitFor();
    await page.getByRole("heading", { name: "Sources" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "evidence");
    const saved = page.waitForEvent("download");
    await page.getByRole("link", { name: "JSON" }).click();
    expect((await saved).suggestedFilename()).toBe(`${tenant.slug}-evidence.json`);
    await page.getByLabel("Period").selectOption("last-month");
    await page.waitForURL(/period=last-month/);
    await page.getByText("No requests in this period").waitFor();
  });

  test("PORTAL-08 stored responses are listed without their content and removed", async () => {
    for (const input of ["First", "Second"])
      await portal.gateway.call(portal.gateway.key, "/v1/responses", {
        body: { model: "sandbox/chat", input, store: true, max_output_tokens: 20 },
      });
    const page = await portal.page("operator");
    await page.goto(portal.at("responses"));
    const rows = page.getByRole("table", { name: "Stored responses" }).getByRole("row");
    await rows.nth(2).waitFor();
    await expectAccessible(page);
    await screenshot(page, "responses");
    await page.getByRole("button", { name: "Delete", exact: true }).first().click();
    await page.getByRole("button", { name: "Delete response" }).click();
    await rows.nth(2).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete all" }).click();
    await page.getByLabel("Type demo to confirm").fill("demo");
    await page.getByRole("button", { name: "Delete all responses" }).click();
    await page.getByText("No stored responses").waitFor();
    expect((await portal.gateway.manage("GET", "/workspaces/demo/responses")).data).toEqual([]);
  });
});
