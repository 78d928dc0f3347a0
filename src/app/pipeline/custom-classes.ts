import { vocabularySteps } from "../../domain/data-classes/context.ts";
import {
  buildCustomClass,
  type CustomClassDefinition,
  type Detectors,
} from "../../domain/data-classes/custom-class.ts";
import type { ExternalClass } from "../../domain/data-classes/external-detector.ts";
import { loadPatternEngine, patternBudget } from "../../domain/data-classes/pattern.ts";
import type { CustomClass } from "../../domain/tenancy/custom-class.ts";
import { DATA_CLASSES } from "../../domain/tenancy/data-class-rules.ts";
import { inTurns } from "../../kit/in-turns.ts";

/** Of terms that are ready to be looked for, in all workspaces: each character takes up to 60 bytes. */
const READY_CHARS_MAX = 4_000_000;

/** Undefined: the class was removed meanwhile. */
type ReadDefinition = (customClass: CustomClass) => Promise<CustomClassDefinition | undefined>;
type Ready = Pick<Detectors, "classes" | "lists" | "patterns" | "external">;
type ReadyClasses = { readonly versions: string; readonly detectors: Promise<Ready>; chars: number };

const BUILT_IN: Ready = { classes: new Set(DATA_CLASSES), lists: [], patterns: [], external: [] };
const NONE: ReadonlyMap<string, CustomClass> = new Map();

/**
 * The data classes that workspaces define. What they look for is read and decrypted on first use, and kept as long as it is
 * among the latest used.
 */
export class CustomClasses {
  readonly #read: ReadDefinition;
  readonly #byWorkspace = new Map<string, Map<string, CustomClass>>();
  /** By workspace, the least recently used first. */
  readonly #ready = new Map<string, ReadyClasses>();

  constructor(read: ReadDefinition) {
    this.#read = read;
  }

  of(workspaceId: string): ReadonlyMap<string, CustomClass> {
    return this.#byWorkspace.get(workspaceId) ?? NONE;
  }

  /** Replaces all classes of a workspace. */
  replace(workspaceId: string, classes: readonly CustomClass[]): void {
    if (classes.length === 0) this.#byWorkspace.delete(workspaceId);
    else this.#byWorkspace.set(workspaceId, new Map(classes.map((one) => [one.name, one])));
    if (this.#ready.get(workspaceId)?.versions !== this.#versionsOf(workspaceId)) this.#ready.delete(workspaceId);
  }

  /** For one pass over a request. Rejects when a definition cannot be read: nothing is then known of the request. */
  async detectors(workspaceId: string): Promise<Detectors> {
    await inTurns(vocabularySteps());
    const ready = this.of(workspaceId).size === 0 ? BUILT_IN : await this.#readyFor(workspaceId);
    return { ...ready, budget: patternBudget() };
  }

  #versionsOf(workspaceId: string): string {
    return [...this.of(workspaceId).values()].map(({ name, version }) => `${name} ${version}`).join("\n");
  }

  #readyFor(workspaceId: string): Promise<Ready> {
    const versions = this.#versionsOf(workspaceId);
    const known = this.#ready.get(workspaceId);
    this.#ready.delete(workspaceId);
    const ready =
      known?.versions === versions ? known : { versions, detectors: this.#build(workspaceId, versions), chars: 0 };
    this.#ready.set(workspaceId, ready);
    return ready.detectors;
  }

  async #build(workspaceId: string, versions: string): Promise<Ready> {
    try {
      const built: (Pick<Detectors, "lists" | "patterns"> & { readonly name: string })[] = [];
      const external: ExternalClass[] = [];
      let chars = 0;
      for (const customClass of [...this.of(workspaceId).values()]) {
        const { name } = customClass;
        const definition = await this.#read(customClass);
        if (definition === undefined) continue;
        const engine = definition.patterns.length === 0 ? undefined : await loadPatternEngine();
        if (definition.detector !== undefined) external.push({ class: name, detector: definition.detector });
        built.push({ name, ...(await inTurns(buildCustomClass(name, definition, engine))) });
        for (const term of definition.terms) chars += term.length;
      }
      this.#evict(workspaceId, versions, chars);
      const lists = built.flatMap((one) => one.lists);
      const patterns = built.flatMap((one) => one.patterns);
      const classes = new Set([...DATA_CLASSES, ...built.map(({ name }) => name)]);
      for (const one of external) classes.delete(one.class);
      return { classes, lists, patterns, external };
    } catch (error) {
      // The next request tries again.
      if (this.#ready.get(workspaceId)?.versions === versions) this.#ready.delete(workspaceId);
      throw error;
    }
  }

  #evict(workspaceId: string, versions: string, chars: number): void {
    const own = this.#ready.get(workspaceId);
    if (own?.versions === versions) own.chars = chars;
    let all = [...this.#ready.values()].reduce((sum, one) => sum + one.chars, 0);
    for (const [oldest, one] of this.#ready) {
      if (all <= READY_CHARS_MAX) return;
      if (oldest === workspaceId) continue;
      this.#ready.delete(oldest);
      all -= one.chars;
    }
  }
}
