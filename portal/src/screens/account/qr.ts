/** A small QR encoder: bytes, error correction M, versions 1 to 10. Enough for the address of a TOTP key. */

type Version = {
  readonly dataBytes: number;
  readonly checkBytes: number;
  readonly blocks: number;
  readonly marks: readonly number[];
};

/** By ISO/IEC 18004, level M: all data codewords, check codewords of a block, blocks, centres of alignment patterns. */
const VERSIONS: readonly Version[] = [
  { dataBytes: 16, checkBytes: 10, blocks: 1, marks: [] },
  { dataBytes: 28, checkBytes: 16, blocks: 1, marks: [6, 18] },
  { dataBytes: 44, checkBytes: 26, blocks: 1, marks: [6, 22] },
  { dataBytes: 64, checkBytes: 18, blocks: 2, marks: [6, 26] },
  { dataBytes: 86, checkBytes: 24, blocks: 2, marks: [6, 30] },
  { dataBytes: 108, checkBytes: 16, blocks: 4, marks: [6, 34] },
  { dataBytes: 124, checkBytes: 18, blocks: 4, marks: [6, 22, 38] },
  { dataBytes: 154, checkBytes: 22, blocks: 4, marks: [6, 24, 42] },
  { dataBytes: 182, checkBytes: 22, blocks: 5, marks: [6, 26, 46] },
  { dataBytes: 216, checkBytes: 26, blocks: 5, marks: [6, 28, 50] },
];

type Grid = { readonly size: number; readonly dark: boolean[][]; readonly fixed: boolean[][] };

/** The dark squares of a text as the path of an SVG; undefined when the text is too long. */
export function qrPath(text: string): { readonly size: number; readonly path: string } | undefined {
  const modules = qrModules(text);
  if (modules === undefined) return undefined;
  const squares = modules.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return { size: modules.length, path: squares.join("") };
}

export function qrModules(text: string): boolean[][] | undefined {
  const bytes = new TextEncoder().encode(text);
  const index = VERSIONS.findIndex(({ dataBytes }, at) => bytes.length <= dataBytes - (at < 9 ? 2 : 3));
  const version = VERSIONS[index];
  if (version === undefined) return undefined;
  const codewords = interleave(dataOf(bytes, version, index + 1), version);
  const candidates = [0, 1, 2, 3, 4, 5, 6, 7].map((mask) => draw(index + 1, version, codewords, mask));
  return candidates.toSorted((a, b) => penalty(a) - penalty(b))[0];
}

/** Mode, length, bytes, padding. */
function dataOf(bytes: Uint8Array, { dataBytes }: Version, number: number): number[] {
  const bits: number[] = [];
  const put = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, number < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  put(0, Math.min(4, dataBytes * 8 - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  const data: number[] = [];
  for (let at = 0; at < bits.length; at += 8) data.push(bits.slice(at, at + 8).reduce((sum, bit) => sum * 2 + bit, 0));
  for (let pad = 0xec; data.length < dataBytes; pad ^= 0xec ^ 0x11) data.push(pad);
  return data;
}

/** Blocks with their check bytes, one codeword of each in turn. The later blocks are one longer where it does not divide. */
function interleave(data: readonly number[], { checkBytes, blocks }: Version): number[] {
  const short = Math.floor(data.length / blocks);
  const longOnes = data.length % blocks;
  const divisor = divisorOf(checkBytes);
  const parts: { data: number[]; check: number[] }[] = [];
  let from = 0;
  for (let block = 0; block < blocks; block += 1) {
    const length = short + (block >= blocks - longOnes ? 1 : 0);
    const part = data.slice(from, from + length);
    parts.push({ data: part, check: remainder(part, divisor) });
    from += length;
  }
  const columns = (pick: (part: (typeof parts)[number]) => number[], count: number) =>
    Array.from({ length: count }, (_, at) => parts.flatMap((part) => pick(part)[at] ?? [])).flat();
  return [...columns((part) => part.data, short + 1), ...columns((part) => part.check, checkBytes)];
}

/** Multiplication in GF(256) by x^8 + x^4 + x^3 + x^2 + 1. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((b >> bit) & 1) * a;
  }
  return product;
}

function divisorOf(degree: number): number[] {
  let divisor = [1];
  let root = 1;
  for (let step = 0; step < degree; step += 1) {
    const scaled = [0, ...divisor.map((one) => times(one, root))];
    divisor = [...divisor, 0].map((one, at) => one ^ (scaled[at] ?? 0));
    root = times(root, 2);
  }
  return divisor.slice(1);
}

function remainder(data: readonly number[], divisor: readonly number[]): number[] {
  let left = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ (left[0] ?? 0);
    left = [...left.slice(1), 0].map((one, at) => one ^ times(divisor[at] ?? 0, factor));
  }
  return left;
}

function draw(number: number, version: Version, codewords: readonly number[], mask: number): boolean[][] {
  const size = number * 4 + 17;
  const empty = () => Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const grid: Grid = { size, dark: empty(), fixed: empty() };
  drawPatterns(grid, version, number);
  drawFormat(grid, mask);
  drawData(grid, codewords, mask);
  return grid.dark;
}

function put({ dark, fixed, size }: Grid, x: number, y: number, isDark: boolean): void {
  const [row, marks] = [dark[y], fixed[y]];
  if (row === undefined || marks === undefined || x < 0 || x >= size) return;
  row[x] = isDark;
  marks[x] = true;
}

function drawPatterns(grid: Grid, { marks }: Version, number: number): void {
  const last = grid.size - 7;
  for (let at = 0; at < grid.size; at += 1) {
    put(grid, 6, at, at % 2 === 0);
    put(grid, at, 6, at % 2 === 0);
  }
  for (const [left, top] of [
    [0, 0],
    [last, 0],
    [0, last],
  ] as const)
    for (let y = -1; y <= 7; y += 1)
      for (let x = -1; x <= 7; x += 1) {
        const ring = Math.max(Math.abs(x - 3), Math.abs(y - 3));
        put(grid, left + x, top + y, ring !== 2 && ring !== 4);
      }
  const end = marks.at(-1);
  for (const cx of marks)
    for (const cy of marks) {
      if ((cx === 6 && (cy === 6 || cy === end)) || (cy === 6 && cx === end)) continue;
      for (let y = -2; y <= 2; y += 1)
        for (let x = -2; x <= 2; x += 1) put(grid, cx + x, cy + y, Math.max(Math.abs(x), Math.abs(y)) !== 1);
    }
  if (number >= 7) drawVersion(grid, number);
}

/** The version, with twelve check bits, in two corners. */
function drawVersion(grid: Grid, number: number): void {
  let check = number;
  for (let step = 0; step < 12; step += 1) check = (check << 1) ^ ((check >> 11) * 0x1f25);
  const bits = (number << 12) | check;
  for (let bit = 0; bit < 18; bit += 1) {
    const isDark = ((bits >> bit) & 1) === 1;
    const [a, b] = [grid.size - 11 + (bit % 3), Math.floor(bit / 3)];
    put(grid, a, b, isDark);
    put(grid, b, a, isDark);
  }
}

/** Level M and the mask, with ten check bits, twice. */
function drawFormat(grid: Grid, mask: number): void {
  const { size } = grid;
  let check = mask;
  for (let step = 0; step < 10; step += 1) check = (check << 1) ^ ((check >> 9) * 0x537);
  const bits = ((mask << 10) | check) ^ 0x5412;
  const isDark = (bit: number) => ((bits >> bit) & 1) === 1;
  for (let bit = 0; bit <= 5; bit += 1) put(grid, 8, bit, isDark(bit));
  put(grid, 8, 7, isDark(6));
  put(grid, 8, 8, isDark(7));
  put(grid, 7, 8, isDark(8));
  for (let bit = 9; bit < 15; bit += 1) put(grid, 14 - bit, 8, isDark(bit));
  for (let bit = 0; bit < 8; bit += 1) put(grid, size - 1 - bit, 8, isDark(bit));
  for (let bit = 8; bit < 15; bit += 1) put(grid, 8, size - 15 + bit, isDark(bit));
  put(grid, 8, size - 8, true);
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** From the right in columns of two, up and down, past what stands there already. */
function drawData({ size, dark, fixed }: Grid, codewords: readonly number[], mask: number): void {
  const isMasked = MASKS[mask];
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = ((right + 1) & 2) === 0 ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        const row = dark[y];
        if (row === undefined || fixed[y]?.[x] !== false) continue;
        const isSet = (((codewords[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1;
        row[x] = isSet !== (isMasked?.(x, y) ?? false);
        bit += 1;
      }
    }
  }
}

/** How hard a picture is to read: runs, squares, look-alikes of the corners, too much of one colour. */
function penalty(dark: readonly boolean[][]): number {
  const size = dark.length;
  const columns = Array.from({ length: size }, (_, x) => dark.map((row) => row[x] === true));
  const lines = [...dark, ...columns].map((line) => line.map((one) => (one ? "1" : "0")).join(""));
  let sum = 0;
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
    sum += 40 * [...line.matchAll(/(?=10111010000|00001011101)/g)].length;
  }
  for (let y = 0; y + 1 < size; y += 1)
    for (let x = 0; x + 1 < size; x += 1) {
      const one = dark[y]?.[x];
      if (dark[y]?.[x + 1] === one && dark[y + 1]?.[x] === one && dark[y + 1]?.[x + 1] === one) sum += 3;
    }
  const count = dark.flat().filter(Boolean).length;
  return sum + 10 * Math.floor(Math.abs((count * 20) / (size * size) - 10));
}
