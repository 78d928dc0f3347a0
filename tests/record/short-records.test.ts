import { expect, onTestFinished, test } from "vitest";
import { openBooks } from "../support/books.ts";
import { openScene } from "../support/scene.ts";

test("LOG-01 the embedded store keeps compact records, and the log shows them in full", async () => {
  const scene = await openScene(["deepinfra"]);
  onTestFinished(() => scene.close());
  const { key } = await scene.gateway.tenant();
  const { status, headers } = await scene.chat(key, {});
  expect(status).toBe(200);
  const id = String(headers.get("x-svc-request-id"));
  const shown = await scene.row(id);
  const books = openBooks(scene.gateway.dataDir);
  const written = String(books.prepare("select record from request_records where id = ?").get(id)?.["record"]);
  books.close();
  const { endpoint, attempts, decision, short } = JSON.parse(written);
  expect(short).toBe(true);
  expect([endpoint.startsWith("deepinfra:"), attempts[0].endpoint, decision.order]).toEqual([
    true,
    undefined,
    undefined,
  ]);
  expect(shown.attempts[0]).toMatchObject({ endpoint, provider: "deepinfra", maybe_accepted: false });
  expect(shown.decision.candidates).toContainEqual(expect.objectContaining({ endpoint, provider: "deepinfra" }));
});
