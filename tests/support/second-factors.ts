import { expect } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";
import { change, libraryOn, person } from "./people-rows.ts";

/** The store before each person had one second factor. */
export const BEFORE_ONE_FACTOR = [
  "drop index people_two_factors_by_person",
  "create index people_two_factors_by_person on people_two_factors (user_id)",
  "delete from schema_migrations where number = 36",
];

export const factorRow = (id: string, userId: string, verified: 0 | 1 | null) =>
  `insert into people_two_factors (id, user_id, secret, backup_codes, verified)
    values ('${id}', '${userId}', 'secret of ${id}', 'codes', ${verified})`;

/** A store with several second factors of a person, opened by this version. */
export async function expectOneFactorEach(
  open: () => Promise<Store>,
  run: (statements: readonly string[]) => Promise<void>,
): Promise<void> {
  const people = ["per_confirmed", "per_several", "per_waiting", "per_old", "per_one"];
  let store = await open();
  await change(store, async (writer) => {
    for (const id of people) await writer.addPerson(person(id));
  });
  await store.close();
  await run([
    ...BEFORE_ONE_FACTOR,
    ...[factorRow("aut_01", "per_confirmed", 0), factorRow("aut_02", "per_confirmed", 1)],
    factorRow("aut_per_confirmed", "per_confirmed", 0),
    ...[factorRow("aut_04", "per_several", 1), factorRow("aut_03", "per_several", 1)],
    ...[factorRow("aut_06", "per_waiting", 0), factorRow("aut_05", "per_waiting", 0)],
    // From before confirmation was stored: the library treats it as enabled.
    ...[factorRow("aut_07", "per_old", null), factorRow("aut_08", "per_old", 0)],
    factorRow("aut_09", "per_one", 0),
  ]);
  store = await open();
  const library = await libraryOn(store);
  const of = async (userId: string) => {
    const found = await library.findMany<{ id: string }>({
      model: "twoFactor",
      where: [{ field: "userId", value: userId }],
    });
    return found.map(({ id }) => id);
  };
  expect(await Promise.all(people.map(of))).toEqual([["aut_02"], ["aut_04"], ["aut_06"], ["aut_07"], ["aut_09"]]);
  const add = (userId: string) =>
    library.create({
      model: "twoFactor",
      data: { id: "aut_10", userId, secret: "s", backupCodes: "b", verified: false },
      forceAllowId: true,
    });
  for (const userId of ["per_confirmed", "per_old"]) await expect(add(userId)).rejects.toThrow("too late");
  // A factor added by an instance of an earlier version awaits its code; another replaces it.
  await add("per_one");
  expect(await of("per_one")).toEqual(["aut_10"]);
  await store.close();
  await expect(run([factorRow("aut_11", "per_one", 0)])).rejects.toThrow(/unique/i);
}
