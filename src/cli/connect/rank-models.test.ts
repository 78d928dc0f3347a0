import { expect, test } from "vitest";
import { opencode } from "./chat-clients.ts";
import { pickModel, shownModels } from "./pick-model.ts";
import { rankModels } from "./rank-models.ts";

const row = (id: string, family: string, released: string | null, quality: number | null, sandbox = false) => ({
  id,
  svc_family: family,
  created: released === null ? 0 : Date.parse(released) / 1000,
  svc_quality: quality,
  svc_sandbox: sandbox,
});
const idsOf = (rows: Parameters<typeof rankModels>[0]) => rankModels(rows).map(({ id }) => id);

test("PORTAL-09 a newer model without a score ranks above its best older relative, by date or by version", () => {
  expect(
    idsOf([
      row("sandbox/chat", "sandbox", null, 0.9, true),
      row("b/unscored", "other", "2026-10-01", null),
      row("a/opus-4", "opus", "2025-11-01", 0.7),
      row("a/opus-5", "opus", "2026-06-01", 0.8),
      row("a/opus-6", "opus", "2026-10-01", null),
      row("a/opus-6-1", "opus", null, null),
      row("a/opus-3", "opus", "2024-01-01", null),
      row("c/rival", "rival", "2026-01-01", 0.75),
      row("c/mini-2", "mini", null, null),
      row("c/mini-1", "mini", null, 0.3),
    ]),
  ).toEqual([
    "a/opus-6",
    "a/opus-6-1",
    "a/opus-5",
    "c/rival",
    "a/opus-4",
    "c/mini-2",
    "c/mini-1",
    "b/unscored",
    "a/opus-3",
    "sandbox/chat",
  ]);
});

test("PORTAL-09 every model is shown, the chosen one first; a bare name selects the one model that has it", () => {
  const rows = Array.from({ length: 200 }, (_, index) => row(`lab/model-${index}`, "lab", null, null));
  const models = rankModels([...rows, row("sandbox/chat", "sandbox", null, null, true)]);
  const chosen = pickModel(models, opencode, "model-7");
  expect(chosen.id).toBe("lab/model-7");
  const shown = shownModels(models, chosen);
  expect([shown.length, shown[0]?.id]).toEqual([200, "lab/model-7"]);
  expect(pickModel(models, opencode, "@team/router").id).toBe("@team/router");
});
