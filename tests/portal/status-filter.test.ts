import { expect, test } from "vitest";
import { STATUS_CODES } from "../../portal/src/screens/requests/status-codes.ts";
import { FAULTS } from "../../src/contract/faults.ts";

const CLIENT_DISCONNECTED = 499;

test("LOG-01 the status filter of the request log offers every status of the error codes", () => {
  const statuses = new Set<number>([...Object.values(FAULTS).map(({ status }) => status), CLIENT_DISCONNECTED]);
  expect([...STATUS_CODES]).toEqual([...statuses].toSorted((one, other) => one - other));
});
