import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Browser, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";
import { gate } from "../support/response-callers.ts";

let gateway: PeopleGateway;
let owner: Browser;
beforeAll(async () => {
  gateway = await peopleGateway({ env: { GATEWAY_SIGN_IN_ADDRESS_TRIES: "200" } });
  owner = await gateway.setUp();
});
afterAll(() => gateway.close());

const { argon2 } = crypto;
const hashBy = (hash: typeof argon2) => {
  crypto.argon2 = hash;
  syncBuiltinESMExports();
};

test("PORTAL-11 a link stays valid when its request is rejected because of too many password checks", async () => {
  await gateway.join("patient@example.eu");
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  const { id } = data.find(({ email }: { email: string }) => email === "patient@example.eu");
  const { link } = (await owner.post(`/manage/people/${id}/reset-link`)).body;
  const sent = { token: tokenOf(link), newPassword: "eight green bicycles" };
  const reset = () => gateway.browser().post("/manage/auth/reset-password", sent);
  const slow = gate();
  hashBy((...given: Parameters<typeof argon2>) => void slow.closed.then(() => argon2(...given)));
  try {
    const crowd = Array.from({ length: 80 }, (_, at) =>
      gateway
        .browser()
        .post("/manage/auth/sign-in/email", { email: `nobody-${at}@example.eu`, password: "whatever it is" }),
    );
    await Promise.any(crowd.map(async (one) => expect((await one).status).toBe(503)));
    const { status, body, headers } = await reset();
    expect([status, body.error?.code, headers.get("retry-after")]).toEqual([503, "service_unavailable", "5"]);
    slow.open();
    await Promise.all(crowd);
  } finally {
    slow.open();
    hashBy(argon2);
  }
  expect((await reset()).status).toBe(200);
});
