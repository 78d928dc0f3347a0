import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE, NODE_FLAGS } from "./scripts/setup.mjs";

/** Long for the size of their files, by which the others are sorted: started last, the other workers would wait for them. */
const FIRST = ["/tests/simulation/", "/tests/fleet/", "/tests/workers/", "/crash-recovery.test.ts", "/kill.test.ts"];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ moduleId }: TestSpecification) => FIRST.some((part) => moduleId.includes(part));
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}

export default defineConfig({
  test: {
    environment: "node",
    include: ["src/**/*.test.ts", "portal/**/*.test.ts", "tests/**/*.test.ts"],
    setupFiles: ["tests/support/seed.ts"],
    // Processes, not threads: tests open sockets, start children and stop them by signal.
    pool: "forks",
    // The gateway's own Node is told the same, by its launcher.
    execArgv: NODE_FLAGS.filter((flag) => flag.startsWith("--disable-warning")),
    maxWorkers: 3,
    // A process takes many files and loads the gateway once: a third of the time went into loading it for each.
    isolate: false,
    // Stores and journals are threads, and each would compile its code anew: a third of a gateway's start.
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    sequence: { sequencer: LongFirst },
    // A browser, a gateway and axe on a busy machine take their time.
    testTimeout: 90_000,
    // As in tests/support/eventually.ts.
    expect: { poll: { timeout: 15_000 } },
    // A stale portal is built before its first test.
    hookTimeout: 120_000,
  },
});
