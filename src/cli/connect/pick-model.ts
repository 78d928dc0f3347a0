import { CliError } from "../command.ts";
import type { ClientKind, KnownModel } from "./client-kind.ts";

/** The model that was named, or the best one of the kind the client is made for. */
export function pickModel(models: readonly KnownModel[], client: ClientKind, named: unknown): KnownModel {
  if (typeof named === "string")
    // A router is no entry of the list, and is a model all the same.
    return findNamed(models, named) ?? unlisted(named);
  const real = models.filter(({ isSandbox }) => !isSandbox);
  for (const wish of client.prefers)
    for (const from of [real, models]) {
      const found = from.find(({ id }) => wish.test(id));
      if (found !== undefined) return found;
    }
  const [best] = models;
  if (best === undefined)
    throw new CliError("This key cannot use any chat model. Connect a provider, or check the policy of the workspace.");
  return best;
}

function unlisted(id: string): KnownModel {
  return {
    id,
    name: id,
    contextTokens: null,
    outputTokens: null,
    isSandbox: false,
    hasReasoning: false,
    readsImages: false,
  };
}

/** By its id, or by an id without creator that only one model has. */
function findNamed(models: readonly KnownModel[], named: string): KnownModel | undefined {
  const bare = models.filter(({ id, isSandbox }) => !isSandbox && id.slice(id.indexOf("/") + 1) === named);
  return models.find(({ id }) => id === named) ?? (bare.length === 1 ? bare[0] : undefined);
}

export function pickSmall(models: readonly KnownModel[], client: ClientKind, main: KnownModel): KnownModel {
  const { prefersSmall } = client;
  if (prefersSmall === undefined || !/claude/.test(main.id)) return main;
  return models.find(({ id, isSandbox }) => isSandbox === main.isSandbox && prefersSmall.test(id)) ?? main;
}

/** What a picker shall show: the chosen one first, simulated ones only where there is nothing else. */
export function shownModels(models: readonly KnownModel[], chosen: KnownModel): KnownModel[] {
  return [chosen, ...models.filter(({ id, isSandbox }) => id !== chosen.id && (chosen.isSandbox || !isSandbox))];
}
