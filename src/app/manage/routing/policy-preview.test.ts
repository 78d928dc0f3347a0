import { afterAll, beforeAll, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";

let room: ManageFixture;
beforeAll(async () => {
  room = await openManageFixture();
  await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
});
afterAll(() => room.close());

test("PORTAL-06 the catalogue scope has every endpoint except retired ones and uncallable simulated models", async () => {
  const { endpoints, models } = room.snapshot;
  const preview = await room.ask("managePreviewPolicy", {
    ...{ params: { workspace: "lab" }, query: "scope=catalogue", body: {} },
  });
  const shown = Array.isArray(preview["models"]) ? preview["models"].flatMap((model) => model.endpoints) : [];
  const all = [...endpoints.values()];
  const real = all.filter(({ model }) => models.get(model)?.sandbox === false);
  const wanted = real.filter(({ status }) => status !== "retired");
  expect(shown.map(({ id }) => id).toSorted()).toEqual(wanted.map(({ id }) => id).toSorted());
  // Without either of them this would say nothing.
  expect([real.length > wanted.length, all.length > real.length]).toEqual([true, true]);
});
