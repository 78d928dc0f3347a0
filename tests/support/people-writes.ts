import type { Store } from "../../src/io/store/sql/store.ts";

const WATCHED: readonly (string | symbol)[] = ["findOne", "findMany", "create", "update", "delete"];

/** Hooks before the sign-in library reads or writes, such as "update account", and after it: "after update account". */
export function watchWrites(store: Store, before: (what: string) => Promise<void>): void {
  const { createAuthAdapter } = store;
  store.createAuthAdapter = async (fence) => {
    const open = await createAuthAdapter(fence);
    return (options) =>
      new Proxy(open(options), {
        get(adapter, name) {
          const found: unknown = Reflect.get(adapter, name);
          if (typeof found !== "function" || !WATCHED.includes(name)) return found;
          return async (query: { readonly model: string }) => {
            const what = `${String(name)} ${query.model}`;
            await before(what);
            const answer: unknown = await Reflect.apply(found, adapter, [query]);
            await before(`after ${what}`);
            return answer;
          };
        },
      });
  };
}
