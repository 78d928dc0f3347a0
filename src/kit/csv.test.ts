import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";

test("LOG-02 cells are quoted where they have to be", () => {
  expect(csvLine(['say "hi"', "a,b", "line\nbreak", null, undefined, 5, true, { a: 1 }])).toBe(
    '"say ""hi""","a,b","line\nbreak",,,5,true,"{""a"":1}"\r\n',
  );
});

test("LOG-02 no text runs as a formula, and numbers stay numbers", () => {
  expect(csvLine(["=HYPERLINK(1)", "+1", "-1", "@x", "\tx", -1])).toBe("'=HYPERLINK(1),'+1,'-1,'@x,'\tx,-1\r\n");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(csvLine([text]).replace(/^"/, "")).not.toMatch(/^[=+\-@\t]/);
    }),
  );
});

test("LOG-02 whatever is in a cell, it is one cell and comes back", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 5 }), (cells) => {
      const line = csvLine(cells);
      const found = [...`,${line.slice(0, -2)}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)];
      const read = found.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
      expect(read).toEqual(cells.map((cell) => (/^[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell)));
    }),
  );
});
