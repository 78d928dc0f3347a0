import { defineConfig } from "vitest/config";

/** They change how modules are loaded, which nobody else may see. */
const ALONE = ["tests/simulation/**/*.test.ts"];

export default defineConfig({
  test: {
    environment: "node",
    setupFiles: ["tests/support/seed.ts", "tests/support/patience.ts"],
    // Processes, not threads: tests open sockets, start children and stop them by signal.
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 30_000,
    // A stale portal is built before its first test.
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["src/**/*.test.ts", "portal/**/*.test.ts", "tests/**/*.test.ts"],
          exclude: ALONE,
          // A process takes many files and loads the gateway once: a third of the time went into loading it for each.
          isolate: false,
        },
      },
      { extends: true, test: { name: "simulation", include: ALONE } },
    ],
  },
});
