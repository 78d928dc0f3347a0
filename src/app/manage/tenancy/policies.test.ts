import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../../tests/support/eventually.ts";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";

let room: ManageFixture;
beforeAll(async () => {
  room = await openManageFixture();
  await room.ask("manageCreateWorkspace", { body: { slug: "research" } });
});
afterAll(() => room.close());

const inForce = () => {
  const { floor, noTraining } = room.directory.workspace("research")?.policy ?? {};
  return { floor, noTraining };
};
const patch = (body: Record<string, unknown>) =>
  room.ask("manageChangePolicy", { params: { workspace: "research" }, body });

test("LOG-05 while a policy is written both versions apply, so that no request violates its own version", async () => {
  await patch({ floor: "L2" });
  const gate = Promise.withResolvers<void>();
  const before = room.store.change(async () => {
    await gate.promise;
    return { result: null, audit: null };
  });
  const changing = patch({ floor: "none", no_training: true });
  await eventually(() => expect(inForce()).toEqual({ floor: "L2", noTraining: true }));
  gate.resolve();
  await Promise.all([before, changing]);
  expect(inForce()).toEqual({ floor: null, noTraining: true });
});

test("POL-02 region codes that are no ISO 3166-1 countries are rejected", async () => {
  const codes = "AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ UK DD SU AA";
  for (const code of codes.split(" ")) {
    const said = { params: { workspace: "research" }, body: { countries: ["DE", code] } };
    const { status, param, message } = await room.refusal("manageChangePolicy", said);
    expect([status, param, message]).toEqual([400, "countries", expect.stringContaining(`"${code}"`)]);
  }
  expect(await patch({ countries: ["de", "GR", "DE"] })).toMatchObject({ countries: ["DE", "GR"] });
});
