import { InvalidArgumentError } from "commander";
import { NODE_SURFACES, type NodeSurface } from "../domain/tenancy/node.ts";

/** `local=value,local=value`, with model ids of a local server on the left. */
export function localPairs(text: string, shape: string): (readonly [local: string, value: string])[] {
  return text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    const [local, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 0 || local === "" || value === "") throw new InvalidArgumentError(`Must be ${shape}.`);
    return [local, value] as const;
  });
}

const isSurface = (name: string): name is NodeSurface => NODE_SURFACES.some((known) => known === name);

/** `bge-m3=embeddings,both=chat+embeddings`. */
export function modelSurfaces(text: string): Record<string, NodeSurface[]> {
  const shape = "local=surfaces, such as bge-m3=embeddings or both=chat+embeddings";
  const pairs = localPairs(text, shape).map(([local, value]) => {
    const named = value.split("+").map((surface) => surface.trim());
    const surfaces = named.filter(isSurface);
    if (surfaces.length !== named.length) throw new InvalidArgumentError(`Must be ${shape}.`);
    return [local, surfaces] as const;
  });
  return Object.fromEntries(pairs);
}
