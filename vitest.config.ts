import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { COMPILE_CACHE, NODE_FLAGS } from "./scripts/setup.mjs";
import { FailedTests } from "./tests/support/failed-tests.ts";
import { useMemoryForTemporaryFolders } from "./tests/support/memory-folder.ts";

/** Files that run long for their size, by which the others are sorted: at the end, the other workers would wait for them. */
const FIRST = [
  "/tests/simulation/",
  "/tests/fleet/",
  "/tests/workers/",
  "/tests/e2e/",
  "/tests/scale/",
  "/tests/deploy/backup.test.ts",
  "/tests/chat/kill.test.ts",
  "/tests/money/crash-recovery.test.ts",
  "/tests/money/postgres.test.ts",
  "/tests/record/master-key.test.ts",
  "/tests/responses/restart.test.ts",
  "/src/io/store/sql/",
  "/src/io/state/redis/",
];

useMemoryForTemporaryFolders();

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
    reporters: ["default", new FailedTests()],
    include: ["src/**/*.test.ts", "portal/**/*.test.ts", "tests/**/*.test.ts"],
    setupFiles: ["tests/support/seed.ts"],
    // Processes, not threads: tests open sockets, start children and stop them by signal.
    pool: "forks",
    // The launcher gives the gateway's Node the same flags.
    execArgv: NODE_FLAGS.filter((flag) => flag.startsWith("--disable-warning")),
    maxWorkers: 3,
    // A process takes many files and loads the gateway once: a third of the time went into loading it for each.
    isolate: false,
    // Stores and journals are threads that would compile their code again: a third of a gateway's start.
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
