const WHOLE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 });
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function numberText(value: number): string {
  return WHOLE.format(value);
}

/** A number with its noun: `1 key`, `2 keys`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** "12.4K", for axes and tiles. */
export function compactText(value: number): string {
  return COMPACT.format(value);
}

/** A share from 0 to 1 as "12.5 %". */
export function percentText(share: number): string {
  return new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 }).format(share);
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

export function bytesText(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** step).toLocaleString(undefined, { maximumFractionDigits: 1 })} ${UNITS[step]}`;
}
