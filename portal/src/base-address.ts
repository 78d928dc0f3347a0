/** Where clients reach the gateway's API, as the gateway itself says it: behind a proxy the page may not know. */
export function baseAddress(): string {
  const said = document.querySelector<HTMLMetaElement>('meta[name="base-address"]')?.content ?? "";
  return said === "" || said.startsWith("%") ? `${location.origin}/v1` : said;
}
