import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { PASSWORD, peopleGateway, tokenOf } from "../support/people.ts";

test("PORTAL-11 links made with the operator token are valid as long as the token", async () => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-test-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const started = (token: string) => peopleGateway({ dataDir, env: { GATEWAY_ADMIN_TOKEN: token.repeat(40) } });

  const first = await started("a");
  await first.setUp();
  const invite = async (email: string) => (await first.manage("POST", "/workspaces/demo/invitations", { email })).link;
  const resetLink = async (email: string) => {
    await first.join(email);
    return (await first.manage("POST", `/workspaces/demo/members/${email}/reset-link`)).link;
  };
  const [early, late] = [await invite("early@example.eu"), await invite("late@example.eu")];
  const [quick, slow] = [await resetLink("quick@example.eu"), await resetLink("slow@example.eu")];
  await first.close();

  const listed = async (gateway: typeof first) => {
    const { data } = await gateway.manage("GET", "/workspaces/demo/invitations");
    return data
      .filter(({ email }: { email: string }) => ["early@example.eu", "late@example.eu"].includes(email))
      .map(({ invited_by, state }: { invited_by: string; state: string }) => [invited_by, state]);
  };
  const used = async (gateway: typeof first, invitation: string, reset: string) => {
    const account = { name: "Eve", password: PASSWORD };
    const accepted = await gateway.browser().post(`/manage/invitations/${tokenOf(invitation)}/accept`, account);
    const newPassword = "eight green bicycles";
    const set = await gateway.browser().post("/manage/auth/reset-password", { token: tokenOf(reset), newPassword });
    return [accepted.status, set.status];
  };

  const same = await started("a");
  expect(await used(same, early, quick)).toEqual([200, 200]);
  expect(await listed(same)).toEqual([
    ["operator", "open"],
    ["operator", "accepted"],
  ]);
  await same.close();

  const replaced = await started("b");
  expect(await used(replaced, late, slow)).toEqual([404, 400]);
  expect(await listed(replaced)).toEqual([
    ["operator", "revoked"],
    ["operator", "accepted"],
  ]);
  await replaced.close();
});
