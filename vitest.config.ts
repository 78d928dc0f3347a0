import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    setupFiles: ["tests/support/seed.ts"],
    include: ["src/**/*.test.ts", "portal/src/**/*.test.ts", "tests/**/*.test.ts"],
    // A process for each file: tests open sockets, start children and stop them by signal.
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
