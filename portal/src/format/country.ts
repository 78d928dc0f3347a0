const REGIONS = new Intl.DisplayNames(undefined, { type: "region" });

export function countryName(code: string): string {
  try {
    return REGIONS.of(code.toUpperCase()) ?? code;
  } catch {
    return code;
  }
}
