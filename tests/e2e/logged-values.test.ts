import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

const SCRIPT = `"'><script>window.__ran=1</script><img src=x onerror="window.__ran=1"><svg/onload=window.__ran=1>`;
const TURNED = "\u202Egnp.exe\u202C\u2067abc\u2069";
const LONG = "W".repeat(10_000);

/** What makes the page wider than its window; what scrolls inside a part of its own does not. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("main *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.outerHTML.slice(0, 200))`;

/** What must hold wherever such values stand: nothing ran, nothing was made of them, nothing is wider than the window. */
async function expectHarmless(page: Page): Promise<void> {
  expect(await page.evaluate("window.__ran")).toBeUndefined();
  expect(await page.locator("main img, main script, main svg[onload], main iframe").count()).toBe(0);
  for (const width of [1280, 380]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(TOO_WIDE)).toEqual([]);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

/** Many steps: on a machine that does other things as well they take their time. */
const SLOW_MS = 120_000;

describe.skipIf(!hasChromium)("values that callers wrote", () => {
  let portal: Portal;
  const ids: string[] = [];
  beforeAll(async () => {
    portal = await openPortal();
    const { gateway } = portal;
    const { key } = await gateway.manage("POST", "/workspaces/demo/keys", { name: SCRIPT.slice(0, 100) });
    await gateway.manage("POST", "/workspaces/demo/wallet/credits", { amount: "5" });
    await gateway.manage("POST", "/workspaces/demo/capture-windows", { minutes: 5, reason: `${SCRIPT} ${TURNED}` });
    const values = [SCRIPT, TURNED, LONG, `javascript:window.__ran=1`];
    for (const value of values)
      for (const model of ["sandbox/chat", value]) {
        const { headers } = await gateway.call(String(key), "/v1/chat/completions", {
          body: { model, max_tokens: 400, messages: [{ role: "user", content: `${value} ${SCRIPT} ${TURNED}` }] },
          headers: {
            "x-title": encodedHeader(value),
            "user-agent": encodedHeader(value),
            "x-client-request-id": encodedHeader(value),
          },
        });
        ids.push(headers.get("x-svc-request-id") ?? "");
      }
  });
  afterAll(() => portal?.close());

  test("PORTAL-11 XSS through logged values: the list of requests shows them as text", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("requests"));
    await page.getByRole("table", { name: "Requests" }).getByText("<script>window.__ran=1</script>").first().waitFor();
    const rows = page.getByRole("table", { name: "Requests" }).getByRole("row");
    await expect.poll(() => rows.count()).toBe(ids.length + 1);
    await expectHarmless(page);
    await page.goto(portal.at(`requests?app=${encodeURIComponent(SCRIPT)}&key=${encodeURIComponent(SCRIPT)}`));
    await page.getByText("No requests match").waitFor();
    await expectHarmless(page);
  });

  test("PORTAL-11 XSS through logged values: a request and its captured content show them as text", {
    timeout: SLOW_MS,
  }, async () => {
    const page = await portal.page("operator");
    for (const id of ids) {
      await page.goto(portal.at(`requests/${id}`));
      const show = page.getByRole("button", { name: "Show content" });
      await show.click();
      const capturedRequest = page.getByRole("region", { name: "Captured request", exact: true });
      await capturedRequest.waitFor();
      const text = (await capturedRequest.textContent()) ?? "";
      expect(text).toContain("<script>window.__ran=1</script>");
      // A mark that turns the direction is shown as what it is.
      expect(text).toContain("\\u202e");
      expect(text).not.toContain("\u202E");
      await expectHarmless(page);
    }
    const { data } = await portal.gateway.manage("GET", "/audit?workspace=demo&action=capture.read");
    expect(new Set(data.map((line: { target: string }) => line.target))).toEqual(new Set(ids));
  });

  test("PORTAL-11 XSS through logged values: windows, evidence and its page to save show them as text", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("capture"));
    await page.getByText("Capturing content").waitFor();
    await expectHarmless(page);
    await page.goto(portal.at("evidence"));
    await page.getByRole("heading", { name: "Policies" }).waitFor();
    await expectHarmless(page);
    const html = await page.request.get(`${portal.origin}/manage/workspaces/demo/evidence?format=html`);
    expect(await html.text()).not.toContain("<script>window");
  });

  test("PORTAL-11 an id in the address that is none is text too", async () => {
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at(`requests/${encodeURIComponent(SCRIPT)}`));
    await page.getByText("Request not found").waitFor();
    await expectHarmless(page);
  });
});

/** Header values are bytes: UTF-8 goes over as Latin-1, and only so much of it that a server takes it. */
function encodedHeader(value: string): string {
  return Buffer.from(value.slice(0, 4000), "utf8").toString("latin1");
}
