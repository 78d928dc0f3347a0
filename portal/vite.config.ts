import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { guides } from "../scripts/guides/guides-plugin.ts";

const HERE = import.meta.dirname;

export default defineConfig({
  root: HERE,
  base: "/app/",
  publicDir: false,
  cacheDir: path.join(HERE, "../.cache/vite"),
  plugins: [react(), tailwind(), themeFirst(), preloadFont(), precompress(), guides(path.join(HERE, ".."))],
  build: {
    outDir: path.join(HERE, "dist"),
    emptyOutDir: true,
    target: ["chrome125", "firefox128", "safari17.5"],
    // The content security policy allows no inline scripts, styles or fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        index: path.join(HERE, "index.html"),
        guides: path.join(HERE, "src/guides/guides.ts"),
        "guides-search": path.join(HERE, "src/guides/guides-search.ts"),
      },
      // The guides import the search by its URL, so its exports must stay.
      preserveEntrySignatures: "exports-only",
    },
    reportCompressedSize: false,
    // A test sums up the size of each screen's chunks.
    manifest: "assets/manifest.json",
    sourcemap: false,
  },
});

/** Sets the selected theme before the first paint. */
function themeFirst(): Plugin {
  return {
    name: "theme-first",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle = {} }) {
        const file = Object.keys(bundle).find((name) => /assets\/theme-first-[^/]+\.js$/.test(name));
        return file === undefined ? [] : [{ tag: "script", attrs: { src: `/app/${file}` }, injectTo: "head-prepend" }];
      },
    },
    buildStart() {
      const source = readFileSync(path.join(HERE, "theme-first.js"), "utf8");
      this.emitFile({ type: "asset", name: "theme-first.js", source });
    },
  };
}

/** Loads the text font with the page instead of after its styles. */
function preloadFont(): Plugin {
  return {
    name: "preload-font",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_html, { bundle = {} }) {
        const file = Object.keys(bundle).find((name) => /assets\/inter-latin-wght-normal-[^/]+\.woff2$/.test(name));
        if (file === undefined) return [];
        const attrs = { rel: "preload", as: "font", type: "font/woff2", href: `/app/${file}`, crossorigin: true };
        return [{ tag: "link", attrs, injectTo: "head" }];
      },
    },
  };
}

/** Writes a brotli and a gzip copy next to each file, so that requests need no compression; fonts are compressed. */
function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    // After all other plugins have changed the files.
    async writeBundle({ dir = "" }, bundle) {
      const names = Object.keys(bundle).filter((name) => /\.(?:js|css|svg)$/.test(name));
      await Promise.all(names.map((name) => compress(path.join(dir, name))));
    },
  };
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file);
  const quality = { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } };
  await writeFile(`${file}.br`, await promisify(brotliCompress)(bytes, quality));
  await writeFile(`${file}.gz`, await promisify(gzip)(bytes, { level: 9 }));
}
