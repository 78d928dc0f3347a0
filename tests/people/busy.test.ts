import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Browser, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

/** So many passwords are being checked that one more is sent away. */
const crowd = vi.hoisted(() => ({ isThere: false }));
vi.mock("../../src/kit/password-hash.ts", async (original) => {
  const real = await original<typeof import("../../src/kit/password-hash.ts")>();
  const passwordHasher: typeof real.passwordHasher = (cost) => {
    const { hash, verify } = real.passwordHasher(cost);
    const turned = () => Promise.reject(new real.HashingBusy());
    return {
      hash: (password) => (crowd.isThere ? turned() : hash(password)),
      verify: (password, kept) => (crowd.isThere ? turned() : verify(password, kept)),
    };
  };
  return { ...real, passwordHasher };
});

let gateway: PeopleGateway;
let owner: Browser;
beforeAll(async () => {
  gateway = await peopleGateway({ env: { GATEWAY_SIGN_IN_ACCOUNT_TRIES: "3", GATEWAY_SIGN_IN_ADDRESS_TRIES: "5" } });
  owner = await gateway.setUp();
});
afterAll(() => gateway.close());

test("PORTAL-11 who is sent away while too many passwords are being checked has lost no link and no try", async () => {
  await gateway.join("patient@example.eu");
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  const { id } = data.find(({ email }: { email: string }) => email === "patient@example.eu");
  const { link } = (await owner.post(`/manage/people/${id}/reset-link`)).body;
  const reset = () =>
    gateway
      .browser()
      .post("/manage/auth/reset-password", { token: tokenOf(link), newPassword: "eight green bicycles" });
  crowd.isThere = true;
  for (let at = 0; at < 8; at += 1) {
    const { status, body, headers } = await reset();
    expect([status, body.error?.code, headers.get("retry-after")]).toEqual([503, "service_unavailable", "5"]);
  }
  crowd.isThere = false;
  expect((await reset()).status).toBe(200);
});
