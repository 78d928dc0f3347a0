import { describe, expect, test } from "vitest";
import { qrModules } from "./qr.ts";

/** Reads a picture back by the standard's rules, written apart from the encoder: what it drew has to say the text. */
function read(dark: readonly (readonly boolean[])[]): { text: string; number: number } {
  const size = dark.length;
  const number = (size - 17) / 4;
  const at = (x: number, y: number) => (dark[y]?.[x] === true ? 1 : 0);
  let format = 0;
  for (const [x, y] of [
    [0, 8],
    [1, 8],
    [2, 8],
    [3, 8],
    [4, 8],
    [5, 8],
    [7, 8],
    [8, 8],
    [8, 7],
    [8, 5],
    [8, 4],
    [8, 3],
    [8, 2],
    [8, 1],
    [8, 0],
  ] as const)
    format = format * 2 + at(x, y);
  format ^= 0b101010000010010;
  expect(format >> 13, "level M").toBe(0);
  const mask = (format >> 10) & 7;
  const bits: number[] = [];
  let isUp = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right -= 1;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) if (!isPattern(x, y, size, number)) bits.push(at(x, y) ^ maskAt(mask, x, y));
    }
    isUp = !isUp;
  }
  const bytes = [];
  for (let from = 0; from + 8 <= bits.length; from += 8)
    bytes.push(Number.parseInt(bits.slice(from, from + 8).join(""), 2));
  return { text: textOf(bytes, number), number };
}

/** Centres of alignment patterns, and the blocks of level M: [how many, data, check]. */
const CENTRES: Record<number, number[]> = {
  1: [],
  2: [6, 18],
  3: [6, 22],
  4: [6, 26],
  5: [6, 30],
  6: [6, 34],
  7: [6, 22, 38],
  8: [6, 24, 42],
  9: [6, 26, 46],
  10: [6, 28, 50],
};
const BLOCKS: Record<number, [number, number, number][]> = {
  1: [[1, 16, 10]],
  2: [[1, 28, 16]],
  3: [[1, 44, 26]],
  4: [[2, 32, 18]],
  5: [[2, 43, 24]],
  6: [[4, 27, 16]],
  7: [[4, 31, 18]],
  8: [
    [2, 38, 22],
    [2, 39, 22],
  ],
  9: [
    [3, 36, 22],
    [2, 37, 22],
  ],
  10: [
    [4, 43, 26],
    [1, 44, 26],
  ],
};

function isPattern(x: number, y: number, size: number, number: number): boolean {
  if (x === 6 || y === 6) return true;
  if ((x < 9 && y < 9) || (x < 9 && y >= size - 8) || (x >= size - 8 && y < 9)) return true;
  if (number >= 7 && ((x < 6 && y >= size - 11) || (y < 6 && x >= size - 11))) return true;
  const centres = CENTRES[number] ?? [];
  const last = centres.at(-1) ?? 0;
  return centres.some((cx) =>
    centres.some((cy) => {
      const isCorner = (cx === 6 && cy === 6) || (cx === 6 && cy === last) || (cx === last && cy === 6);
      return !isCorner && Math.abs(cx - x) <= 2 && Math.abs(cy - y) <= 2;
    }),
  );
}

function maskAt(mask: number, x: number, y: number): number {
  const conditions = [
    (x + y) % 2,
    y % 2,
    x % 3,
    (x + y) % 3,
    (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
    ((x * y) % 2) + ((x * y) % 3),
    (((x * y) % 2) + ((x * y) % 3)) % 2,
    (((x + y) % 2) + ((x * y) % 3)) % 2,
  ];
  return conditions[mask] === 0 ? 1 : 0;
}

function textOf(bytes: readonly number[], number: number): string {
  const blocks = (BLOCKS[number] ?? []).flatMap(([count, data, check]) =>
    Array.from({ length: count }, () => ({ data, check, bytes: [] as number[] })),
  );
  let next = 0;
  const longest = Math.max(...blocks.map(({ data }) => data));
  for (let column = 0; column < longest; column += 1)
    for (const block of blocks) if (column < block.data) block.bytes.push(bytes[next++] ?? 0);
  const data = blocks.flatMap((block) => block.bytes.slice());
  for (let column = 0; column < (blocks[0]?.check ?? 0); column += 1)
    for (const block of blocks) block.bytes.push(bytes[next++] ?? 0);
  for (const block of blocks) expect(syndromes(block.bytes, block.check)).toEqual(new Array(block.check).fill(0));
  const bits = data.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  expect(bits.slice(0, 4), "mode").toBe("0100");
  const lengthBits = number < 10 ? 8 : 16;
  const length = Number.parseInt(bits.slice(4, 4 + lengthBits), 2);
  const read = Array.from({ length }, (_, at) =>
    Number.parseInt(bits.slice(4 + lengthBits + at * 8, 12 + lengthBits + at * 8), 2),
  );
  return new TextDecoder().decode(new Uint8Array(read));
}

/** All zero for a block without an error: its polynomial is zero at the powers of two. */
function syndromes(block: readonly number[], count: number): number[] {
  const log: number[] = [];
  const power: number[] = [];
  for (let at = 0, value = 1; at < 255; at += 1) {
    power[at] = value;
    log[value] = at;
    value = value >= 128 ? (value * 2) ^ 285 : value * 2;
  }
  const multiply = (a: number, b: number) =>
    a === 0 || b === 0 ? 0 : (power[((log[a] ?? 0) + (log[b] ?? 0)) % 255] ?? 0);
  return Array.from({ length: count }, (_, root) =>
    block.reduce((sum, byte) => multiply(sum, power[root] ?? 0) ^ byte, 0),
  );
}

describe("QR code", () => {
  test.each([1, 14, 15, 26, 42, 62, 84, 106, 122, 123, 152, 153, 180, 181, 213])(
    "a text of %i bytes is read back as it was",
    (length) => {
      const text = `otpauth://totp/Gateway:${"ada@example.eu?secret=JBSWY3DPEHPK3PXP&issuer=".repeat(8)}`.slice(
        0,
        length,
      );
      const modules = qrModules(text);
      expect(modules === undefined ? undefined : read(modules).text).toBe(text);
    },
  );

  test("a text that does not fit is not drawn", () => {
    expect(qrModules("x".repeat(214))).toBeUndefined();
  });
});
