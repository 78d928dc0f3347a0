import type { Clock } from "../kit/clock.ts";
import type { MaybePromise } from "../kit/maybe-promise.ts";
import { cancelTimer, type Timers } from "../kit/timers.ts";

/** `unflushed`: SQL or Redis did not take everything, and the next start has to. */
export type CloseResult = "clean" | "unflushed";

/** What a component does after its start; every hook is optional. */
type LifecycleHooks<Value, DrainOptions> = {
  /** All components are started: begin work that other components or clients may see. In start order. */
  ready?(value: Value): MaybePromise<unknown>;
  /** Finish work in progress. Runs after every dependent has drained; independent components drain concurrently. */
  drain?(value: Value, options: DrainOptions): MaybePromise<unknown>;
  /** Release resources. In reverse start order. */
  close?(value: Value): MaybePromise<CloseResult | undefined>;
};

/** One component: the components it needs by name, how its value is created from them, and its lifecycle. */
export type Component<All, Value, DrainOptions, Dependency extends keyof All> = LifecycleHooks<Value, DrainOptions> & {
  readonly dependsOn: readonly Dependency[];
  start(dependencies: Pick<All, Dependency>): MaybePromise<Value>;
};

/** Every component of `All`, which maps names to values. */
export type ComponentSet<All, DrainOptions> = {
  readonly [Name in keyof All]: Component<All, All[Name], DrainOptions, keyof All>;
};

/**
 * Fixes `All` and `DrainOptions`, so that the dependencies of each component are inferred from its `dependsOn`: its
 * `start` can use those and no others.
 */
export function componentFactory<All, DrainOptions>() {
  return <Value, const Dependency extends keyof All = never>(
    dependsOn: readonly Dependency[],
    start: (dependencies: Pick<All, Dependency>) => MaybePromise<Value>,
    hooks: LifecycleHooks<Value, DrainOptions> = {},
  ): Component<All, Value, DrainOptions, Dependency> => ({ dependsOn, start, ...hooks });
}

type DependencyGraph = { readonly [name: string]: { readonly dependsOn: readonly PropertyKey[] } };

/** Names so that each follows all of its dependencies; otherwise in the order of their declaration. */
export function startOrder(components: DependencyGraph): readonly string[] {
  const order = new Set<string>();
  const visit = (name: string, path: readonly string[]) => {
    if (order.has(name)) return;
    if (path.includes(name))
      throw new Error(`component cycle: ${[...path.slice(path.indexOf(name)), name].join(" → ")}`);
    const component = Object.hasOwn(components, name) ? components[name] : undefined;
    if (component === undefined) throw new Error(`component ${path.at(-1)} depends on ${name}, which does not exist`);
    for (const dependency of component.dependsOn) visit(String(dependency), [...path, name]);
    order.add(name);
  };
  for (const name of Object.keys(components)) visit(name, []);
  return [...order];
}

export type ComponentState =
  | "pending"
  | "starting"
  | "started"
  | "ready"
  | "draining"
  | "drained"
  | "closed"
  | "failed";

export type ComponentReport = {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly state: ComponentState;
  /** Undefined until it has started. */
  readonly startMs: number | undefined;
};

type ComponentRuntimeDeps = {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
};

/** A failed start does not wait longer than this for the components that it closes. */
const FAILED_START_CLOSE_MS = 5_000;

/** The hooks of a started component, bound to its value. */
type StartedComponent<DrainOptions> = {
  ready(): MaybePromise<unknown>;
  drain(options: DrainOptions): MaybePromise<unknown>;
  close(): MaybePromise<CloseResult | undefined>;
};

/** Starts and stops a set of components in the order that follows from their dependencies. */
export class ComponentRuntime<All extends object, DrainOptions> {
  readonly #components: ComponentSet<All, DrainOptions>;
  readonly #deps: ComponentRuntimeDeps;
  readonly #order: readonly (keyof All & string)[];
  readonly #values = new Map<PropertyKey, unknown>();
  /** In start order. */
  readonly #started = new Map<string, StartedComponent<DrainOptions>>();
  readonly #states = new Map<string, ComponentState>();
  readonly #startMs = new Map<string, number>();

  /** Throws when a dependency is missing or circular. */
  constructor(components: ComponentSet<All, DrainOptions>, deps: ComponentRuntimeDeps) {
    this.#components = components;
    this.#deps = deps;
    this.#order = startOrder(components).filter((name): name is keyof All & string => name in components);
  }

  /** One component after the other. If one fails, those that are started are closed in reverse order. */
  async start(): Promise<All> {
    for (const name of this.#order) {
      try {
        await this.#startComponent(name);
      } catch (error) {
        this.#states.set(name, "failed");
        await this.#withDeadline(
          this.close().catch(() => undefined),
          FAILED_START_CLOSE_MS,
        );
        throw error;
      }
    }
    const values: object = Object.fromEntries(this.#values);
    if (!hasMembers<All>(values, this.#order)) throw new Error("a component was not started");
    return values;
  }

  async ready(): Promise<void> {
    for (const [name, component] of this.#started) {
      await component.ready();
      this.#states.set(name, "ready");
    }
  }

  /** Resolves when all components have drained, or at the deadline; then with the names of those that have not. */
  async drain(options: DrainOptions, deadlineMs: number): Promise<readonly string[]> {
    const drains = new Map<string, Promise<void>>();
    // Dependents come later in start order, so their drains are known when they are awaited.
    for (const [name, component] of [...this.#started].reverse()) {
      const dependents = this.#order.filter((other) => this.#components[other].dependsOn.some((dep) => dep === name));
      const drain = async () => {
        await Promise.all(dependents.map((dependent) => drains.get(dependent)));
        this.#states.set(name, "draining");
        await component.drain(options);
        this.#states.set(name, "drained");
      };
      drains.set(name, drain());
    }
    await this.#withDeadline(Promise.all(drains.values()), deadlineMs);
    return [...this.#started.keys()].filter((name) => this.#states.get(name) !== "drained");
  }

  /** Closes all started components, also when one fails; then throws its error. */
  async close(): Promise<CloseResult> {
    const failures: unknown[] = [];
    let result: CloseResult = "clean";
    for (const [name, component] of [...this.#started].reverse()) {
      try {
        if ((await component.close()) === "unflushed") result = "unflushed";
        this.#states.set(name, "closed");
      } catch (error) {
        this.#states.set(name, "failed");
        failures.push(error);
      }
      this.#started.delete(name);
    }
    if (failures.length > 0) throw failures[0];
    return result;
  }

  /** In start order. */
  report(): readonly ComponentReport[] {
    return this.#order.map((name) => ({
      name,
      dependsOn: this.#components[name].dependsOn.map(String),
      state: this.#states.get(name) ?? "pending",
      startMs: this.#startMs.get(name),
    }));
  }

  async #startComponent<Name extends keyof All & string>(name: Name): Promise<void> {
    const component = this.#components[name];
    this.#states.set(name, "starting");
    const startedAtMs = this.#deps.clock.monotonicMs();
    const value = await component.start(this.#select(component.dependsOn));
    this.#startMs.set(name, this.#deps.clock.monotonicMs() - startedAtMs);
    this.#values.set(name, value);
    this.#started.set(name, {
      ready: () => component.ready?.(value),
      drain: (options) => component.drain?.(value, options),
      close: () => component.close?.(value),
    });
    this.#states.set(name, "started");
  }

  /** Only the named values: a component that uses an undeclared one fails at once, whatever the order. */
  #select<Name extends keyof All>(names: readonly Name[]): Pick<All, Name> {
    const selected: object = Object.fromEntries(names.map((name) => [name, this.#values.get(name)]));
    if (!hasMembers<Pick<All, Name>>(selected, names)) throw new Error("a component was not started");
    return selected;
  }

  async #withDeadline(work: Promise<unknown>, deadlineMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.timers.after(deadlineMs, resolve);
    try {
      await Promise.race([work, promise]);
    } finally {
      cancelTimer(timer);
    }
  }
}

function hasMembers<T>(value: object, names: readonly PropertyKey[]): value is T & object {
  return names.every((name) => Object.hasOwn(value, name));
}
