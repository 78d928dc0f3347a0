import type { ExternalClass, ExternalDetector } from "./external-detector.ts";
import { loadPatternEngine, Pattern, type PatternBudget, patternBudget } from "./pattern.ts";
import { TermList } from "./term-list.ts";

const TERM_CHARS_MAX = 200;
/** Shorter ones would be found everywhere. */
const TERM_CHARS_MIN = 3;
/** For the command line, which reads no setting. */
export const LIST_TERMS_MAX = 100_000;

/** What a workspace looks for in its requests, besides what the detectors know. */
export type CustomClassDefinition = {
  readonly terms: readonly string[];
  readonly patterns: readonly string[];
  readonly detector?: ExternalDetector | undefined;
};

export type CustomClassLimits = { readonly terms: number; readonly patterns: number };

/** Why a definition cannot be used; `path` names the term or pattern in it. */
export type DefinitionProblem = { readonly path: string; readonly problem: string };

/** Compiles every pattern once, in slices; undefined: the definition can be used. */
export async function definitionProblem(
  { terms, patterns, detector }: CustomClassDefinition,
  limits: CustomClassLimits,
): Promise<DefinitionProblem | undefined> {
  if (terms.length === 0 && patterns.length === 0 && detector === undefined)
    return { path: "terms", problem: "must have at least one term, or `patterns` one pattern, or set `detector`" };
  if (terms.length > limits.terms) return { path: "terms", problem: `must have at most ${limits.terms} terms` };
  if (patterns.length > limits.patterns)
    return { path: "patterns", problem: `must have at most ${limits.patterns} patterns` };
  const bad = terms.findIndex((term) => termProblem(term) !== undefined);
  if (bad >= 0) return { path: `terms[${bad}]`, problem: termProblem(terms[bad] ?? "") ?? "" };
  if (patterns.length === 0) return undefined;
  const engine = await loadPatternEngine();
  for (const [at, source] of patterns.entries()) {
    const compiled = Pattern.compile(engine, "", source);
    if (!(compiled instanceof Pattern))
      return { path: `patterns[${at}]`, problem: `${compiled.problem} (offset ${compiled.offset})` };
    await new Promise((resolve) => setImmediate(resolve));
  }
  return undefined;
}

/** Undefined: the term can be used. */
export function termProblem(term: string): string | undefined {
  if (term.length > TERM_CHARS_MAX) return `must have at most ${TERM_CHARS_MAX} characters`;
  if (term.trim().length < TERM_CHARS_MIN) return `must have at least ${TERM_CHARS_MIN} characters`;
  return term.trim() === term ? undefined : "must not begin or end with a space";
}

/** What is looked for in a text. */
export type Detectors = {
  readonly classes: ReadonlySet<string>;
  readonly lists: readonly TermList[];
  readonly patterns: readonly Pattern[];
  /** Called once the rest has read a request; their classes are not in `classes`. */
  readonly external: readonly ExternalClass[];
  /** Of the pass over one request. */
  readonly budget: PatternBudget;
};

/** The built-in classes alone. */
export const builtInDetectors = (classes: ReadonlySet<string>): Detectors => ({
  classes,
  lists: [],
  patterns: [],
  external: [],
  budget: patternBudget(),
});

/** Nothing is found in a shorter text. */
export function shortestText({ lists, patterns, external }: Detectors): number {
  return lists.length + patterns.length + external.length === 0 ? BUILT_IN_CHARS_MIN : TERM_CHARS_MIN;
}

/** No built-in detector finds anything in less. */
const BUILT_IN_CHARS_MIN = 5;

/** Builds what finds a class; yields the work done in characters. */
export function* buildCustomClass(
  name: string,
  { terms, patterns }: Pick<CustomClassDefinition, "terms" | "patterns">,
  engine: Awaited<ReturnType<typeof loadPatternEngine>> | undefined,
): Generator<number, Pick<Detectors, "lists" | "patterns">> {
  const lists = terms.length === 0 ? [] : [yield* TermList.build(name, terms)];
  const compiled: Pattern[] = [];
  for (const source of patterns) {
    yield COMPILE_WORK;
    const pattern = engine === undefined ? undefined : Pattern.compile(engine, name, source);
    // Stored patterns were compiled before; one that no longer can must not be ignored.
    if (!(pattern instanceof Pattern)) throw new Error(`a pattern of the class ${name} cannot be compiled`);
    compiled.push(pattern);
  }
  return { lists, patterns: compiled };
}

/** Compiling one pattern, measured in characters that a scan reads in the same time. */
const COMPILE_WORK = 32_768;
